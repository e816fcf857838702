export type Group =
  | 'HTTP'
  | 'Orders'
  | 'Database'
  | 'Due work'
  | 'Events'
  | 'Audit'
  | 'Webhooks'
  | 'Verification'
  | 'Cells'
  | 'Exchange rates'
  | 'Gateway'
  | 'Process';

/** One metric. Its unit is the end of its name, as Prometheus recommends. */
export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  readonly group: Group;
  /** For `# HELP` and the dashboard. */
  readonly help: string;
  readonly labels: readonly string[];
  /** The upper bounds of a histogram. */
  readonly buckets?: readonly number[];
  /** Whether its name is the usual one for processes of Node, and not ours. */
  readonly isUsual?: boolean;
}

export const counter = (group: Group, labels: readonly string[], help: string) =>
  ({ type: 'counter', group, labels, help }) as const;

export const gauge = (group: Group, labels: readonly string[], help: string) =>
  ({ type: 'gauge', group, labels, help }) as const;

export const histogram = (group: Group, labels: readonly string[], buckets: readonly number[], help: string) =>
  ({ type: 'histogram', group, labels, buckets, help }) as const;

/** A metric of Node or of the process, with the name that is usual for it. */
export const ofRuntime = <const Type extends 'counter' | 'gauge'>(type: Type, help: string) =>
  ({ type, group: 'Process', labels: [], help, isUsual: true }) as const;
