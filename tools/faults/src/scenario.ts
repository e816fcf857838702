import { setTimeout as sleep } from 'node:timers/promises';
import { type MinorUnits, minorUnits } from '@banking/domain';
import { checkAppendOnly } from './check-append-only.js';
import { checkMoney, checkPages } from './check-books.js';
import { checkOrders, checkOwnedBalances, checkPayouts, checkReads, type Violation } from './check-orders.js';
import { searchSecrets } from './check-secrets.js';
import type { ClientLog } from './client-log.js';
import type { Cluster, ClusterOptions } from './cluster.js';
import { type Operation, operationsOf } from './history.js';
import type { Random } from './random.js';
import { countUnsettled, readBooks } from './read-books.js';
import type { FaultKind } from './schedule.js';
import { FUNDS, type LoadAccount } from './world.js';

/** What a scenario counts, and a promise demands a number of. */
export const FIGURES = [
  ...['faults', 'acknowledged', 'reads', 'snapshots', 'rounds', 'keys', 'mutations', 'refusedChanges', 'kills'],
  ...['outages', 'quads', 'injected', 'takeovers', 'stops', 'parked', 'payouts', 'minutes', 'requests', 'searched'],
  ...['sockets'],
] as const;

export type Figure = (typeof FIGURES)[number];

export type Figures = Partial<Record<Figure, number>>;

/** A run of one scenario. */
export interface RunContext {
  readonly cluster: Cluster;
  readonly log: ClientLog;
  readonly random: Random;
  /** The beginning of every key. */
  readonly prefix: string;
  /** Counted as the run goes on. */
  readonly tally: Tally;
  /** Aborted when the figures are reached or the time is over. */
  readonly signal: AbortSignal;
  /** The time after which the signal is aborted at the latest. */
  readonly limitMs: number;
  readonly onProgress: (line: string) => void;
}

/** Counts while a scenario runs, and ends it. */
export class Tally {
  readonly figures: Figures = {};
  readonly faults = new Map<FaultKind, number>();
  readonly violations: Violation[] = [];
  /** Why the run shows less than it should. */
  readonly doubts: string[] = [];
  private hasEnded = false;
  operations = 0;
  succeeded = 0;

  constructor(private readonly onChange: () => void) {}

  count(figure: Figure, by = 1): void {
    if (this.hasEnded) return;
    this.figures[figure] = (this.figures[figure] ?? 0) + by;
    this.onChange();
  }

  countFault(kind: FaultKind): void {
    this.faults.set(kind, (this.faults.get(kind) ?? 0) + 1);
    if (kind === 'kill-api' || kind === 'kill-worker') this.count('kills');
    if (kind === 'outage') this.count('outages');
    this.count('faults');
  }

  countOperation(isSuccess: boolean): void {
    this.operations += 1;
    if (isSuccess) this.succeeded += 1;
  }

  /** Keeps the verdict from being a pass. */
  doubt(reason: string): void {
    if (!this.doubts.includes(reason)) this.doubts.push(reason);
  }

  /** Counts nothing more: what an interrupted scenario still sees is caused by the interruption. */
  end(): void {
    this.hasEnded = true;
  }

  /** Reports a violation and ends the scenario. */
  addViolations(violations: readonly Violation[]): void {
    if (this.hasEnded) return;
    this.violations.push(...violations);
    if (violations.length > 0) this.onChange();
  }
}

/** When a scenario runs: `alone` if it measures times, so that no other load is on the machine; the soak beside the others. */
export type Phase = 'alone' | 'soak' | 'other';

/** A load with its faults and the figures that it counts. */
export interface Scenario {
  readonly name: string;
  /** Each of them must have been injected at least once. */
  readonly faults: readonly FaultKind[];
  readonly phase: Phase;
  /** What differs from two api processes and two workers. */
  readonly cluster?: ClusterOptions;
  /** The time in which a machine that does nothing else reaches the figures. */
  readonly minutesMax: number;
  /** Applies load and faults until the signal, then reads the final state. */
  run(context: RunContext): Promise<void>;
}

const SETTLE_MS = 150_000;

/** What the final checks need beside the context. */
export interface Finish {
  /** Accounts that only the clients of the run pay from, and that receive nothing. */
  readonly owned?: readonly Pick<LoadAccount, 'id'>[];
  readonly startedAt: Date;
  readonly feeOf?: (operation: Operation) => MinorUnits;
}

/** Ends all faults, waits until the payouts are settled, and compares the final state with the log. */
export async function checkFinalState(context: RunContext, { owned = [], startedAt, feeOf }: Finish): Promise<void> {
  const { cluster, log, tally, prefix, onProgress } = context;
  onProgress('ending all faults, and waiting until the payouts are settled');
  await cluster.heal();
  const ownEnds = cluster.members.flatMap(({ process }) => process.ownEnds);
  tally.addViolations(ownEnds.map((detail) => ({ check: 'processes', detail })));
  const until = Date.now() + SETTLE_MS;
  let unsettled = await countUnsettled(cluster.database, startedAt);
  while (unsettled > 0 && Date.now() < until) {
    await sleep(500);
    unsettled = await countUnsettled(cluster.database, startedAt);
  }
  if (unsettled > 0) tally.addViolations([{ check: 'payouts', detail: `${unsettled} payouts are not settled` }]);

  onProgress('comparing the client log with the database, and running banking verify');
  const books = await readBooks(cluster.database, prefix);
  const operations = operationsOf(log.events);
  const funded = owned.map(({ id }) => ({ id, funded: FUNDS }));
  tally.addViolations([
    ...checkOrders(operations, books),
    ...checkOwnedBalances(funded, operations, books, feeOf ?? (() => minorUnits(0n))),
    ...checkReads(log.events.filter((event) => event.event === 'read')),
    ...checkPayouts(books),
  ]);
  tally.addViolations(await checkMoney(cluster.database));
  const { exitCode, output } = await cluster.verify();
  if (exitCode !== 0) tally.addViolations([{ check: 'books', detail: `banking verify: ${output.slice(-2_000)}` }]);
  tally.addViolations(await checkPages(cluster.database));
  const secrets = await searchSecrets(cluster, prefix);
  tally.addViolations(secrets.violations);
  tally.count('searched', secrets.searched);
  const appendOnly = await checkAppendOnly(cluster.database);
  tally.count('refusedChanges', appendOnly.refused);
  tally.addViolations(appendOnly.violations);
}
