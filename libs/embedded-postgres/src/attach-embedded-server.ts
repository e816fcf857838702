import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPackage, provideBinaries } from './binaries.js';
import { openDataFolder, openRunFolder, openSocketFolder, type DataFolder } from './data-folder.js';
import { EmbeddedServerError, explainFileError } from './embedded-server-error.js';
import { addAttachedProcess, countAttachedProcesses, removeAttachedProcess } from './attached-processes.js';
import { underLock } from './run-lock.js';
import { ensureCluster } from './make-cluster.js';
import type { ProcessIdentity } from './process-identity.js';
import {
  answeringServer,
  readServerStatus,
  connectionOf,
  knownServer,
  mayBeStarting,
  recordServer,
  stopServer,
  type Connection,
} from './running-server.js';
import { refuseSharedUser } from './server-user.js';
import { startServer } from './start-server.js';
import { watchServer } from './watch-server.js';

export interface EmbeddedServerOptions {
  /** Made when missing. All files of the server are in it. */
  readonly dataDir: string;
  /** Receives the messages for an operator. */
  readonly log?: (line: string) => void;
  /** Whether a server that is started here can be the source of logical replication. Default false. */
  readonly isReplicated?: boolean;
}

export interface EmbeddedServer {
  /** Connects as the superuser `postgres`, over the Unix socket. The same for every process, and after a restart. */
  readonly connection: Connection;
  /** False when a server was running already: that of another process, or one left by a process that was killed. */
  readonly started: boolean;
  /** Whether the database was created here. */
  readonly isNew: boolean;
  /** Stops using the server, and stops it when no other process uses it. May be called again. */
  detach(): Promise<void>;
}

/** The running server. `process` is undefined when it answers but is not visible, such as in another container. */
interface Running {
  readonly connection: Connection;
  readonly started: boolean;
  readonly isNew: boolean;
  readonly process: ProcessIdentity | undefined;
}

/** The wait for a server that reports that it is starting, recovering or stopping. */
const BUSY_WAIT_MS = 120_000;
/** The wait for a living server that does not answer. A working server answers sooner. */
const SILENT_WAIT_MS = 30_000;
/** The wait for a process that may be a server, without proof. */
const UNPROVEN_WAIT_MS = 3_000;

/**
 * Attaches this process to the PostgreSQL server under `dataDir`, and starts the server if it does not run.
 *
 * Any number of processes may attach to the same folder; the last one to detach stops the server. A process that dies no longer counts,
 * and the next process attaches to the server that it left. A server that dies while processes use it is started again.
 *
 * @throws EmbeddedServerError when the server cannot run; the message states what to do.
 */
export async function attachEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { dataDir: wanted, log = () => undefined, isReplicated = false } = options;
  const rethrowExplained = (error: unknown): never => {
    throw explainFileError(error, wanted);
  };
  try {
    const found = findPackage();
    const { dataDir, run } = openRunFolder(wanted);

    const ensure = async (): Promise<Running> => ensureServer(openDataFolder(dataDir, run), found, log, isReplicated);
    const [attached, running] = await underLock(run, { log }, async () => {
      const mine = addAttachedProcess(run);
      try {
        countAttachedProcesses(run);
        return [mine, await ensure()] as const;
      } catch (error) {
        removeAttachedProcess(mine);
        throw error;
      }
    });

    const restart = () => underLock(run, { log }, async () => (await ensure()).process);
    const watch = watchServer(running.process, log, () => restart().catch(rethrowExplained));
    const detach = async () => {
      await watch.stop();
      const last = watch.current();
      if (!existsSync(run)) return last && stopServer(last, log); // DATA_DIR was removed meanwhile, so no other process can use the server.
      await underLock(run, { log }, async () => {
        removeAttachedProcess(attached);
        const server = countAttachedProcesses(run) === 0 ? knownServer(run) : undefined;
        if (server !== undefined) await stopServer(server, log);
      }).catch(rethrowExplained);
    };
    let detached: Promise<void> | undefined;
    const { connection, started, isNew } = running;
    return { connection, started, isNew, detach: () => (detached ??= detach()) };
  } catch (error) {
    return rethrowExplained(error);
  }
}

/** Under the lock. */
async function ensureServer(
  folder: DataFolder,
  found: ReturnType<typeof findPackage>,
  log: (line: string) => void,
  isReplicated: boolean,
): Promise<Running> {
  const socketFolder = openSocketFolder(folder);
  const connection = connectionOf(socketFolder);
  if (await answersInTime(folder, connection)) {
    const process = answeringServer(folder);
    if (process !== undefined) recordServer(folder.run, process);
    return { connection, started: false, isNew: false, process };
  }
  refuseSharedUser(folder.user);
  const binaries = provideBinaries(found, folder.dataDir, folder.user, log);
  const isNew = await ensureCluster(folder, binaries);
  return {
    connection,
    started: true,
    isNew,
    process: await startServer(folder, socketFolder, binaries, { log, isReplicated }),
  };
}

/** Whether a server runs and accepts connections: false when there is none, or once it has stopped. */
async function answersInTime(folder: DataFolder, connection: Connection): Promise<boolean> {
  const since = Date.now();
  for (;;) {
    const status = await readServerStatus(connection);
    if (status === 'ready') return true;
    const known = knownServer(folder.run);
    let waitMs = mayBeStarting(folder) ? UNPROVEN_WAIT_MS : 0;
    if (known !== undefined) waitMs = SILENT_WAIT_MS;
    if (status === 'busy') waitMs = BUSY_WAIT_MS;
    if (status === 'broken') {
      throw new EmbeddedServerError(
        `The database server of ${folder.database} runs but cannot read its files: look into ${folder.log}, stop the ` +
          'processes that use it, put a backup in its place, and start again.',
      );
    }
    if (status === 'refused') {
      throw new EmbeddedServerError(
        `The database server of ${folder.database} does not accept this user: run as the user that started it or as root, ` +
          'or stop what uses it and start again.',
      );
    }
    if (Date.now() - since >= waitMs) {
      if (known === undefined && status === 'silent') return false;
      throw new EmbeddedServerError(
        `The database server (process ${known?.pid ?? answeringServer(folder)?.pid ?? 'unknown'}) runs but has not become ` +
          `ready in ${waitMs / 1000} seconds: look into ${folder.log}, stop that process (kill -INT), and start again.`,
      );
    }
    await sleep(20);
  }
}
