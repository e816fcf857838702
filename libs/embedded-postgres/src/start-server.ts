import { spawn } from 'node:child_process';
import { closeSync, constants, fstatSync, lstatSync, openSync, readSync, renameSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { SERVER_ENV, type Binaries } from './binaries.js';
import type { DataFolder } from './data-folder.js';
import { diskFull, EmbeddedServerError, isDiskFull } from './embedded-server-error.js';
import { identityOf, type ProcessIdentity } from './process-identity.js';
import {
  type ServerStatus,
  readServerStatus,
  clearRemains,
  connectionOf,
  endServer,
  recordServer,
  stopServer,
} from './running-server.js';
import { asUser, giveTo } from './server-user.js';

const LOG_BYTES_MAX = 4_000_000;
/** Backends of a killed server keep its shared memory until they end. */
const REMAINS_WAIT_MS = 5_000;
/** Recovery after a crash replays at most a checkpoint's worth. */
const START_WAIT_MS = 120_000;

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

interface StartOptions {
  readonly log: (line: string) => void;
  /** Whether its log of changes is complete enough for logical replication, which costs a few more bytes a row. */
  readonly isReplicated: boolean;
}

/**
 * Under the lock, when no server runs: starts one and waits until it takes connections.
 *
 * @throws EmbeddedServerError when it does not: a full disk, a damaged database, or one that recovers for too long.
 */
export async function startServer(
  folder: DataFolder,
  socketFolder: string,
  binaries: Binaries,
  options: StartOptions,
): Promise<ProcessIdentity> {
  rotateLog(folder.log);
  const until = Date.now() + REMAINS_WAIT_MS;
  for (;;) {
    clearRemains(folder, socketFolder);
    const attempt = await tryStart(folder, socketFolder, binaries, options);
    if (typeof attempt !== 'string') return attempt;
    const remains = /pre-existing shared memory block|already exists|still in use|might still be running/.test(attempt);
    if (!remains || Date.now() > until) throw startFailure(folder, attempt);
    await sleep(100);
  }
}

/** The running server, or the end of its log where it did not start. */
async function tryStart(
  folder: DataFolder,
  socketFolder: string,
  binaries: Binaries,
  { log, isReplicated }: StartOptions,
): Promise<ProcessIdentity | string> {
  const settings = Object.entries({
    ...SETTINGS,
    // Each copy has a worker that follows, and two more while its tables are copied. A copy that finds none waits for five seconds.
    ...(isReplicated && { wal_level: 'logical', max_logical_replication_workers: '12', max_worker_processes: '20' }),
    unix_socket_directories: quoteInList(socketFolder),
  });
  const args = settings.flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const logDescriptor = openLog(folder);
  const logged = fstatSync(logDescriptor).size;
  const ended: { by?: string } = {};
  const connection = connectionOf(socketFolder);
  let server: ProcessIdentity | undefined;
  try {
    const child = spawn(binaries.postgres, ['-D', folder.database, '-p', String(connection.port), ...args], {
      ...asUser(folder.user),
      cwd: folder.database,
      env: SERVER_ENV,
      detached: true, // a session of its own, which Ctrl-C does not reach
      stdio: ['ignore', logDescriptor, logDescriptor],
    });
    child.once('error', (error) => (ended.by = error.message));
    child.once('exit', (code, signal) => (ended.by = `postgres ended with ${code ?? signal}`));
    child.unref();
    server = child.pid === undefined ? undefined : identityOf(child.pid);
    if (server !== undefined) recordServer(folder.run, server);
  } finally {
    closeSync(logDescriptor);
  }

  const since = Date.now();
  let loggedAtMs = since;
  for (;;) {
    const status = await readServerStatus(connection);
    if (status === 'ready' && server !== undefined) return server;
    const isLost = status === 'broken' || status === 'refused' || isCrashing(status, folder.log, logged);
    if (isLost && server !== undefined) {
      const output = readLog(folder.log, logged);
      await endServer(server);
      return output;
    }
    if (ended.by !== undefined) return readLog(folder.log, logged) || ended.by;
    if (Date.now() - loggedAtMs > 10_000) {
      loggedAtMs = Date.now();
      log('the database server is still starting, most likely recovering from a crash');
    }
    if (Date.now() - since > START_WAIT_MS) {
      if (server !== undefined) await stopServer(server, log);
      return `${readLog(folder.log, logged)}\nnot ready after ${START_WAIT_MS / 1000} seconds`;
    }
    await sleep(Math.min(10 + (Date.now() - since) / 10, 250)); // each attempt to connect leaves a line in the log
  }
}

/** Restarts of a server whose own processes cannot read the database, before it counts as broken. */
const CRASHES_MAX = 3;

/** Whether the server crashes and recovers again and again, so that it never becomes ready. */
function isCrashing(status: ServerStatus, log: string, from: number): boolean {
  if (status !== 'busy') return false;
  return readLog(log, from).split('all server processes terminated; reinitializing').length > CRASHES_MAX;
}

function startFailure(folder: DataFolder, output: string): EmbeddedServerError {
  if (/logical replication slot .* exists, but .?wal_level/.test(output)) {
    return new EmbeddedServerError(
      `The database in ${folder.database} is one of several that belong together. Set CELLS to their number, as when they were made.`,
    );
  }
  if (/No space left on device|Disk quota exceeded/.test(output) || isDiskFull(folder.dataDir))
    return diskFull(folder.dataDir);
  return new EmbeddedServerError(
    `PostgreSQL does not start with the database in ${folder.database}. Put a backup in its place, or move it away ` +
      `to begin with an empty database. The end of its log ${folder.log}:\n` +
      output.trim().split('\n').slice(-8).join('\n'),
  );
}

function openLog(folder: DataFolder): number {
  const { O_WRONLY, O_APPEND, O_CREAT, O_NOFOLLOW } = constants;
  const descriptor = openSync(folder.log, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  giveTo(folder.user, folder.log);
  return descriptor;
}

function rotateLog(path: string): void {
  const size = lstatSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (size > LOG_BYTES_MAX) renameSync(path, `${path}.1`);
}

function readLog(path: string, from: number): string {
  const descriptor = openSync(path, 'r');
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
function quoteInList(path: string): string {
  return `"${path.replaceAll('"', '""')}"`;
}
