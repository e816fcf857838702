import { performance } from 'node:perf_hooks';
import { collectDefaultMetrics } from 'prom-client';
import { METRICS } from './metric-list.js';
import type { Metrics } from './metrics.js';

/** A delay of the event loop is measured by a timer of this interval. */
const LAG_PRECISION_MS = 20;

/** The program, as the labels of `banking_build_info`. */
export interface Build {
  readonly app: string;
  readonly version: string;
  /** Undefined if it is not known. */
  readonly commit?: string | undefined;
}

/** Metrics of the process: its build, event loop, memory and processor time. */
export function collectProcess(metrics: Metrics, { app, version, commit = 'unknown' }: Build): void {
  const { registry } = metrics;
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_PRECISION_MS });
  for (const { name } of registry.getMetricsAsArray()) {
    // Every metric of prom-client that is not in the list is left out.
    if (!Object.hasOwn(METRICS, name)) registry.removeSingleMetric(name);
  }
  metrics.gauge('banking_build_info').set({ app, version, commit, node: process.versions.node }, 1);
  let before = performance.eventLoopUtilization();
  const utilization = metrics.gauge('banking_event_loop_utilization_ratio', () => {
    const now = performance.eventLoopUtilization();
    utilization.set(performance.eventLoopUtilization(now, before).utilization);
    before = now;
  });
}
