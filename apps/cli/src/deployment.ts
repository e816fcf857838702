import { constants } from 'node:os';
import { explainAway, openDeployment, type Deployment } from '@banking/operations';
import type { Database } from '@banking/postgres';
import { type Config, readConfig } from './config.js';
import { tell } from './print.js';

/** A command runs one statement at a time, or two beside each other while the demo world is made. */
const POOL_SIZE = 3;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The command was told to stop. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  /** What a shell reports for a program that this signal ended. */
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super(`Stopped by ${signal}.`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

/** What a command asks of the deployment beside its database. */
interface Need {
  /** It only looks: a database that is not up to date is refused, not mended. */
  readonly changesNothing?: boolean;
  readonly statementTimeoutMs?: number;
}

/**
 * Opens the deployment of the environment for one command, beside a running service or alone, and always closes it.
 *
 * @throws ConfigError, whatever `openDeployment` and the work throw, and Interrupted after a signal
 */
export async function withDeployment<T>(
  work: (deployment: Deployment, config: Config) => Promise<T>,
  need: Need = {},
): Promise<T> {
  const config = readConfig();
  const { databaseUrl, demo } = config.deployment;
  return untilSignal(async (signal) => {
    const deployment = await openDeployment({
      ...config.deployment,
      poolSize: POOL_SIZE,
      statementTimeoutMs: need.statementTimeoutMs,
      // A database of one's own is brought up to date by the service and by `banking migrate`, not by the way.
      prepare: need.changesNothing !== true && (databaseUrl === undefined || demo),
      log: tell,
      warn: tell,
    });
    try {
      return await orInterrupted(signal, () => work(deployment, config));
    } catch (error) {
      throw explainAway(error, databaseUrl);
    } finally {
      await deployment.close();
    }
  });
}

/**
 * The same for a command that changes or lists apps, users, workspaces and roles: it works as the provisioning role.
 *
 * @throws as `withDeployment` does, and DatabaseSetupError when the login may not act as that role
 */
export async function withDirectory<T>(work: (directory: Database) => Promise<T>): Promise<T> {
  return withDeployment(async (deployment) => {
    const directory = await deployment.openProvisioning();
    return work(directory).finally(() => directory.end());
  });
}

/**
 * Runs what must tidy up after itself: the first signal asks it to end, by way of the AbortSignal; a second one ends
 * the process on the spot.
 */
export async function untilSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals) => {
    const interrupted = new Interrupted(signal);
    if (controller.signal.aborted) process.exit(interrupted.exitCode);
    tell(`Stopping. ${signal} once more stops at once.`);
    controller.abort(interrupted);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

/** The outcome of the work, or its end as soon as the signal comes; what it was doing is no longer waited for. */
export async function orInterrupted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  return Promise.race([
    work(),
    new Promise<never>((_, fail) => {
      signal.addEventListener('abort', () => fail(signal.reason as Error), { once: true });
    }),
  ]);
}
