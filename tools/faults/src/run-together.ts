import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ClientLog } from './client-log.js';
import { Cluster } from './cluster.js';
import { compareWithLog, proveBooks, settle } from './final-state.js';
import { type ServicePromise, SCENARIOS } from './promises.js';
import { randomOf } from './random.js';
import { type Finish, type RunContext, type Scenario, Tally } from './scenario.js';
import type { ScenarioOptions } from './run-scenario.js';
import { isReached, judge, type Row } from './verdict.js';

/** A scenario that has run, and whose final state is not read yet. */
interface Begun {
  readonly scenario: Scenario;
  readonly context: RunContext;
  readonly finish: Finish;
}

/**
 * Runs the scenarios of the promises one after another on one cluster, of the kind that the first of them needs, each until its figures are reached or its time is over. The final
 * state is read once. This is for a short run: a fault of one scenario is followed by the load of the next one.
 *
 * @throws Error if a scenario ends early
 */
export async function runTogether(options: ScenarioOptions, limitMs: number): Promise<readonly Row[]> {
  const { promises, folder, onProgress } = options;
  await mkdir(folder, { recursive: true });
  // A server of root runs as another user, who must pass through to the database.
  await chmod(folder, 0o711);
  const wanted = SCENARIOS.filter(({ name }) => promises.some(({ scenario }) => scenario === name));
  const cluster = await Cluster.start(folder, onProgress, wanted[0]?.cluster);
  const begun: Begun[] = [];
  try {
    for (const scenario of wanted) begun.push(await begin(scenario, cluster, options, limitMs));
    const [first] = begun;
    if (first === undefined) return [];
    await settle(first.context, first.finish.startedAt);
    for (const { context, finish } of begun) await compareWithLog(context, finish);
    await proveBooks(first.context);
  } finally {
    await cluster.stop();
    for (const { context } of begun) await context.log.close();
  }
  return promises.flatMap((promise) =>
    begun.filter(({ scenario }) => scenario.name === promise.scenario).map((one) => rowOf(promise, one)),
  );
}

async function begin(
  scenario: Scenario,
  cluster: Cluster,
  { promises, seed, folder, onProgress }: ScenarioOptions,
  limitMs: number,
): Promise<Begun> {
  const { name } = scenario;
  const ended = new AbortController();
  const own = promises.filter((promise) => promise.scenario === name);
  const tally: Tally = new Tally(() => {
    if (tally.violations.length > 0 || isReached(own, tally.figures)) ended.abort();
  });
  let finish: Finish | undefined;
  const context: RunContext = {
    ...{ cluster, tally, limitMs, signal: ended.signal },
    log: await ClientLog.create(join(folder, `${name}.jsonl`)),
    random: randomOf(seed).fork(name),
    prefix: `f${seed}${name}`,
    onProgress: (line) => onProgress(`${name}: ${line}`),
    finishLater: (later) => (finish = later),
  };
  const timer = setTimeout(() => ended.abort(), limitMs);
  try {
    await scenario.run(context);
  } finally {
    clearTimeout(timer);
  }
  if (finish === undefined) throw new Error(`${name} has read no final state`);
  return { scenario, context, finish };
}

function rowOf(promise: ServicePromise, { scenario, context: { tally, log } }: Begun): Row {
  const { figures, faults, operations, succeeded, violations, doubts } = tally;
  return judge(promise, {
    ...{ scenario: scenario.name, figures, faults, operations, succeeded, violations, doubts },
    ...{ wantedFaults: scenario.faults, seconds: 0, logPath: log.path },
  });
}
