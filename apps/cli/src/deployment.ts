import { constants } from 'node:os';
import {
  type Deployment,
  type DeploymentSettings,
  describeLeftServers,
  ensureEmbeddedCells,
  explainFailure,
  openDeployment,
  settingsOf,
} from '@banking/deployment';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { makeDemoData } from '@banking/operations/demo';
import type { ConnectionOptions, Database } from '@banking/postgres';
import { connectionTo, type DeploymentConfig, HOME_CELL } from '@banking/process';
import { type Config, readConfig } from './config.js';
import { osUserName } from './inputs.js';
import { Refused, reportProgress } from './print.js';

/** A connection to the database, which may lack the schema. */
export interface ReachedDatabase {
  /** As the login of DATABASE_URL, or as the superuser of the embedded server. */
  readonly connection: ConnectionOptions;
  /** Detaches from the embedded server, and stops it when no other process uses it. */
  detach(): Promise<void>;
}

/** @throws EmbeddedServerError */
export async function reachDatabase({
  databaseUrl,
  dataDir,
  cells,
}: Pick<DeploymentConfig, 'databaseUrl' | 'dataDir' | 'cells'>): Promise<ReachedDatabase> {
  if (databaseUrl !== undefined) return { connection: connectionTo(databaseUrl), detach: async () => undefined };
  return attachEmbeddedServer({ dataDir, isReplicated: cells !== undefined, log: reportProgress });
}

/** The same, as the login that may migrate. */
export async function reachAsOwner(
  config: Pick<DeploymentConfig, 'databaseUrl' | 'ownerUrl' | 'dataDir' | 'cells'>,
): Promise<ReachedDatabase> {
  const reached = await reachDatabase(config);
  return config.ownerUrl === undefined ? reached : { ...reached, connection: connectionTo(config.ownerUrl) };
}

/** A command runs one query at a time, or two at once while the demo data is made. */
const POOL_SIZE = 3;
/** Limits a snapshot. A range of the books takes about a second. */
const READING_TIMEOUT_MS = 60_000;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** A signal stopped the command. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted';
  /** 128 and the number of the signal, as a shell reports it. */
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super(`Stopped by ${signal}.`);
    this.exitCode = 128 + constants.signals[signal];
  }
}

interface DeploymentUse {
  /** The command only reads. A database without the current schema is refused, not migrated. */
  readonly changesNothing?: boolean;
  /** The command reads whole workspaces: current statistics of the planner, and a minute for a statement. */
  readonly readsBooks?: boolean;
  /** The cell that the command works on. Default: that of CELL, else home. */
  readonly cell?: string;
}

/**
 * Opens the deployment that the environment describes, runs one command on it, and closes it. A service may run on it meanwhile.
 *
 * @throws ConfigError, Interrupted after a signal, and the errors of `openDeployment` and of the work
 */
export async function withDeployment<T>(
  work: (deployment: Deployment, config: Config) => Promise<T>,
  use: DeploymentUse = {},
): Promise<T> {
  const config = readConfig();
  const { databaseUrl, demo, isPooled, cells } = config.deployment;
  // The login of a pooler has the limit of a service for a statement.
  if (isPooled && use.readsBooks === true) {
    throw new Refused(
      'This command reads whole workspaces, with a minute for a statement. That needs a connection without a pooler. Set DATABASE_URL ' +
        'to the address of the PostgreSQL server itself, and DATABASE_POOLER=none.',
    );
  }
  const cellName = use.cell ?? config.cell ?? HOME_CELL;
  // The service and `banking migrate` update a database with a URL. A command adds the demo data only.
  const prepare = use.changesNothing !== true && (databaseUrl === undefined || demo);
  return untilSignal(async (signal) => {
    const deployment = await openCell(cellName, {
      ...config.deployment,
      poolSize: POOL_SIZE,
      operatingSystemUser: osUserName(),
      ...(use.readsBooks === true && { statementTimeoutMs: READING_TIMEOUT_MS }),
      prepare,
      signal,
      mayReadElsewhere: use.changesNothing === true,
      // Also without a terminal, because DATA_DIR may be mistyped.
      onNew: (line) => console.error(line),
      log: reportProgress,
      warn: reportProgress,
    });
    try {
      // With several databases the service makes the demo data, because it has all of them open.
      const makesDemo = prepare && demo && config.deployment.cells === undefined;
      if (makesDemo && (await makeDemoData({ ...deployment, signal }))) reportProgress('created the demo data');
      if (use.readsBooks === true) await deployment.refreshStatistics();
      return await orInterrupted(signal, () => work(deployment, config));
    } catch (error) {
      const cell = cells && cellName;
      const url =
        cell === HOME_CELL ? databaseUrl : (cells?.find(({ name }) => name === cell)?.databaseUrl ?? databaseUrl);
      throw explainFailure(error, { url, cell });
    } finally {
      await deployment.close();
    }
  });
}

async function openCell(name: string, settings: DeploymentSettings): Promise<Deployment> {
  const { cells, prepare } = settings;
  if (cells === undefined) return openDeployment(settings);
  const leave = prepare === true ? await ensureEmbeddedCells({ ...settings, cells }) : undefined;
  try {
    const cell = cells.find((one) => one.name === name);
    return await openDeployment(cell === undefined ? settings : settingsOf(settings, cell));
  } finally {
    await leave?.();
  }
}

/**
 * Runs a command that changes or lists apps, users, workspaces and roles, as the provisioning role.
 *
 * @throws DatabaseSetupError if the login may not act as that role, and the errors of `withDeployment`
 */
export async function withDirectory<T>(work: (directory: Database) => Promise<T>): Promise<T> {
  return withDeployment(
    async (deployment) => {
      const directory = await deployment.openProvisioning();
      return work(directory).finally(() => directory.end());
    },
    { cell: HOME_CELL },
  );
}

/** Runs work that cleans up after itself. The first signal aborts the AbortSignal; a second one ends the process at once. */
export async function untilSignal<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const stop = (signal: NodeJS.Signals) => {
    const interrupted = new Interrupted(signal);
    if (controller.signal.aborted) {
      for (const sentence of describeLeftServers()) console.error(sentence);
      process.exit(interrupted.exitCode);
    }
    reportProgress(`Stopping. Send ${signal} again to stop at once.`);
    controller.abort(interrupted);
  };
  for (const signal of SIGNALS) process.on(signal, stop);
  try {
    return await work(controller.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

/** The result of the work. Rejects as soon as the signal is aborted, without waiting for the work. */
export async function orInterrupted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  return Promise.race([
    work(),
    new Promise<never>((_, fail) => {
      signal.addEventListener('abort', () => fail(signal.reason as Error), { once: true });
    }),
  ]);
}
