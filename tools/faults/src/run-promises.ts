import { type ServicePromise, SCENARIOS } from './promises.js';
import { runScenario, type ScenarioOptions } from './run-scenario.js';
import type { Scenario } from './scenario.js';
import { shareTime } from './share-time.js';
import { judge, type Row, type ScenarioResult } from './verdict.js';

export interface RunOptions extends ScenarioOptions {
  /** Of all scenarios together, their starts and final checks included; undefined for at most an hour. */
  readonly minutes: number | undefined;
}

export interface RunResult {
  readonly rows: readonly Row[];
  readonly results: readonly ScenarioResult[];
}

/**
 * Runs each scenario that the promises need, once, on a cluster of its own, and judges the promises by it. The soak runs beside the
 * scenarios that measure no times.
 */
export async function runPromises(options: RunOptions): Promise<RunResult> {
  const { promises, minutes } = options;
  const wanted = SCENARIOS.filter(({ name }) => promises.some(({ scenario }) => scenario === name));
  const phase = (one: Scenario['phase']) => wanted.filter((scenario) => scenario.phase === one);
  const limits = shareTime(wanted, minutes);
  const results: ScenarioResult[] = [];
  const runAll = async (scenarios: readonly Scenario[]) => {
    for (const scenario of scenarios) {
      if (options.signal?.aborted) return;
      results.push(await runScenario(scenario, options, limits(scenario)));
    }
  };
  await runAll(phase('alone'));
  await Promise.all([runAll(phase('soak')), runAll(phase('other'))]);
  return { rows: promises.flatMap((promise) => rowOf(promise, results)), results };
}

function rowOf(promise: ServicePromise, results: readonly ScenarioResult[]): Row[] {
  return results.filter(({ scenario }) => scenario === promise.scenario).map((result) => judge(promise, result));
}
