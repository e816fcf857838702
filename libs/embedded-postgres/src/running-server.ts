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
import { removeLink } from './remove-link.js';

/** A connection as the superuser, over the Unix socket. */
export interface Connection {
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly database: string;
  /** Explicit, because the environment (PGSSLMODE) may set another value. */
  readonly ssl: false;
}

export function connectionOf(socketFolder: string): Connection {
  return { host: socketFolder, port: PORT, user: 'postgres', database: 'postgres', ssl: false };
}

/**
 * `ready`: it accepts connections. `busy`: it is starting, recovering or stopping.
 * `broken`: files of the database are damaged or missing; waiting does not fix that.
 * `refused`: it does not accept our operating system user.
 * `silent`: no server answers, which proves nothing about the process.
 */
export type ServerStatus = 'ready' | 'busy' | 'broken' | 'refused' | 'silent';

/** SQLSTATEs of PostgreSQL (appendix A of its manual). `@banking/postgres` tests with this package, so its table is not used here. */
const SQLSTATE = { cannotConnectNow: '57P03', tooManyConnections: '53300', invalidAuthorization: '28000' };

/** Classes of SQLSTATE: internal error and corrupted data, error of the file system, missing database. */
const BROKEN = /^(?:XX|58|3D)/;

/** Connects, because a process, a socket file or a line in a log prove no server. */
export async function readServerStatus(connection: Connection): Promise<ServerStatus> {
  const client = new Client({ ...connection, connectionTimeoutMillis: 2_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    await client.end();
    return 'ready';
  } catch (error) {
    await client.end().catch(() => undefined);
    const { code } = error as { code?: string };
    if (code === SQLSTATE.cannotConnectNow) return 'busy';
    if (code === SQLSTATE.tooManyConnections) return 'ready';
    if (code === SQLSTATE.invalidAuthorization) return 'refused';
    if (BROKEN.test(code ?? '')) return 'broken';
    return 'silent';
  }
}

/** Records the process of the server, so that it is known when it does not answer. A link, as the lock is. */
export function recordServer(run: string, identity: ProcessIdentity): void {
  const text = writeIdentity(identity);
  const link = join(run, 'server');
  if (readLink(link) === text) return;
  const half = `${link}-half`;
  removeLink(half);
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

/** The living process that is proven to be the server; undefined without a proof. */
export function knownServer(run: string): ProcessIdentity | undefined {
  const recorded = recordedServer(run);
  return recorded !== undefined && isAlive(recorded) ? recorded : undefined;
}

/** The process that a server which answers has written into postmaster.pid; undefined where it is not visible. */
export function answeringServer(folder: DataFolder): ProcessIdentity | undefined {
  const pid = postmasterPid(folder);
  return pid === undefined ? undefined : identityOf(pid);
}

/**
 * Whether a process is alive that may be the server, without proof: the process that started it may have been killed before it recorded
 * the server, or the number in postmaster.pid may belong to another process by now.
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
 * Under the lock, when no server runs: clears the files of a killed server that would stop the next one.
 *
 * PostgreSQL takes any living process of its user with the number in postmaster.pid for the old server. The file cannot be removed: it
 * names the shared memory by which a new server detects old backends. But PostgreSQL detects that its own parent is no server
 * (CreateLockFile in miscinit.c), so the file gets our number instead.
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
 * Under the lock: stops the server by PostgreSQL's fast shutdown, which loses no commit and waits for no client. A server that still
 * runs after 20 seconds is ended, and recovers at the next start.
 */
export async function stopServer(server: ProcessIdentity, log: (line: string) => void): Promise<void> {
  if (await endsAfter(server, 'SIGINT', 20_000)) return;
  log(
    `the database server (process ${server.pid}) did not stop within 20 seconds: ending it; it will recover at its next start`,
  );
  await endServer(server);
}

/** Under the lock: ends the server without a last checkpoint, which a broken server could not write. */
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
