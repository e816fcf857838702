import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster, Member } from './cluster.js';
import type { CutTime } from './database-proxy.js';
import type { Random } from './random.js';
import { noteFault, type RunContext, type Violation, violationsOf } from './scenario.js';
import { wait } from './wait.js';

/** A commit comes soon under load. */
const COMMIT_WAIT_MS = 2_000;
const DELAY_MS = 500;

interface PlannedFault {
  /** Chooses one of the processes or connections that the fault may hit. */
  readonly target: number;
  /** How long a pause, a delay or a half-open connection lasts. */
  readonly lastsMs: number;
}

type Report = (violations: readonly Violation[]) => void;

/** Injects one fault and waits until it is over. @returns the target, or undefined if the fault found none */
type Injection = (cluster: Cluster, fault: PlannedFault, report: Report) => Promise<string | undefined>;

const onMember =
  (
    of: 'apis' | 'workers' | 'members',
    act: (member: Member, fault: PlannedFault) => Promise<string | void>,
  ): Injection =>
  async (cluster, fault) => {
    const members = cluster[of];
    const member = members[fault.target % members.length]!;
    const place = await act(member, fault);
    return place === '' ? undefined : `${member.process.name}${place ?? ''}`;
  };

const killAndStart = async ({ process }: Member) => {
  await process.kill();
  await process.start();
};

/** The others live on. */
const killFirst = async ([member]: readonly Member[]) => {
  await killAndStart(member!);
  return member!.process.name;
};

const pause = async ({ process }: Member, { lastsMs }: PlannedFault) => {
  process.pause();
  await sleep(lastsMs);
  process.resume();
};

const cutTimeOf = ({ lastsMs }: PlannedFault): CutTime => (lastsMs % 2 === 0 ? 'before' : 'after');

/** Kills the process before PostgreSQL has the next statement of this name, or after it and before the process has the response. */
const killAt = (statement: string) => async (member: Member, fault: PlannedFault) => {
  const when = cutTimeOf(fault);
  const isKilled = await killWorkerAt(member, statement, AbortSignal.timeout(COMMIT_WAIT_MS), when);
  return isKilled ? `, ${when} the ${statement}` : '';
};

/** Kills a process at its next statement of this name. @returns whether there was one before the signal */
export async function killWorkerAt(
  { process, proxy }: Pick<Member, 'process' | 'proxy'>,
  statement: string,
  signal: AbortSignal,
  when: CutTime = 'after',
): Promise<boolean> {
  const release = await proxy.withhold(statement, signal, when);
  if (release === undefined) return false;
  await process.kill();
  release();
  await process.start();
  return true;
}

const endPostmaster =
  (signal: 'SIGKILL' | 'SIGQUIT'): Injection =>
  async ({ database }) => {
    await database.endPostmaster(signal);
    return 'postmaster';
  };

const endBackend =
  (how: 'terminate' | 'kill'): Injection =>
  async ({ database }, { target }) => {
    const isEnded = await database.endBackend(how, target);
    if (how === 'kill') await database.ready();
    return isEnded ? 'backend' : undefined;
  };

const onReplica =
  (how: 'pause' | 'crash' | 'silence'): Injection =>
  async ({ replica }, { lastsMs }) => {
    await replica?.disturb(how, lastsMs);
    return replica && 'replica';
  };

const INJECTIONS = {
  'kill-api': onMember('apis', killAndStart),
  'kill-worker': onMember('workers', killAndStart),
  'kill-api-0': ({ apis }) => killFirst(apis),
  'kill-worker-0': ({ workers }) => killFirst(workers),
  'kill-api-at-commit': onMember('apis', killAt('commit')),
  'kill-api-at-decision': onMember('apis', killAt('insert_approval_decision')),
  'kill-worker-at-submission': onMember('workers', killAt('sandbox_submit')),
  'kill-worker-at-run': onMember('workers', killAt('finish_execution')),
  'kill-worker-at-outcome': onMember('workers', killAt('write_approval_outcome')),
  'pause-api': onMember('apis', pause),
  'pause-worker': onMember('workers', pause),
  'terminate-backend': endBackend('terminate'),
  'kill-backend': endBackend('kill'),
  'kill-postmaster': endPostmaster('SIGKILL'),
  'stop-postmaster': endPostmaster('SIGQUIT'),
  outage: async (cluster, _, report) => {
    report(await stopForAWhile(cluster));
    return 'postmaster';
  },
  'full-disk': (cluster, { lastsMs }, report) => fillDisk(cluster, lastsMs, false, report),
  'full-wal': (cluster, { lastsMs }, report) => fillDisk(cluster, lastsMs, true, report),
  delay: onMember('members', async ({ proxy }, { lastsMs }) => {
    proxy.delay(DELAY_MS);
    await sleep(lastsMs);
    proxy.delay(0);
  }),
  'half-open': onMember('members', async ({ proxy }, { lastsMs }) => {
    proxy.silence();
    await sleep(lastsMs);
    proxy.endSilence();
  }),
  reset: onMember('members', async ({ proxy }) => proxy.reset()),
  'reset-at-commit': onMember('apis', async ({ proxy }, fault) => {
    const when = cutTimeOf(fault);
    const isCut = await proxy.resetAtCommit(when, AbortSignal.timeout(COMMIT_WAIT_MS));
    return isCut ? `, ${when} the server` : '';
  }),
  'pause-replay': onReplica('pause'),
  'kill-replica': onReplica('crash'),
  'half-open-replica': onReplica('silence'),
} as const satisfies Readonly<Record<string, Injection>>;

export type PlannedKind = keyof typeof INJECTIONS;

/** The time between two faults, and how long one lasts. A killed process is started again in this time too. */
export interface FaultTimes {
  readonly afterMs: readonly [least: number, most: number];
  readonly lastsMs: readonly [least: number, most: number];
}

/**
 * Injects faults one after another until the signal: every kind once in each round, in random order. The same seed gives the same
 * faults. One that found no target is not counted.
 */
export async function injectFaults(
  context: RunContext,
  kinds: readonly PlannedKind[],
  { afterMs, lastsMs }: FaultTimes,
): Promise<void> {
  const { cluster, signal, tally } = context;
  const random = context.random.fork('faults');
  while (kinds.length > 0 && !signal.aborted) {
    for (const kind of shuffled(random, kinds)) {
      const fault = { target: random.below(1_000), lastsMs: random.between(...lastsMs) };
      await wait(random.between(...afterMs), signal);
      if (signal.aborted) return;
      const target = await INJECTIONS[kind](cluster, fault, (violations) => tally.addViolations(violations));
      if (target !== undefined) await noteFault(context, kind, target);
    }
  }
}

function shuffled<T>(random: Random, all: readonly T[]): T[] {
  const left = [...all];
  const result: T[] = [];
  while (left.length > 0) result.push(...left.splice(random.below(left.length), 1));
  return result;
}

const OUTAGE_MS = 10_000;
const UNREADY_WITHIN_MS = 2_000;
const READY_WITHIN_MS = 5_000;
const PROBE_MS = 100;
const PROBE_LIMIT_MS = 20_000;

/**
 * Stops PostgreSQL at once and keeps it away for ten seconds. Meanwhile each api process must become not ready within two seconds, and
 * ready again within five seconds of the return; it must be alive all the time.
 */
async function stopForAWhile({ database, apis, members }: Cluster): Promise<Violation[]> {
  const ended = new AbortController();
  const goneAt = Date.now();
  const watched = Promise.all(apis.map((member) => probe(member, ended.signal)));
  for (const { proxy } of members) proxy.refuse();
  await database.endPostmaster('SIGQUIT');
  await sleep(Math.max(0, OUTAGE_MS - (Date.now() - goneAt)));
  const backAt = Date.now();
  for (const { proxy } of members) proxy.accept();
  await sleep(READY_WITHIN_MS + 10 * PROBE_MS);
  ended.abort();
  return (await watched).flatMap((probes, index) => {
    const found: string[] = [];
    const during = probes.filter(({ at }) => at >= goneAt + UNREADY_WITHIN_MS && at < backAt);
    const after = probes.filter(({ at }) => at >= backAt + READY_WITHIN_MS);
    if (during.some(({ ready }) => ready === 200))
      found.push(`was ready ${UNREADY_WITHIN_MS} ms after PostgreSQL had stopped`);
    if (after.some(({ ready }) => ready !== 200)) found.push(`was not ready ${READY_WITHIN_MS} ms after the return`);
    if (during.length === 0 || after.length === 0) found.push('did not respond to its health checks');
    if (probes.some(({ live }) => live !== 200)) found.push('was not alive without PostgreSQL');
    return violationsOf(
      'readiness',
      found.map((detail) => `${apis[index]?.process.name} ${detail}`),
    );
  });
}

/** What the health checks of a process reported, and when each was sent. */
async function probe({ process }: Member, signal: AbortSignal) {
  const probes: { at: number; ready: number | undefined; live: number | undefined }[] = [];
  while (!signal.aborted) {
    const at = Date.now();
    const health = [process.health('ready', PROBE_LIMIT_MS), process.health('live', PROBE_LIMIT_MS)] as const;
    const [ready, live] = await Promise.all(health);
    probes.push({ at, ready, live });
    await wait(PROBE_MS, signal);
  }
  return probes;
}

/** Under load, PostgreSQL writes to the disk in less. */
const FULL_MIN_MS = 2_000;

/**
 * Fills the disk of PostgreSQL for a time. Once there is space and PostgreSQL takes queries again, each api process must be ready within
 * five seconds.
 *
 * @param isWalFull whether the write-ahead log also needs space, so that PostgreSQL stops with a PANIC. Otherwise statements fail with 53100
 * @returns the target; undefined if the log had space
 */
async function fillDisk(
  { database, apis, disk }: Cluster,
  lastsMs: number,
  isWalFull: boolean,
  report: Report,
): Promise<string | undefined> {
  const until = Date.now() + Math.max(lastsMs, FULL_MIN_MS);
  disk?.fill();
  let isStopped = !isWalFull;
  // Ends one segment of the log after another, until there is none for the next one.
  while (!isStopped && Date.now() < until) {
    isStopped = await database.query('select pg_switch_wal()').then(
      () => false,
      () => true,
    );
  }
  await sleep(Math.max(0, until - Date.now()));
  disk?.free();
  await database.ready();
  const backAt = Date.now();
  for (const { process } of apis) {
    while ((await process.health('ready', PROBE_LIMIT_MS)) !== 200 && Date.now() - backAt < READY_WITHIN_MS) {
      await sleep(PROBE_MS);
    }
    if (Date.now() - backAt < READY_WITHIN_MS) continue;
    const detail = `${process.name} was not ready ${READY_WITHIN_MS} ms after PostgreSQL had space and took queries`;
    report(violationsOf('readiness', [detail]));
  }
  return isStopped ? 'disk of PostgreSQL' : undefined;
}
