import type { MigrationPlan } from '@banking/postgres';
import { type CellConfig, connectionTo, HOME_CELL } from '@banking/process';
import { explainFailure } from '../explain-failure.js';
import { explainLogin } from '../explain-login.js';
import { needsOwnConnection } from '../needs-own-connection.js';
import { migrateDeployment, planDeployment, type SchemaSettings } from '../migrate-deployment.js';

/** The settings of a process of a deployment with several databases. */
interface CellsSchemas extends Omit<SchemaSettings, 'connection'> {
  readonly databaseUrl?: string | undefined;
  readonly ownerUrl?: string | undefined;
  readonly cells: readonly CellConfig[];
  readonly isPooled?: boolean | undefined;
  readonly prepare?: boolean | undefined;
}

/** One of several databases, with the login that may migrate it. */
export interface CellSchema extends SchemaSettings {
  readonly name: string;
  /** Of that login; undefined for an embedded database. */
  readonly url: string | undefined;
  /** Whether that login is not the one that serves. Default true. */
  readonly isOwnerUrl?: boolean | undefined;
}

/**
 * What a migration would do in each database, by the name of the cell. Changes nothing.
 *
 * @throws DeploymentError if one of them cannot be reached, and as `planDeployment` does
 */
export async function planCells(databases: readonly CellSchema[]): Promise<ReadonlyMap<string, MigrationPlan>> {
  const plans = new Map<string, MigrationPlan>();
  for (const database of databases) plans.set(database.name, await explained(database, planDeployment));
  return plans;
}

/**
 * Migrates the cells, then home. Each database is read before the first is changed, so that one that is away prevents every change. The
 * databases that an interrupted run has migrated are left as they are by the next one.
 *
 * @param databases home is the last, because it publishes to the others: a column is first where it is received
 * @returns the names of the migrations applied now, by the name of the cell
 * @throws as `planCells` and `migrateDeployment` do
 */
export async function migrateCells(databases: readonly CellSchema[]): Promise<ReadonlyMap<string, readonly string[]>> {
  const plans = await planCells(databases);
  const applied = new Map<string, readonly string[]>();
  for (const database of databases) {
    const { name, url, isOwnerUrl = true, log } = database;
    const pending = plans.get(name)!.pending.map((one) => one.name);
    if (pending.length > 0) log?.(`migrating the cell ${name}`);
    const isServing = url !== undefined && !isOwnerUrl;
    const migrating = async (schema: SchemaSettings) => {
      const work = migrateDeployment(schema);
      return isServing ? work.catch(explainLogin(pending, name)) : work;
    };
    applied.set(name, pending.length === 0 ? [] : await explained(database, migrating));
  }
  return applied;
}

async function explained<T>(database: CellSchema, work: (schema: SchemaSettings) => Promise<T>): Promise<T> {
  const { name, url, isOwnerUrl = true } = database;
  return work(database).catch((error: unknown) => {
    throw explainFailure(error, { url, cell: name }, isOwnerUrl);
  });
}

/**
 * Migrates the cells at the start of a process that is about to migrate home. Does nothing if home lacks no migration: a cell is then
 * migrated when it is opened, and may be away. Embedded databases are migrated when they are made cells.
 *
 * @throws as `migrateCells` does
 */
export async function migrateCellsFirst(settings: CellsSchemas): Promise<void> {
  const { databaseUrl, ownerUrl, cells, isPooled = false, prepare = true } = settings;
  if (!prepare || databaseUrl === undefined) return;
  const home = schemaOf(settings, { name: HOME_CELL, databaseUrl, ownerUrl });
  const { pending } = await explained(home, planDeployment);
  if (pending.length === 0) return;
  const pooled = cells.find((cell) => isPooled && cell.ownerUrl === undefined);
  if (pooled) throw needsOwnConnection(`Home lacks ${pending.map(({ name }) => name).join(', ')}.`, pooled.name);
  await migrateCells(cells.map((cell) => schemaOf(settings, cell)));
}

function schemaOf(
  { isSandbox, log }: Omit<SchemaSettings, 'connection'>,
  { name, databaseUrl, ownerUrl }: Pick<CellConfig, 'name' | 'databaseUrl' | 'ownerUrl'>,
): CellSchema {
  const url = ownerUrl ?? databaseUrl;
  if (url === undefined) throw new Error(`the cell ${name} has no URL`);
  return {
    name,
    url,
    isOwnerUrl: ownerUrl !== undefined,
    connection: connectionTo(url),
    isSandbox,
    log,
  };
}
