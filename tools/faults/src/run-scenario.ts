import { setMaxListeners } from 'node:events';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ClientLog } from './client-log.js';
import { Cluster } from './cluster.js';
import type { ServicePromise } from './promises.js';
import { randomOf } from './random.js';
import { type Scenario, Tally } from './scenario.js';
import { isReached, type ScenarioResult } from './verdict.js';

export interface ScenarioOptions {
  /** Those of other scenarios are ignored. */
  readonly promises: readonly ServicePromise[];
  readonly seed: number;
  /** Receives the logs; made if missing. */
  readonly folder: string;
  readonly onProgress: (line: string) => void;
  /** Ends the run without its final checks, and stops all processes. */
  readonly signal?: AbortSignal;
}

const REPORT_MS = 5_000;

/** Runs a scenario until the figures of its promises are reached, a violation is found, or its time is over. */
export async function runScenario(
  scenario: Scenario,
  options: ScenarioOptions,
  limitMs: number,
): Promise<ScenarioResult> {
  const { seed, onProgress } = options;
  const { name } = scenario;
  const missing = scenario.missing?.();
  if (missing !== undefined) {
    onProgress(`${name}: skipped, because ${missing}`);
    return skipped(scenario, missing);
  }
  const promises = options.promises.filter((promise) => promise.scenario === name);
  const folder = join(options.folder, name);
  await mkdir(folder, { recursive: true });
  // A server of root runs as another user, who must pass through to the database.
  await chmod(folder, 0o711);
  const log = await ClientLog.create(join(folder, 'client.jsonl'));
  const progress = (line: string) => onProgress(`${name}: ${line}`);

  const ended = new AbortController();
  // Every client of the load listens.
  setMaxListeners(0, ended.signal);
  const tally: Tally = new Tally(() => {
    if (tally.violations.length > 0 || isReached(promises, tally.figures)) ended.abort();
  });
  let cluster: Cluster | undefined;
  let error: string | undefined;
  let timers: NodeJS.Timeout[] = [];
  const startedAt = Date.now();
  try {
    const starting = Cluster.start(folder, progress, scenario.cluster);
    // A cluster that is ready after the interruption is ended then.
    void starting.then((late) => (options.signal?.aborted ? late.abandon() : undefined)).catch(() => undefined);
    cluster = await unlessAborted(starting, options.signal);
    timers = [
      setTimeout(() => ended.abort(), limitMs),
      setInterval(() => progress(progressOf(tally, startedAt)), REPORT_MS),
    ];
    const random = randomOf(seed).fork(name);
    const running = scenario.run({
      ...{ cluster, log, random, tally, onProgress: progress },
      prefix: `f${seed}`,
      signal: ended.signal,
      limitMs,
    });
    await unlessAborted(running, options.signal);
  } catch (thrown) {
    error = (thrown as Error).message;
    progress(`the run ended early: ${options.signal?.aborted ? error : (thrown as Error).stack}`);
  } finally {
    tally.end();
    ended.abort();
    for (const timer of timers) clearTimeout(timer);
    try {
      await (options.signal?.aborted ? cluster?.abandon() : cluster?.stop());
    } finally {
      await log.close();
    }
  }
  if (tally.violations.length === 0 && error === undefined) await cluster?.removeData();
  const { figures, faults, operations, succeeded, violations, doubts } = tally;
  progress(progressOf(tally, startedAt));
  return {
    ...{ scenario: name, figures, faults, operations, succeeded, violations, doubts, error, logPath: log.path },
    wantedFaults: scenario.faults,
    seconds: Math.round((Date.now() - startedAt) / 1000),
  };
}

/** A scenario that this machine cannot run leaves its promises unknown. */
function skipped({ name, faults }: Scenario, doubt: string): ScenarioResult {
  const nothing = {
    figures: {},
    faults: new Map(),
    operations: 0,
    succeeded: 0,
    violations: [],
    seconds: 0,
    logPath: '',
  };
  return { ...nothing, scenario: name, wantedFaults: faults, doubts: [doubt] };
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
