import { isAlive, type ProcessIdentity } from './process-identity.js';

/** A check reads a file on Linux and runs a program on other systems. */
const INTERVAL_MS = process.platform === 'linux' ? 1_000 : 3_000;
const PAUSE_AFTER_FAILURE_MS = 5_000;

export interface Watch {
  /** The process of the server at the last check. */
  current(): ProcessIdentity | undefined;
  /** Ends the checks; resolves when no restart is running. */
  stop(): Promise<void>;
}

/**
 * Checks once a second whether the server is alive, and restarts it when not. It never ends this process and never keeps it alive. A
 * restart that fails is logged and tried again.
 */
export function watchServer(
  first: ProcessIdentity | undefined,
  log: (line: string) => void,
  restart: () => Promise<ProcessIdentity | undefined>,
): Watch {
  let server = first;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;
  let restarting: Promise<void> = Promise.resolve();

  const checkAfter = (delayMs: number) => {
    if (!stopped) timer = setTimeout(check, delayMs).unref();
  };
  const check = () => {
    if (server === undefined || isAlive(server)) return checkAfter(INTERVAL_MS);
    restarting = startAgain(server).then(checkAfter);
  };
  const startAgain = async (dead: ProcessIdentity): Promise<number> => {
    log(`the database server (process ${dead.pid}) has ended while in use: starting it again`);
    try {
      server = await restart();
      log(`the database server runs again (process ${server?.pid ?? 'unknown'})`);
      return INTERVAL_MS;
    } catch (error) {
      log(`the database server could not be started again: ${(error as Error).message}`);
      return PAUSE_AFTER_FAILURE_MS;
    }
  };
  checkAfter(INTERVAL_MS);
  return {
    current: () => server,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await restarting;
    },
  };
}
