import { setMaxListeners } from 'node:events';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ClientLog } from './client-log.js';
import { Cluster } from './cluster.js';
import { compareWithLog, proveBooks, settle } from './final-checks.js';
import { isReached, judge, type Row, type ScenarioResult, SCENARIOS, type ServicePromise } from './promises.js';
import { randomOf } from './random.js';
import { type Finish, type RecoverySizes, type RunContext, type Scenario, Tally } from './scenario.js';

export interface RunOptions {
  readonly promises: readonly ServicePromise[];
  readonly seed: number;
  /** Of load and faults of all scenarios together; undefined for until the figures are reached, `PATIENCE` at most. */
  readonly minutes?: number | undefined;
  readonly folder: string;
  readonly onProgress: (line: string) => void;
  readonly sizes?: RecoverySizes;
  /** Ends the run without its final checks, and stops all processes. */
  readonly signal?: AbortSignal | undefined;
}

interface RunResult {
  readonly rows: readonly Row[];
  readonly results: readonly ScenarioResult[];
}

const REPORT_MS = 5_000;
/** A scenario ends without its figures after this many times what a machine that does nothing else needs. */
export const PATIENCE = 4;

/**
 * Runs each scenario that the promises need, once, on a cluster of its own, and judges the promises by it. The soak runs beside the
 * scenarios that measure no times.
 */
export async function runPromises(options: RunOptions): Promise<RunResult> {
  const { promises, minutes } = options;
  const wanted = SCENARIOS.filter(({ name }) => promises.some(({ scenario }) => scenario === name));
  const limitOf = ({ phase, minutesMax }: Scenario) => {
    if (minutes === undefined) return 60_000 * PATIENCE * minutesMax;
    // The soak takes its time beside the others.
    const sharing = wanted.filter((one) => (phase === 'soak') === (one.phase === 'soak'));
    return (60_000 * minutes * minutesMax) / sharing.reduce((sum, one) => sum + one.minutesMax, 0);
  };
  const results: ScenarioResult[] = [];
  const runAll = async (phase: Scenario['phase']) => {
    for (const scenario of wanted.filter((one) => one.phase === phase)) {
      if (options.signal?.aborted) return;
      const folder = join(options.folder, scenario.name);
      results.push(...(await runScenarios([scenario], { ...options, folder }, limitOf(scenario))));
    }
  };
  await runAll('alone');
  await Promise.all([runAll('soak'), runAll('other')]);
  return { rows: judgeAll(promises, results), results };
}

export function judgeAll(promises: readonly ServicePromise[], results: readonly ScenarioResult[]): Row[] {
  return promises.flatMap((promise) =>
    results.filter(({ scenario }) => scenario === promise.scenario).map((result) => judge(promise, result)),
  );
}

/**
 * Runs scenarios one after another on one cluster, of the kind that the first of them needs: each until the figures of its promises are
 * reached, a violation is found, or its time is over. Then reads the final state, once. With several scenarios, a fault of one is
 * followed by the load of the next one.
 */
export async function runScenarios(
  scenarios: readonly Scenario[],
  options: RunOptions,
  limitMs: number,
): Promise<readonly ScenarioResult[]> {
  const { folder, onProgress, signal } = options;
  const missing = scenarios[0]?.missing?.();
  if (missing !== undefined) {
    onProgress(`${scenarios[0]?.name}: skipped, because ${missing}`);
    const tally = new Tally(() => undefined);
    tally.doubt(missing);
    return scenarios.map((scenario) => resultOf(scenario, tally, ''));
  }
  await mkdir(folder, { recursive: true });
  // A server of root runs as another user, who must pass through to the database.
  await chmod(folder, 0o711);
  const startedAt = Date.now();
  const begun: { readonly scenario: Scenario; readonly context: RunContext; finish?: Finish | undefined }[] = [];
  let cluster: Cluster | undefined;
  let error: string | undefined;
  let servedAt = new Date();
  const run = async () => {
    const name = scenarios[0]?.name;
    onProgress(`${name}: starting PostgreSQL, two api processes and two workers`);
    const starting = Cluster.start(folder, scenarios[0]?.cluster);
    // A cluster that is ready after the interruption is ended then.
    void starting.then((late) => (signal?.aborted ? late.abandon() : undefined)).catch(() => undefined);
    cluster = await unlessAborted(starting, signal);
    servedAt = new Date();
    for (const scenario of scenarios) {
      const one = { scenario, context: await contextOf(scenario, cluster, options, limitMs) };
      begun.push(one);
      const reporting = setInterval(() => one.context.onProgress(progressOf(one.context.tally, startedAt)), REPORT_MS);
      try {
        Object.assign(one, { finish: await unlessAborted(scenario.run(one.context), signal) });
      } finally {
        clearInterval(reporting);
      }
    }
    await unlessAborted(finishAll(), signal);
  };
  const finishAll = async () => {
    const finished = begun.filter(({ finish }) => finish !== undefined);
    const [first] = finished;
    if (first === undefined) return begun[0]?.context.tally.violate('processes', ...cluster!.ownEnds);
    await settle(first.context, servedAt);
    for (const { context, finish } of finished) await compareWithLog(context, finish!);
    await proveBooks(first.context);
  };
  try {
    await run();
  } catch (thrown) {
    error = (thrown as Error).message;
    onProgress(`the run ended early: ${signal?.aborted ? error : (thrown as Error).stack}`);
  } finally {
    for (const { context } of begun) context.tally.end();
    await (signal?.aborted ? cluster?.abandon() : cluster?.stop());
    for (const { context } of begun) await context.log.close();
  }
  const isClean = error === undefined && begun.every(({ context }) => context.tally.violations.length === 0);
  if (isClean) await cluster?.removeData();
  if (begun.length === 0) return [resultOf(scenarios[0]!, new Tally(() => undefined), folder, error)];
  return begun.map(({ scenario, context }) => {
    context.onProgress(progressOf(context.tally, startedAt));
    return resultOf(scenario, context.tally, context.log.path, error);
  });
}

async function contextOf(
  { name }: Scenario,
  cluster: Cluster,
  { promises, seed, folder, onProgress, sizes = { orders: 300, transfers: 0 } }: RunOptions,
  limitMs: number,
): Promise<RunContext> {
  const ended = new AbortController();
  // Every client of the load listens.
  setMaxListeners(0, ended.signal);
  const own = promises.filter((promise) => promise.scenario === name);
  const tally: Tally = new Tally(() => {
    if (tally.violations.length > 0 || isReached(own, tally.figures)) ended.abort();
  });
  setTimeout(() => ended.abort(), limitMs).unref();
  return {
    ...{ cluster, tally, limitMs, sizes, signal: ended.signal, prefix: `f${seed}${name}` },
    log: await ClientLog.create(join(folder, `${name}.jsonl`)),
    random: randomOf(seed).fork(name),
    onProgress: (line) => onProgress(`${name}: ${line}`),
  };
}

function resultOf(
  { name, faults: wantedFaults }: Scenario,
  { figures, faults, operations, succeeded, violations, doubts, notes }: Tally,
  logPath: string,
  error?: string,
): ScenarioResult {
  const all = {
    scenario: name,
    figures,
    faults,
    operations,
    succeeded,
    violations,
    notes,
    wantedFaults,
    logPath,
    error,
  };
  return { ...all, doubts: [...doubts] };
}

/** @throws Error at the abort, without waiting for the work */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let end: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    end = () => reject(new Error('interrupted'));
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
  // The work fails when its processes stop, and then no caller waits for it.
  work.catch(() => undefined);
  return Promise.race([work, aborted]).finally(() => signal?.removeEventListener('abort', end));
}

function progressOf({ operations, succeeded, figures, violations }: Tally, startedAt: number): string {
  const counted = Object.entries(figures).map(([figure, count]) => `${figure} ${count}`);
  const sums = [`operations ${operations}`, `succeeded ${succeeded}`, ...counted, `violations ${violations.length}`];
  return `${Math.round((Date.now() - startedAt) / 1_000)} s, ${sums.join(', ')}`;
}
