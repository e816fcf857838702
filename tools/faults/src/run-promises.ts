import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ClientLog } from './client-log.js';
import { Cluster } from './cluster.js';
import { type ServicePromise, SCENARIOS } from './promises.js';
import { randomOf } from './random.js';
import { type Scenario, Tally } from './scenario.js';
import { isReached, judge, type Row, type ScenarioResult } from './verdict.js';

export interface RunOptions {
  readonly promises: readonly ServicePromise[];
  readonly seed: number;
  /** Of all scenarios together; undefined for the longest time of each. */
  readonly minutes: number | undefined;
  /** Receives the logs; made if missing. */
  readonly folder: string;
  readonly onProgress: (line: string) => void;
  /** Ends the run without its final checks, and stops all processes. */
  readonly signal?: AbortSignal;
}

export interface RunResult {
  readonly rows: readonly Row[];
  readonly results: readonly ScenarioResult[];
}

const REPORT_MS = 5_000;

/** Runs each scenario that the promises need, once, on a cluster of its own, and judges the promises by it. */
export async function runPromises(options: RunOptions): Promise<RunResult> {
  const { promises, minutes } = options;
  const scenarios = SCENARIOS.filter(({ name }) => promises.some(({ scenario }) => scenario === name));
  const results: ScenarioResult[] = [];
  for (const scenario of scenarios) {
    if (options.signal?.aborted) break;
    const share = minutes === undefined ? scenario.minutesMax : minutes / scenarios.length;
    results.push(await runScenario(scenario, options, share * 60_000));
  }
  const rows = promises.flatMap((promise) =>
    results.filter(({ scenario }) => scenario === promise.scenario).map((result) => judge(promise, result)),
  );
  return { rows, results };
}

/** Runs a scenario until the figures of its promises are reached, a violation is found, or its time is over. */
export async function runScenario(scenario: Scenario, options: RunOptions, limitMs: number): Promise<ScenarioResult> {
  const { seed, onProgress } = options;
  const { name } = scenario;
  const promises = options.promises.filter((promise) => promise.scenario === name);
  const folder = join(options.folder, name);
  await mkdir(folder, { recursive: true });
  // A server of root runs as another user, who must pass through to the database.
  await chmod(folder, 0o711);
  const log = await ClientLog.create(join(folder, 'client.jsonl'));
  const progress = (line: string) => onProgress(`${name}: ${line}`);

  const ended = new AbortController();
  const tally: Tally = new Tally(() => {
    if (tally.violations.length > 0 || isReached(promises, tally.figures)) ended.abort();
  });
  let cluster: Cluster | undefined;
  let error: string | undefined;
  let timers: NodeJS.Timeout[] = [];
  const startedAt = Date.now();
  try {
    cluster = await Cluster.start(folder, progress);
    timers = [
      setTimeout(() => ended.abort(), limitMs),
      setInterval(() => progress(progressOf(tally, startedAt)), REPORT_MS),
    ];
    const random = randomOf(seed).fork(name);
    const running = scenario.run({
      ...{ cluster, log, random, tally, onProgress: progress },
      prefix: `f${seed}`,
      signal: ended.signal,
    });
    await unlessAborted(running, options.signal);
  } catch (thrown) {
    error = (thrown as Error).message;
    progress(`the run ended early: ${options.signal?.aborted ? error : (thrown as Error).stack}`);
  } finally {
    ended.abort();
    for (const timer of timers) clearTimeout(timer);
    try {
      await cluster?.stop();
    } finally {
      await log.close();
    }
  }
  if (tally.violations.length === 0 && error === undefined) await cluster?.removeData();
  const { figures, faults, operations, succeeded, violations } = tally;
  progress(progressOf(tally, startedAt));
  return {
    ...{ scenario: name, figures, faults, operations, succeeded, violations, error, logPath: log.path },
    wantedFaults: scenario.faults,
    seconds: Math.round((Date.now() - startedAt) / 1000),
  };
}

/** @throws Error at the abort, without waiting for the work */
async function unlessAborted(work: Promise<void>, signal: AbortSignal | undefined): Promise<void> {
  const aborted = new Promise<never>((_, reject) => {
    const end = () => reject(new Error('interrupted'));
    if (signal?.aborted) end();
    else signal?.addEventListener('abort', end, { once: true });
  });
  // The work fails when its processes stop, and then no caller waits for it.
  work.catch(() => undefined);
  await Promise.race([work, aborted]);
}

function progressOf({ operations, succeeded, figures, violations }: Tally, startedAt: number): string {
  const seconds = Math.round((Date.now() - startedAt) / 1000);
  const counted = Object.entries(figures).map(([figure, count]) => `${figure} ${count}`);
  return [
    `${seconds} s`,
    `operations ${operations}`,
    `succeeded ${succeeded}`,
    ...counted,
    `violations ${violations.length}`,
  ].join(', ');
}
