/** An alert rule, with the series that its test makes of it. The section of docs/observe.md has the name of the alert. */
export interface AlertRule {
  readonly name: string;
  /** `critical` wakes an operator, `warning` is read in working hours. */
  readonly severity: 'critical' | 'warning';
  readonly expr: string;
  /** How long it must hold. */
  readonly for: string;
  readonly summary: string;
  readonly test: AlertTest;
}

/** Values in the notation of promtool, one a minute. */
interface AlertTest {
  /** Series for which the alert fires, and those for which it does not. */
  readonly firing: Readonly<Record<string, string>>;
  readonly quiet: Readonly<Record<string, string>>;
  /** When both are judged. */
  readonly at: string;
  /** The labels of the alert that fires, besides its severity. */
  readonly labels: Readonly<Record<string, string>>;
}

/** The labels of a service and of a worker in the series of tests, and those of their alerts. */
export const API = `job="banking-api", instance="a"`;
export const WORKER = `job="banking-worker", instance="w"`;
export const ON_API = { job: 'banking-api', instance: 'a' };
export const ON_WORKER = { job: 'banking-worker', instance: 'w' };

export const bucket = (name: string, labels: string, le: string) => `${name}_bucket{${labels}, le="${le}"}`;
