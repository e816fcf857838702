/** The processes that have a metric. `books` is each process with a database: a service with its own books, and a worker. */
export type Where = 'api' | 'books' | 'work' | 'gateway' | 'all';

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
  readonly where: Where;
  /** For `# HELP` and the table in docs/watch.md. */
  readonly help: string;
  readonly labels: readonly string[];
  /** The upper bounds of a histogram. */
  readonly buckets?: readonly number[];
  /** Whether its name is the usual one for processes of Node, and not ours. */
  readonly isUsual?: boolean;
}

export const counter = (group: Group, where: Where, labels: readonly string[], help: string) =>
  ({ type: 'counter', group, where, labels, help }) as const;

export const gauge = (group: Group, where: Where, labels: readonly string[], help: string) =>
  ({ type: 'gauge', group, where, labels, help }) as const;

export const histogram = (
  group: Group,
  where: Where,
  labels: readonly string[],
  buckets: readonly number[],
  help: string,
) => ({ type: 'histogram', group, where, labels, buckets, help }) as const;

/** A metric of Node or of the process, with the name that is usual for it. */
export const ofRuntime = <const Type extends 'counter' | 'gauge'>(type: Type, help: string) =>
  ({ type, group: 'Process', where: 'all', labels: [], help, isUsual: true }) as const;
