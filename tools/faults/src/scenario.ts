import type { MinorUnits } from '@banking/domain';
import type { Violation } from './check-orders.js';
import type { ClientLog } from './client-log.js';
import type { Cluster, ClusterOptions } from './cluster.js';
import type { Operation } from './history.js';
import type { BooksState } from './read-books.js';
import type { Random } from './random.js';
import type { FaultKind } from './schedule.js';
import type { LoadAccount } from './world.js';

/** What a scenario counts, and a promise demands a number of. */
export type Figure =
  | 'faults'
  | 'acknowledged'
  | 'reads'
  | 'snapshots'
  | 'rounds'
  | 'keys'
  | 'mutations'
  | 'refusedChanges'
  | 'kills'
  | 'outages'
  | 'quads'
  | 'injected'
  | 'takeovers'
  | 'stops'
  | 'parked'
  | 'payouts'
  | 'minutes'
  | 'requests'
  | 'searched'
  | 'tokens'
  | 'sockets'
  | 'ids'
  | 'events'
  | 'deliveries';

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
  /** Reads the final state later, together with that of other scenarios of the same cluster; missing to read it at once. */
  readonly finishLater?: (finish: Finish) => void;
}

/** What the final checks need beside the context. */
export interface Finish {
  /** Accounts that only the clients of the run pay from, and that receive nothing. */
  readonly owned?: readonly Pick<LoadAccount, 'id'>[];
  readonly startedAt: Date;
  readonly feeOf?: (operation: Operation) => MinorUnits;
  /** What the scenario compares besides, with the orders in the books. */
  readonly check?: (operations: readonly Operation[], books: BooksState) => Promise<readonly Violation[]>;
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
    if (kind.startsWith('kill-api') || kind.startsWith('kill-worker')) this.count('kills');
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
  /** What this machine lacks for the scenario, which is skipped then. */
  readonly missing?: () => string | undefined;
  /** The time in which a machine that does nothing else reaches the figures. */
  readonly minutesMax: number;
  /** Applies load and faults until the signal, then reads the final state. */
  run(context: RunContext): Promise<void>;
}
