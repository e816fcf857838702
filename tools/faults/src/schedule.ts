import type { CellFault } from './cells/cell-fault-kinds.js';
import type { Random } from './random.js';

/** The kinds of faults of a plan. Those of the connection are injected by the proxy between one process and PostgreSQL. */
export const FAULT_KINDS = [
  ...['kill-api', 'kill-worker', 'pause-api', 'pause-worker', 'kill-api-at-commit', 'kill-worker-at-submission'],
  ...['terminate-backend', 'kill-backend', 'kill-postmaster', 'stop-postmaster', 'outage', 'full-disk', 'full-wal'],
  ...['delay', 'half-open', 'reset', 'reset-at-commit'],
  ...['pause-replay', 'kill-replica', 'half-open-replica'],
] as const;

export type PlannedKind = (typeof FAULT_KINDS)[number];

/** The SQLSTATEs of the failures that a service must survive: conflicts, a lock, a cancelled statement, a lost connection. */
export const SQLSTATES = ['40001', '40P01', '55P03', '57014', '08006'] as const;

/** All kinds of faults. Those without a plan belong to one scenario, which chooses their time. */
export type FaultKind =
  | PlannedKind
  | `sqlstate-${(typeof SQLSTATES)[number]}`
  | CellFault
  | 'sigterm-api'
  | 'lease-expired'
  | 'clock-forward'
  | 'clock-back'
  | 'lock'
  | 'poison'
  | 'upstream-reset'
  | 'slow-head'
  | 'slow-body'
  | 'slow-read';

/** A fault and when it is injected. */
export interface PlannedFault {
  /** After the end of the fault before it. */
  readonly afterMs: number;
  readonly kind: PlannedKind;
  /** Chooses one of the processes or connections that the fault may hit. */
  readonly target: number;
  /** How long a pause, a delay or a half-open connection lasts. */
  readonly lastsMs: number;
}

/** The time between two faults, and how long one lasts. */
export interface FaultTimes {
  readonly afterMs: readonly [least: number, most: number];
  readonly lastsMs: readonly [least: number, most: number];
}

/** An endless plan: every kind once in each round, in random order. The same seed gives the same plan. */
export function* planFaults(random: Random, kinds: readonly PlannedKind[], times: FaultTimes): Generator<PlannedFault> {
  for (;;) {
    for (const kind of shuffled(random, kinds)) {
      yield {
        afterMs: random.between(...times.afterMs),
        kind,
        target: random.below(1_000),
        lastsMs: random.between(...times.lastsMs),
      };
    }
  }
}

function shuffled<T>(random: Random, all: readonly T[]): T[] {
  const left = [...all];
  const result: T[] = [];
  while (left.length > 0) result.push(...left.splice(random.below(left.length), 1));
  return result;
}
