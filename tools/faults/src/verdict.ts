import type { Violation } from './check-orders.js';
import type { ServicePromise } from './promises.js';
import type { Figure, Figures } from './scenario.js';
import type { FaultKind } from './schedule.js';

type Verdict = 'pass' | 'fail' | 'unknown';

/** What a run of a scenario left. */
export interface ScenarioResult {
  readonly scenario: string;
  readonly seconds: number;
  readonly figures: Figures;
  readonly faults: ReadonlyMap<FaultKind, number>;
  /** The kinds that the scenario injects. */
  readonly wantedFaults: readonly FaultKind[];
  readonly operations: number;
  readonly succeeded: number;
  readonly violations: readonly Violation[];
  /** Why the run shows less than it should. */
  readonly doubts: readonly string[];
  /** The error that ended the run before the final state was read. */
  readonly error?: string | undefined;
  readonly logPath: string;
}

/** One row of the table. */
export interface Row {
  readonly promise: ServicePromise;
  readonly faults: number;
  readonly operations: number;
  readonly violations: readonly Violation[];
  readonly verdict: Verdict;
  /** Why it is no pass, or what was reached. */
  readonly note: string;
}

/** Below this share a run says little: the service may have refused what would have failed. */
const SUCCESS_MIN = 0.3;

/** Figures that only the final checks count. */
const FINAL: readonly Figure[] = ['refusedChanges', 'searched', 'ids'];

const figuresOf = (goals: Figures) => Object.entries(goals) as [Figure, number][];

/** Whether a scenario has reached what these promises demand of it, so that it can stop. */
export function isReached(promises: readonly ServicePromise[], figures: Figures): boolean {
  return promises.every(({ goals }) =>
    figuresOf(goals).every(([figure, goal]) => FINAL.includes(figure) || (figures[figure] ?? 0) >= goal),
  );
}

/**
 * Judges a promise by the run of its scenario. A violation of its checks fails it. A run that shows too little, or that violated another
 * check, leaves it unknown.
 */
export function judge(promise: ServicePromise, result: ScenarioResult): Row {
  const violations = result.violations.filter(({ check }) => promise.checks.includes(check));
  const others = result.violations.filter((violation) => !violations.includes(violation));
  const doubts = [...othersText(others), ...doubtsOf(promise, result)];
  const verdict: Verdict = violations.length > 0 ? 'fail' : doubts.length > 0 ? 'unknown' : 'pass';
  return {
    promise,
    faults: [...result.faults.values()].reduce((sum, count) => sum + count, 0),
    operations: result.operations,
    violations,
    verdict,
    note: [
      ...(verdict === 'fail' ? violations.slice(0, 1).map(({ detail }) => detail) : doubts),
      reachedText(promise, result),
    ].join('; '),
  };
}

const othersText = (others: readonly Violation[]) =>
  others.length === 0 ? [] : [`other checks failed: ${[...new Set(others.map(({ check }) => check))].join(', ')}`];

function doubtsOf({ goals, notMeasured }: ServicePromise, result: ScenarioResult): string[] {
  const { figures, faults, wantedFaults, operations, succeeded, doubts, error } = result;
  const share = operations === 0 ? 0 : succeeded / operations;
  const missing = [...new Set(wantedFaults)].filter((kind) => !faults.get(kind));
  const isShort = figuresOf(goals).some(([figure, goal]) => (figures[figure] ?? 0) < goal);
  return [
    ...(error === undefined ? [] : [`the run ended early: ${error}`]),
    ...(share < SUCCESS_MIN ? [`${Math.round(100 * share)} % of the operations succeeded`] : []),
    ...(missing.length > 0 ? [`not injected: ${missing.join(', ')}`] : []),
    ...(isShort ? ['figure not reached'] : []),
    ...doubts,
    ...(notMeasured === undefined ? [] : [`not measured: ${notMeasured}`]),
  ];
}

const UNITS: Readonly<Record<Figure, string>> = {
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
};

function reachedText({ goals }: ServicePromise, { figures }: ScenarioResult): string {
  return figuresOf(goals)
    .map(([figure, goal]) => `${figures[figure] ?? 0} of ${goal} ${UNITS[figure]}`)
    .join(', ');
}
