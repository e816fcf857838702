import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { PORT, type DataFolder } from './data-folder.js';
import { identityOf, isAlive, parseIdentity, writeIdentity, type ProcessIdentity } from './process-identity.js';

/** How to reach the server: as its superuser, through the socket. */
export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Said, because the environment (PGSSLMODE) may say otherwise. */
  readonly ssl: false;
}

export function connectionOf(socketFolder: string): Connection {
  return { host: socketFolder, port: PORT, user: 'postgres', database: 'postgres', ssl: false };
}

/**
 * `ready`: it takes connections. `busy`: it answers, but is starting, recovering or stopping.
 * `broken`: it answers that it can not, because files of the database are damaged or gone; waiting will not mend that.
 * `refused`: it does not accept our operating system user.
 * `silent`: nobody answers, which proves nothing about the process.
 */
export type Answer = 'ready' | 'busy' | 'broken' | 'refused' | 'silent';

/** Classes of SQLSTATE: an internal error and corrupted data, an error of the file system, a database that is not there. */
const BROKEN = /^(?:XX|58|3D)/;

/** Asks by connecting: a process, a socket file or a line in a log prove no server. */
export async function askServer(connection: Connection): Promise<Answer> {
  const client = new Client({ ...connection, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return 'ready';
  } catch (error) {
    await client.end().catch(() => undefined);
    const { code } = error as { code?: string };
    if (code === '57P03') return 'busy'; // cannot_connect_now
    if (code === '53300') return 'ready'; // too_many_connections
    if (code === '28000') return 'refused'; // invalid_authorization_specification
    if (BROKEN.test(code ?? '')) return 'broken';
    return 'silent';
  }
}

/** Remembers which process the server is, so that it is known again when it does not answer. A link, as the lock is. */
export function recordServer(run: string, identity: ProcessIdentity): void {
  const text = writeIdentity(identity);
  const link = join(run, 'server');
  if (readLink(link) === text) return;
  const half = `${link}-half`;
  rmSync(half, { force: true });
  symlinkSync(text, half);
  renameSync(half, link);
}

/** The process last recorded as the server, dead or alive. */
function recordedServer(run: string): ProcessIdentity | undefined {
  return parseIdentity(readLink(join(run, 'server')) ?? '');
}

function readLink(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch {
    return undefined;
  }
}

/** The living server process we know for certain; undefined when there is none or it is not certain. */
export function knownServer(run: string): ProcessIdentity | undefined {
  const recorded = recordedServer(run);
  return recorded !== undefined && isAlive(recorded) ? recorded : undefined;
}

/** The process a server that answers has written into postmaster.pid; undefined where it cannot be seen from here. */
export function answeringServer(folder: DataFolder): ProcessIdentity | undefined {
  const pid = postmasterPid(folder);
  return pid === undefined ? undefined : identityOf(pid);
}

/**
 * Whether a process that might be the server is alive without proof that it is: its starter may have
 * been killed before it could record it, or the number in postmaster.pid may be somebody else's by now.
 */
export function mayBeStarting(folder: DataFolder): boolean {
  const pid = postmasterPid(folder);
  return pid !== undefined && recordedServer(folder.run)?.pid !== pid && identityOf(pid) !== undefined;
}

function postmasterPid(folder: DataFolder): number | undefined {
  try {
    const pid = Number.parseInt(readFileSync(join(folder.database, 'postmaster.pid'), 'latin1'), 10);
    return pid > 0 ? pid : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Under the lock, when no server runs: what a killed one left may not stop the next.
 *
 * PostgreSQL believes any living process of its user that bears the number in postmaster.pid to be the
 * old server. The file cannot just go: it names the shared memory by which a new server notices old
 * backends at work. But PostgreSQL knows that its own parent is no server (CreateLockFile in miscinit.c),
 * so the file gets our number in its place.
 */
export function clearRemains(folder: DataFolder, socketFolder: string): void {
  rmSync(join(socketFolder, `.s.PGSQL.${PORT}.lock`), { force: true });
  const path = join(folder.database, 'postmaster.pid');
  if (lstatSync(path, { throwIfNoEntry: false })?.size === 0) rmSync(path);
  const pid = postmasterPid(folder);
  if (pid === undefined || identityOf(pid) === undefined) return;
  const text = readFileSync(path, 'latin1').replace(/^\d+/, String(process.pid));
  const descriptor = openSync(path, constants.O_WRONLY | constants.O_TRUNC | constants.O_NOFOLLOW);
  try {
    writeSync(descriptor, text, null, 'latin1');
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Under the lock: stops the server as PostgreSQL's fast shutdown does, which loses nothing and waits for
 * nobody. One that is not gone after 20 seconds is stopped at once, and recovers at the next start.
 */
export async function stopServer(server: ProcessIdentity, log: (line: string) => void): Promise<void> {
  if (await endsAfter(server, 'SIGINT', 20_000)) return;
  log(
    `the database server (process ${server.pid}) did not stop within 20 seconds: ending it; it will recover at its next start`,
  );
  await endServer(server);
}

/** Under the lock: ends the server as a crash would, without a last checkpoint, which a broken one could not write. */
export async function endServer(server: ProcessIdentity): Promise<void> {
  if (await endsAfter(server, 'SIGQUIT', 10_000)) return;
  await endsAfter(server, 'SIGKILL', 5_000);
}

async function endsAfter(server: ProcessIdentity, signal: NodeJS.Signals, waitMs: number): Promise<boolean> {
  const until = Date.now() + waitMs;
  if (!isAlive(server)) return true;
  try {
    process.kill(server.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
  while (isAlive(server)) {
    if (Date.now() > until) return false;
    await sleep(10);
  }
  return true;
}
