import type { SentOrder, ClientLog, Operation } from './client-log.js';
import type { Cluster, ClusterOptions } from './cluster.js';
import { type Sent, sendOrder } from './orders.js';
import type { Random } from './random.js';
import type { LoadAccount } from './world.js';

/** What a scenario counts, and a promise demands a number of. */
export const UNITS = {
  faults: 'faults',
  acknowledged: 'acknowledged orders',
  reads: 'reads',
  snapshots: 'snapshots',
  rounds: 'rounds',
  keys: 'keys',
  mutations: 'other bodies',
  refusedChanges: 'changes refused',
  kills: 'kills',
  outages: 'outages',
  quads: 'conversions',
  injected: 'errors injected',
  takeovers: 'claims taken over',
  stops: 'stops',
  parked: 'parked',
  payouts: 'payouts',
  minutes: 'minutes',
  requests: 'requests',
  searched: 'texts searched',
  tokens: 'tokens',
  sockets: 'slow connections',
  ids: 'ids',
  events: 'events',
  deliveries: 'deliveries of webhooks',
  decisions: 'decisions',
  recovered: 'books recovered',
} as const;

type Figure = keyof typeof UNITS;
export type Figures = Partial<Record<Figure, number>>;

/** What a check found against a promise. */
export interface Violation {
  /** As docs/reliability.md lists them. */
  readonly check: string;
  readonly detail: string;
}

export const violationsOf = (check: string, details: readonly string[]): Violation[] =>
  details.map((detail) => ({ check, detail }));

export interface RunContext {
  readonly cluster: Cluster;
  readonly log: ClientLog;
  readonly random: Random;
  /** The beginning of every key. */
  readonly prefix: string;
  readonly tally: Tally;
  /** Aborted when the figures are reached or the time is over. */
  readonly signal: AbortSignal;
  /** The time after which the signal is aborted at the latest. */
  readonly limitMs: number;
  readonly onProgress: (line: string) => void;
  /** Of scenarios that recover books: orders before and after the backup, and transfers before them. */
  readonly sizes: RecoverySizes;
}

export interface RecoverySizes {
  readonly orders: number;
  readonly transfers: number;
}

export interface Finish {
  /** Accounts that only the clients of the run pay from, and that receive nothing. */
  readonly owned?: readonly Pick<LoadAccount, 'id'>[];
  /** Whether the log was compared before, with books that have changed since. */
  readonly isCompared?: boolean;
  /** What the scenario compares besides, with the keys of the orders in the books. */
  readonly check?: (operations: readonly Operation[], booked: ReadonlySet<string>) => Promise<readonly Violation[]>;
}

/** When a scenario runs: `alone` if it measures times, so that no other load is on the machine; the soak beside the others. */
type Phase = 'alone' | 'soak' | 'other';

/** A load with its faults and the figures that it counts. */
export interface Scenario {
  readonly name: string;
  /** Each of them must have been injected at least once. */
  readonly faults: readonly string[];
  readonly phase: Phase;
  /** What differs from two api processes and two workers. */
  readonly cluster?: ClusterOptions;
  /** What this machine lacks for the scenario, which is skipped then. */
  readonly missing?: () => string | undefined;
  /** The time in which a machine that does nothing else reaches the figures. */
  readonly minutesMax: number;
  /** Applies load and faults until the signal. @returns undefined if its books cannot be compared */
  run(context: RunContext): Promise<Finish | undefined>;
}

export class Tally {
  readonly figures: Figures = {};
  readonly faults = new Map<string, number>();
  readonly violations: Violation[] = [];
  /** Why the run shows less than it should. */
  readonly doubts = new Set<string>();
  readonly notes: string[] = [];
  private hasEnded = false;
  operations = 0;
  succeeded = 0;

  constructor(private readonly onChange: () => void) {}

  count(figure: Figure, by = 1): void {
    if (this.hasEnded) return;
    this.figures[figure] = (this.figures[figure] ?? 0) + by;
    this.onChange();
  }

  countOperation(isSuccess: boolean): void {
    this.operations += 1;
    if (isSuccess) this.succeeded += 1;
  }

  doubt(reason: string): void {
    this.doubts.add(reason);
  }

  /** Counts nothing more: what an interrupted scenario still sees is caused by the interruption. */
  end(): void {
    this.hasEnded = true;
  }

  violate(check: string, ...details: readonly string[]): void {
    this.addViolations(violationsOf(check, details));
  }

  addViolations(violations: readonly Violation[]): void {
    if (this.hasEnded) return;
    this.violations.push(...violations);
    if (violations.length > 0) this.onChange();
  }
}

/** Logs a fault and counts it. */
export async function noteFault({ log, tally }: RunContext, kind: string, target: string): Promise<void> {
  await log.append({ event: 'fault', kind, target });
  tally.faults.set(kind, (tally.faults.get(kind) ?? 0) + 1);
  if (kind.startsWith('kill-api') || kind.startsWith('kill-worker')) tally.count('kills');
  if (kind === 'outage') tally.count('outages');
  tally.count('faults');
}

/** Places an order once, as one operation of the run. */
export async function placeOrder(context: RunContext, order: SentOrder, api: number): Promise<Sent> {
  const { cluster, log, tally } = context;
  const sent = await sendOrder({ endpoint: cluster.endpoint, log }, order, api);
  tally.countOperation(sent.outcome === 'ok');
  if (sent.outcome === 'ok') tally.count('acknowledged');
  return sent;
}
