import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPackage, provideBinaries } from './binaries.js';
import { openDataFolder, openRunFolder, openSocketFolder, systemFolders, type DataFolder } from './data-folder.js';
import { EmbeddedServerError, explainFileError } from './embedded-server-error.js';
import { addHolder, removeHolder, sweepHolders } from './holders.js';
import { underLock } from './lock.js';
import { ensureCluster } from './make-cluster.js';
import type { ProcessIdentity } from './process-identity.js';
import {
  answeringServer,
  askServer,
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
  /** Made when missing; whatever the server needs to keep is in it, or found through it. */
  readonly dataDir: string;
  /** Gets the few lines an operator should see; silent when absent. */
  readonly log?: (line: string) => void;
}

export interface EmbeddedServer {
  /** How to connect as the superuser `postgres`, over the Unix socket. The same for all who join, and after a restart. */
  readonly connection: Connection;
  /** False when a server was running already: another process's, or one a killed process left behind. */
  readonly started: boolean;
  /** Leaves the server, and stops it when nobody else uses it any more. Calling twice is calling once. */
  leave(): Promise<void>;
}

/** The server as it was found or started; `process` is undefined when it answers but cannot be seen (another container's). */
interface Running {
  readonly connection: Connection;
  readonly started: boolean;
  readonly process: ProcessIdentity | undefined;
}

/** How long a server that says it is starting, recovering or stopping is waited for. */
const BUSY_WAIT_MS = 120_000;
/** How long a living server that says nothing is waited for: one that works answers sooner, whatever it does. */
const SILENT_WAIT_MS = 30_000;
/** How long a process that may be a server, without proof, is given to answer. */
const UNPROVEN_WAIT_MS = 3_000;

/**
 * Gives this process a PostgreSQL server under `dataDir`: starts one, or joins the one that runs.
 *
 * Any number of processes may join the same folder; the last to leave stops the server. A process that
 * dies without leaving counts no more, and the server it leaves behind is joined by the next. Should
 * the server die while we are joined, it is started again.
 *
 * @throws EmbeddedServerError when there cannot be a server, in a sentence that says what to do.
 */
export async function joinEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { dataDir: wanted, log = () => undefined } = options;
  const rethrowExplained = (error: unknown): never => {
    throw explainFileError(error, wanted);
  };
  try {
    const found = findPackage();
    const { dataDir, run } = openRunFolder(wanted);

    const ensure = async (): Promise<Running> => ensureServer(openDataFolder(dataDir, run, log), found, log);
    const [holder, running] = await underLock(run, { log }, async () => {
      const mine = addHolder(run);
      try {
        sweepHolders(run);
        return [mine, await ensure()] as const;
      } catch (error) {
        removeHolder(mine);
        throw error;
      }
    });

    const restart = () => underLock(run, { log }, async () => (await ensure()).process);
    const watch = watchServer(running.process, log, () => restart().catch(rethrowExplained));
    const leave = async () => {
      await watch.stop();
      const last = watch.current();
      if (!existsSync(run)) return last && stopServer(last, log); // DATA_DIR was removed under us: nobody can join or hold it
      await underLock(run, { log }, async () => {
        removeHolder(holder);
        const server = sweepHolders(run) === 0 ? knownServer(run) : undefined;
        if (server !== undefined) await stopServer(server, log);
      }).catch(rethrowExplained);
    };
    let left: Promise<void> | undefined;
    return { connection: running.connection, started: running.started, leave: () => (left ??= leave()) };
  } catch (error) {
    return rethrowExplained(error);
  }
}

/** Under the lock. */
async function ensureServer(
  folder: DataFolder,
  found: ReturnType<typeof findPackage>,
  log: (line: string) => void,
): Promise<Running> {
  const socketFolder = openSocketFolder(folder);
  const connection = connectionOf(socketFolder);
  if (await answersInTime(folder, connection)) {
    const process = answeringServer(folder);
    if (process !== undefined) recordServer(folder.run, process);
    return { connection, started: false, process };
  }
  refuseSharedUser(folder.user);
  const places = [...systemFolders(folder.user), folder.home];
  const binaries = provideBinaries(found, places, folder.user, log);
  await ensureCluster(folder, binaries);
  return { connection, started: true, process: await startServer(folder, socketFolder, binaries, log) };
}

/** Whether a server is there to be joined: false when there is none, or once it has stopped. */
async function answersInTime(folder: DataFolder, connection: Connection): Promise<boolean> {
  const since = Date.now();
  for (;;) {
    const answer = await askServer(connection);
    if (answer === 'ready') return true;
    const known = knownServer(folder.run);
    let waitMs = mayBeStarting(folder) ? UNPROVEN_WAIT_MS : 0;
    if (known !== undefined) waitMs = SILENT_WAIT_MS;
    if (answer === 'busy') waitMs = BUSY_WAIT_MS;
    if (answer === 'broken') {
      throw new EmbeddedServerError(
        `The database server of ${folder.database} runs but cannot read its files: look into ${folder.log}, stop whoever ` +
          'uses it, put a backup in its place, and start again.',
      );
    }
    if (answer === 'refused') {
      throw new EmbeddedServerError(
        `The database server of ${folder.database} does not accept this user: run as the user that started it or as root, ` +
          'or stop what uses it and start again.',
      );
    }
    if (Date.now() - since >= waitMs) {
      if (known === undefined && answer === 'silent') return false;
      throw new EmbeddedServerError(
        `The database server (process ${known?.pid ?? answeringServer(folder)?.pid ?? 'unknown'}) runs but has not become ` +
          `ready in ${waitMs / 1000} seconds: look into ${folder.log}, stop that process (kill -INT), and start again.`,
      );
    }
    await sleep(20);
  }
}
