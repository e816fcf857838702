import { setTimeout as sleep } from 'node:timers/promises';
import type { ClientLog } from './client-log.js';
import type { Cluster, Member } from './cluster.js';
import type { Violation } from './check-orders.js';
import type { CutTime } from './database-proxy.js';
import { fillDisk } from './full-disk.js';
import { stopForAWhile } from './outage.js';
import type { Replica } from './replica.js';
import type { PlannedFault, PlannedKind } from './schedule.js';

/** A commit comes soon under load. */
const COMMIT_WAIT_MS = 2_000;
const DELAY_MS = 500;

type Report = (violations: readonly Violation[]) => void;

/** Injects one fault and waits until it is over. @returns the target, or undefined if the fault found none */
type Injection = (cluster: Cluster, fault: PlannedFault, report: Report) => Promise<string | undefined>;

/** Who is told of a fault, and of what it violated. */
export interface InjectOptions {
  readonly onFault: (kind: PlannedKind) => void;
  readonly report: Report;
}

const INJECTIONS: Readonly<Record<PlannedKind, Injection>> = {
  'kill-api': ({ apis }, fault) => killAndStart(chosen(apis, fault)),
  'kill-worker': ({ workers }, fault) => killAndStart(chosen(workers, fault)),
  'kill-api-at-commit': ({ apis }, fault) => killAt('commit', chosen(apis, fault), fault),
  'kill-worker-at-submission': ({ workers }, fault) => killAt('sandbox_submit', chosen(workers, fault), fault),
  'pause-api': ({ apis }, fault) => pause(chosen(apis, fault), fault.lastsMs),
  'pause-worker': ({ workers }, fault) => pause(chosen(workers, fault), fault.lastsMs),
  'terminate-backend': ({ database }, { target }) => endBackend(database, 'terminate', target),
  'kill-backend': ({ database }, { target }) => endBackend(database, 'kill', target),
  'kill-postmaster': async ({ database }) => {
    await database.endPostmaster('SIGKILL');
    return 'postmaster';
  },
  'stop-postmaster': async ({ database }) => {
    await database.endPostmaster('SIGQUIT');
    return 'postmaster';
  },
  outage: async (cluster, _, report) => {
    report(await stopForAWhile(cluster));
    return 'postmaster';
  },
  'full-disk': (cluster, { lastsMs }, report) => fillDisk(cluster, { lastsMs, isWalFull: false }, report),
  'full-wal': (cluster, { lastsMs }, report) => fillDisk(cluster, { lastsMs, isWalFull: true }, report),
  delay: async ({ members }, fault) => {
    const { process, proxy } = chosen(members, fault);
    proxy.delay(DELAY_MS);
    await sleep(fault.lastsMs);
    proxy.delay(0);
    return process.name;
  },
  'half-open': async ({ members }, fault) => {
    const { process, proxy } = chosen(members, fault);
    proxy.silence();
    await sleep(fault.lastsMs);
    proxy.endSilence();
    return process.name;
  },
  reset: async ({ members }, fault) => {
    const { process, proxy } = chosen(members, fault);
    proxy.reset();
    return process.name;
  },
  'reset-at-commit': async ({ apis }, fault) => {
    const { process, proxy } = chosen(apis, fault);
    const when: CutTime = fault.lastsMs % 2 === 0 ? 'before' : 'after';
    const isCut = await proxy.resetAtCommit(when, AbortSignal.timeout(COMMIT_WAIT_MS));
    return isCut ? `${process.name}, ${when} the server` : undefined;
  },
  'pause-replay': ({ replica }, { lastsMs }) => disturb(replica, (one) => one.pauseReplay(lastsMs)),
  'kill-replica': ({ replica }, { lastsMs }) => disturb(replica, (one) => one.crash(lastsMs)),
  'half-open-replica': ({ replica }, { lastsMs }) => disturb(replica, (one) => one.silence(lastsMs)),
};

/** Injects the planned faults one after another until the signal. A fault that found no target is not counted. */
export async function injectFaults(
  cluster: Cluster,
  plan: Iterable<PlannedFault>,
  log: ClientLog,
  signal: AbortSignal,
  { onFault, report }: InjectOptions,
): Promise<void> {
  for (const fault of plan) {
    if (signal.aborted) return;
    await sleep(fault.afterMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const target = await INJECTIONS[fault.kind](cluster, fault, report);
    if (target === undefined) continue;
    await log.append({ event: 'fault', kind: fault.kind, target });
    onFault(fault.kind);
  }
}

function chosen(members: readonly Member[], { target }: PlannedFault): Member {
  return members[target % members.length] as Member;
}

async function disturb(
  replica: Replica | undefined,
  disturbance: (replica: Replica) => Promise<void>,
): Promise<string | undefined> {
  if (replica === undefined) return undefined;
  await disturbance(replica);
  return 'replica';
}

async function killAndStart({ process }: Member): Promise<string> {
  await process.kill();
  await process.start();
  return process.name;
}

/** Kills the process before PostgreSQL has the next statement of this name, or after it and before the process has the response. */
async function killAt(statement: string, member: Member, { lastsMs }: PlannedFault): Promise<string | undefined> {
  const { process, proxy } = member;
  const when: CutTime = lastsMs % 2 === 0 ? 'before' : 'after';
  const release = await proxy.withhold(statement, AbortSignal.timeout(COMMIT_WAIT_MS), when);
  if (release === undefined) return undefined;
  await process.kill();
  release();
  await process.start();
  return `${process.name}, ${when} the ${statement}`;
}

async function pause({ process }: Member, lastsMs: number): Promise<string> {
  process.pause();
  await sleep(lastsMs);
  process.resume();
  return process.name;
}

async function endBackend(
  database: Cluster['database'],
  how: 'terminate' | 'kill',
  target: number,
): Promise<string | undefined> {
  const isEnded = await database.endBackend(how, target);
  if (how === 'kill') await database.ready();
  return isEnded ? 'backend' : undefined;
}
