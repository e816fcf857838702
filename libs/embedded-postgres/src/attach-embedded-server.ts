import { setTimeout as sleep } from 'node:timers/promises';
import { findPackage, provideBinaries, type Binaries } from './binaries.js';
import { openDataFolder, type DataFolder } from './data-folder.js';
import { EmbeddedServerError, explainFileError } from './embedded-server-error.js';
import { ensureCluster } from './make-cluster.js';
import { isCrashing, isRunning, logSize, readLog, REPLICATED, serverPid, START_WAIT_S } from './server.js';
import { startFailure, startServer, stopServer } from './server.js';
import { refuseSharedUser } from './server-user.js';
import { AttachedSession, connectionOf, type Connection } from './session.js';

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

const PAUSE_AFTER_FAILURE_MS = 5_000;

/** The folders of the servers that this process starts or uses. */
const attachedFolders = new Set<DataFolder>();

/** The servers that go on if this process ends without detaching from them. */
export function attachedServers(): readonly { readonly dataDir: string; readonly pid: number }[] {
  return [...attachedFolders].flatMap((folder) => {
    const pid = isRunning(folder) ? serverPid(folder) : undefined;
    return pid === undefined ? [] : [{ dataDir: folder.dataDir, pid }];
  });
}

/**
 * Attaches this process to the PostgreSQL server under `dataDir`, and starts the server if it does not run.
 *
 * Any number of processes may attach to the same folder; the last one to detach stops the server. A process that dies no longer counts,
 * and the next process attaches to the server that it left. A server that dies while processes use it is started again.
 *
 * @throws EmbeddedServerError when the server cannot run; the message states what to do.
 */
export async function attachEmbeddedServer(options: EmbeddedServerOptions): Promise<EmbeddedServer> {
  const { dataDir, log = () => undefined, isReplicated = false } = options;
  const rethrowExplained = (error: unknown): never => {
    throw explainFileError(error, dataDir);
  };
  try {
    const found = findPackage();
    const folder = openDataFolder(dataDir);
    attachedFolders.add(folder);
    const connection = connectionOf(folder);
    let provided: Binaries | undefined;
    const binaries = () => (provided ??= provideBinaries(found, folder.dataDir, folder.user, log));
    const ensure = () => ensureServer({ folder, connection, binaries, isReplicated, log });

    const { session: first, started, isNew } = await ensure();
    let session = first;
    const detaching = new AbortController();
    let recovering: Promise<void> = Promise.resolve();
    const recover = async () => {
      while (!detaching.signal.aborted) {
        try {
          const next = await ensure();
          session = next.session;
          if (next.started) log(`the database server had ended while in use, and runs again`);
          return watch();
        } catch (error) {
          const { message } = explainFileError(error, dataDir) as Error;
          log(`the database server has ended while in use, and could not be started again: ${message}`);
          const pause = sleep(PAUSE_AFTER_FAILURE_MS, undefined, { ref: false, signal: detaching.signal });
          await pause.catch(() => undefined); // Ends early when this process detaches.
        }
      }
    };
    const watch = () => session.watch(() => void (recovering = recover()));
    watch();

    const detach = async () => {
      detaching.abort();
      await recovering;
      if (await session.leave()) await stopServer(folder, binaries(), log).catch(rethrowExplained);
      await session.close();
      attachedFolders.delete(folder);
    };
    let detached: Promise<void> | undefined;
    return { connection, started, isNew, detach: () => (detached ??= detach()) };
  } catch (error) {
    return rethrowExplained(error);
  }
}

interface Server {
  readonly folder: DataFolder;
  readonly connection: Connection;
  readonly binaries: () => Binaries;
  readonly isReplicated: boolean;
  readonly log: (line: string) => void;
}

/** Attaches to the server, and starts it when none runs. Several processes may do so at once: postmaster.pid lets one server start. */
async function ensureServer({ folder, connection, binaries, isReplicated, log }: Server) {
  const since = Date.now();
  let [started, isNew, logged] = [false, false, 0];
  for (;;) {
    const session = await AttachedSession.open(connection);
    if (typeof session === 'object') return { session, started, isNew };
    const isBroken = session === 'broken' || (session === 'busy' && started && isCrashing(folder, logged));
    if (isBroken && started) {
      const output = readLog(folder, logged);
      await stopServer(folder, binaries(), log, { isBroken });
      throw startFailure(folder, output);
    }
    if (isBroken) {
      throw new EmbeddedServerError(
        `The database server of ${folder.database} runs but cannot read its files: look into ${folder.log}, stop the ` +
          'processes that use it, put a backup in its place, and start again.',
      );
    }
    if (session === 'refused') {
      throw new EmbeddedServerError(
        `The database server of ${folder.database} does not accept this user: run as the user that started it or as root, ` +
          'or stop what uses it and start again.',
      );
    }
    if (session === 'silent' && !isRunning(folder)) {
      refuseSharedUser(folder.user);
      isNew = (await ensureCluster(folder, binaries())) || isNew;
      logged = logSize(folder);
      started = await startServer(folder, binaries(), isReplicated ? REPLICATED : {}, log);
    } else if (Date.now() - since > START_WAIT_S * 1000) {
      throw new EmbeddedServerError(
        `The database server (process ${serverPid(folder) ?? 'unknown'}) runs but has not become ready in ${START_WAIT_S} ` +
          `seconds: look into ${folder.log}, stop that process (kill -INT), or remove postmaster.pid if it is another program, and ` +
          'start again.',
      );
    } else await sleep(50);
  }
}
