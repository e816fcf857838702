import { spawn } from 'node:child_process';
import { closeSync, existsSync, fstatSync, lstatSync, openSync } from 'node:fs';
import { constants, readdirSync, readFileSync, readSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVER_ENV, type Binaries } from './binaries.js';
import { PORT, type DataFolder } from './data-folder.js';
import { diskFull, EmbeddedServerError, isDiskFull } from './embedded-server-error.js';
import { asUser, giveTo } from './server-user.js';

const LOG_BYTES_MAX = 4_000_000;
/** Recovery after a crash replays at most a checkpoint's worth. */
export const START_WAIT_S = 120;
/** Backends of a killed server keep its shared memory until they end. */
const REMAINS_WAIT_MS = 5_000;

/**
 * Set on the command line at each start, where no file of the data directory overrides it. The log has no statements and no errors of
 * statements, which clients receive, so that no customer data is in a file without rotation.
 */
const SETTINGS = {
  listen_addresses: '',
  unix_socket_permissions: '0700',
  fsync: 'on',
  full_page_writes: 'on',
  synchronous_commit: 'on',
  max_connections: '50',
  // Chosen by measurement: docs/adr/0016.
  shared_buffers: '256MB',
  max_wal_size: '2GB',
  logging_collector: 'off',
  log_destination: 'stderr',
  log_min_messages: 'log',
  log_min_error_statement: 'panic',
  log_error_verbosity: 'terse',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  log_checkpoints: 'off',
  log_autovacuum_min_duration: '-1',
  // A new database grows fast, and its plans depend on its statistics.
  autovacuum_naptime: '10s',
};

/** Each copy has a worker that follows, and two more while its tables are copied. A copy that finds none waits for five seconds. */
export const REPLICATED = {
  wal_level: 'logical',
  max_logical_replication_workers: '12',
  max_worker_processes: '20',
};

/** How far the log of the server was written before a start. */
export const logSize = ({ log }: DataFolder): number => lstatSync(log, { throwIfNoEntry: false })?.size ?? 0;

/**
 * Starts the server and waits until it takes connections.
 *
 * @returns false if another process has started one meanwhile, or has used this one and stopped it
 * @throws EmbeddedServerError if it does not start: a full disk, a damaged database, or one that recovers for too long
 */
export async function startServer(
  folder: DataFolder,
  binaries: Pick<Binaries, 'pgCtl'>,
  more: Readonly<Record<string, string>>,
  log: (line: string) => void,
  port = PORT,
): Promise<boolean> {
  const settings = { ...SETTINGS, unix_socket_directories: quoteInList(folder.socket), ...more };
  const options = Object.entries(settings).map(([name, value]) => `-c ${quoteForShell(`${name}=${value}`)}`);
  const args = ['-w', '-t', String(START_WAIT_S), '-l', 'server.log', '-o', `-p ${port} ${options.join(' ')}`];
  if (logSize(folder) > LOG_BYTES_MAX) renameSync(folder.log, `${folder.log}.1`);
  const until = Date.now() + REMAINS_WAIT_MS;
  let wasTaken = false;
  for (;;) {
    makeLog(folder);
    const found = pidFileOf(folder);
    // The folder of the socket is the server's own, so its lock file is that of a killed server: postmaster.pid decides which one runs.
    if (!isRunning(folder)) rmSync(join(folder.socket, `.s.PGSQL.${port}.lock`), { force: true });
    const logged = logSize(folder);
    const progress = setInterval(
      () => log('the database server is still starting, most likely recovering from a crash'),
      10_000,
    );
    const failure = await pgCtl(folder, binaries, 'start', args).finally(() => clearInterval(progress));
    if (failure === undefined) return true;
    const written = readLog(folder, logged);
    const output = written || failure;
    if (isRunning(folder)) {
      if (!/did not start in time/.test(failure)) return false;
      await stopServer(folder, binaries, log);
      throw startFailure(folder, `${output}\nnot ready after ${START_WAIT_S} seconds`);
    }
    if (output.includes('received fast shutdown request')) return false;
    const isTaken = /(?:lock|PID) file ".*" (?:already exists|is empty)/.test(output);
    // A server that has written nothing was killed as it started.
    const mayPass = isTaken || written === '' || /pre-existing shared memory block|still in use/.test(output);
    if (!mayPass || Date.now() > until) throw startFailure(folder, output);
    // Another process has the number of the killed server by now, or a power failure has emptied the file, if the next attempt finds
    // the same. A new server finds the backends of an old one by the shared memory of the folder.
    if (isTaken && wasTaken && pidFileOf(folder) === found) {
      rmSync(join(folder.database, 'postmaster.pid'), { force: true });
    }
    wasTaken = isTaken;
    await sleep(100);
  }
}

/**
 * Stops the server by PostgreSQL's fast shutdown, which loses no commit and waits for no client. A server that still runs after 20
 * seconds ends without a last checkpoint, and recovers at the next start. So does a `broken` one, which could not write it.
 */
export async function stopServer(
  folder: DataFolder,
  binaries: Pick<Binaries, 'pgCtl'>,
  log: (line: string) => void,
  { isBroken = false } = {},
): Promise<void> {
  // PostgreSQL ends by itself within a minute after its folder was removed.
  if (!existsSync(join(folder.database, 'postmaster.pid'))) return;
  if (!isBroken) {
    const failure = await pgCtl(folder, binaries, 'stop', ['-w', '-m', 'fast', '-t', '20']);
    if (failure === undefined || !isRunning(folder)) return;
    log(`the database server did not stop within 20 seconds: ending it; it will recover at its next start`);
  }
  const failure = await pgCtl(folder, binaries, 'stop', ['-w', '-m', 'immediate', '-t', '20']);
  if (failure !== undefined && isRunning(folder)) {
    throw new EmbeddedServerError(
      `The database server (process ${serverPid(folder)}) cannot be stopped: end that process (kill -KILL). ${failure}`,
    );
  }
}

/** Runs pg_ctl outside of our session, which Ctrl-C does not reach. @returns its output if it failed */
async function pgCtl(
  { dataDir, user }: DataFolder,
  { pgCtl: program }: Pick<Binaries, 'pgCtl'>,
  action: 'start' | 'stop',
  args: readonly string[],
): Promise<string | undefined> {
  // The path is relative, because pg_ctl does not quote it for the shell.
  const child = spawn(program, [action, '-D', 'database', ...args], {
    ...asUser(user),
    cwd: dataDir,
    env: SERVER_ENV,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  return code === 0 ? undefined : output.trim();
}

/** The text of postmaster.pid; undefined without the file, which the server removes when it ends. */
function pidFileOf({ database }: Pick<DataFolder, 'database'>): string | undefined {
  try {
    return readFileSync(join(database, 'postmaster.pid'), 'latin1');
  } catch (error) {
    // The refusal of a folder that is none, or that may not be read, names it.
    if (['ENOENT', 'ENOTDIR', 'EACCES'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined;
    throw error;
  }
}

/** The process in postmaster.pid. */
export function serverPid(folder: Pick<DataFolder, 'database'>): number | undefined {
  const pid = Number.parseInt(pidFileOf(folder) ?? '', 10);
  return pid > 0 ? pid : undefined;
}

/**
 * Whether the process in postmaster.pid may be a server of this folder. After a crash, another process may have its number: on Linux, only
 * a server works in the folder, which may be a link. Where the system hides that, as from root without CAP_SYS_PTRACE, every `postgres`
 * counts: a server that runs must not be taken for one that is gone. Elsewhere PostgreSQL's own test decides, which takes every process of
 * its user for the server.
 */
export function isRunning(folder: Pick<DataFolder, 'database'>): boolean {
  const pid = serverPid(folder);
  if (pid === undefined || !isProcess(pid)) return false;
  const entry = `/proc/${pid}`;
  // Without /proc, or where it hides the processes of others.
  if (!existsSync(entry)) return true;
  try {
    const [own, folderOfProcess] = [statSync(folder.database), statSync(join(entry, 'cwd'))];
    return own.dev === folderOfProcess.dev && own.ino === folderOfProcess.ino;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // A process that has ended and was not waited for has no folder.
    if (code === 'ENOENT') return false;
    if (code !== 'EACCES' && code !== 'EPERM') throw error;
    return readFileSync(join(entry, 'comm'), 'utf8') === 'postgres\n';
  }
}

function isProcess(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EPERM') return true;
    if (code === 'ESRCH') return false;
    throw error;
  }
}

/** Restarts of a server whose own processes cannot read the database, before it counts as broken. */
const CRASHES_MAX = 3;

/** Whether the server crashes and recovers again and again, so that it never becomes ready. */
export function isCrashing(folder: DataFolder, logged: number): boolean {
  return readLog(folder, logged).split('all server processes terminated; reinitializing').length > CRASHES_MAX;
}

/** The error for a server that did not start, or that cannot read its database. */
export function startFailure(folder: DataFolder, output: string): EmbeddedServerError {
  if (/logical replication slot .* exists, but .?wal_level/.test(output)) {
    return new EmbeddedServerError(
      `The database in ${folder.database} is one of several that belong together. Set CELLS to their number, as when they were made.`,
    );
  }
  if (/No space left on device|Disk quota exceeded/.test(output) || isDiskFull(folder.dataDir)) {
    return diskFull(folder.dataDir);
  }
  if (/not ready after|pre-existing shared memory block|still in use/.test(output)) {
    return new EmbeddedServerError(
      `PostgreSQL is still recovering, or another server ends, with the database in ${folder.database}. Start again in a ` +
        `minute, and do not move it. The end of its log ${folder.log}:\n${output.trim().split('\n').slice(-8).join('\n')}`,
    );
  }
  const unreadable = firstOfAnother(folder);
  if (unreadable !== undefined) {
    return new EmbeddedServerError(
      `PostgreSQL does not start, because ${unreadable} belongs to another user than the server runs as. The database may be whole: ` +
        `give it back (chown -R ${folder.user?.name ?? '"$(id -un)"'} ${folder.database}), and start again.`,
    );
  }
  return new EmbeddedServerError(
    `PostgreSQL does not start with the database in ${folder.database}. Put a backup in its place, or move it away ` +
      `to begin with an empty database. The end of its log ${folder.log}:\n` +
      output.trim().split('\n').slice(-8).join('\n'),
  );
}

/** The first file of the database that belongs to another user than the server's, as after a copy by root. */
function firstOfAnother({ database, user }: DataFolder): string | undefined {
  const owner = user?.uid ?? process.geteuid?.();
  if (owner === undefined) return undefined;
  const paths = [database, ...readdirSync(database, { recursive: true }).map((name) => join(database, String(name)))];
  return paths.find((path) => (lstatSync(path, { throwIfNoEntry: false })?.uid ?? owner) !== owner);
}

/** The log belongs to the server's user, who may not make files in root's folder. */
function makeLog({ log, user }: DataFolder): void {
  closeSync(openLog(log, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT));
  giveTo(user, log);
}

/** Follows no link, by which the server's user could have root write or show another file. */
function openLog(log: string, flags: number): number {
  try {
    return openSync(log, flags | constants.O_NOFOLLOW, 0o600);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ELOOP' && code !== 'EISDIR') throw error;
    throw new EmbeddedServerError(`${log} is no file. Remove it, and start again.`, { cause: error });
  }
}

/** The end of what the server has logged since a start. */
export function readLog({ log }: DataFolder, from: number): string {
  const descriptor = openLog(log, constants.O_RDONLY);
  try {
    const length = fstatSync(descriptor).size - from;
    const buffer = Buffer.alloc(Math.min(Math.max(length, 0), 20_000));
    const read = readSync(descriptor, buffer, 0, buffer.length, from + Math.max(length, 0) - buffer.length);
    return buffer.toString('utf8', 0, read).trim();
  } finally {
    closeSync(descriptor);
  }
}

/** unix_socket_directories is a list: commas and spaces in a path need quotes. */
const quoteInList = (path: string) => `"${path.replaceAll('"', '""')}"`;

/** pg_ctl gives the options to a shell. */
const quoteForShell = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;
