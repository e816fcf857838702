import { isAlive, type ProcessIdentity } from './process-identity.js';

/** Looking is a file read on Linux and a program elsewhere. */
const INTERVAL_MS = process.platform === 'linux' ? 1_000 : 3_000;
const PAUSE_AFTER_FAILURE_MS = 5_000;

export interface Watch {
  /** The server as last seen. */
  current(): ProcessIdentity | undefined;
  /** Ends the watching; resolves once no restart is under way. */
  stop(): Promise<void>;
}

/**
 * Looks once a second whether the server still lives, and has it started again when not. It never ends
 * the process it works for and never keeps it alive; when a restart fails, it says so and tries on.
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

  const lookAfter = (delayMs: number) => {
    if (!stopped) timer = setTimeout(look, delayMs).unref();
  };
  const look = () => {
    if (server === undefined || isAlive(server)) return lookAfter(INTERVAL_MS);
    restarting = startAgain(server).then(lookAfter);
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
  lookAfter(INTERVAL_MS);
  return {
    current: () => server,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await restarting;
    },
  };
}
