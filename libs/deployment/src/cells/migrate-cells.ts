import { type MigrationPlan, type AdminSession, SCHEMA } from '@banking/postgres';
import { type CellConfig, connectionTo, HOME_CELL } from '@banking/process';
import { explainFailure, explainLogin, DeploymentError } from '../explain-failure.js';
import { needsOwnConnection, migrateDeployment, planDeployment, type SchemaSettings } from '../migrate-deployment.js';
import { asOwner, asOwnerOf } from './act-as.js';
import type { MoveCells } from './move-record.js';

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
  { isSandbox, log, signal }: Omit<SchemaSettings, 'connection'>,
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
    signal,
  };
}

/** What rows of a workspace refer to and what the source has of it. The target must have it all. */
const NEEDED = `
  select 'the migration ' || name as what from ${SCHEMA}.schema_migration
  union all select 'the mode of the deployment ' || is_sandbox from ${SCHEMA}.deployment_mode
  union all select 'the currency ' || code || ' with the id ' || id || ' and ' || coalesce(decimals::text, 'no') || ' decimals' from ${SCHEMA}.currency
  union all select 'the product ' || id || ' in the currency ' || currency_id from ${SCHEMA}.product
  union all select 'the bank ' || id || coalesce(' with the BIC ' || swift_code, '') from ${SCHEMA}.bank
  union all select 'the corridor ' || id || ' to ' || destination_country || ' in the currency ' || destination_currency_id from ${SCHEMA}.corridor
  order by what`;

/** Who has a role in the workspace, which decides about the runs of its orders. */
const ROLES = `
  select coalesce(string_agg(row (r.user_id, r.role, u.status)::text, ' ' order by r.user_id, r.role), '') as roles
  from ${SCHEMA}.workspace_role r join ${SCHEMA}.app_user u on u.id = r.user_id where r.workspace_id = $1`;

/** @throws DeploymentError if the copy of the directory at the target is behind that at the source, or the other way round */
export async function requireEqualRoles(source: AdminSession, target: AdminSession, cells: MoveCells): Promise<void> {
  const [there, here] = await Promise.all(
    [source, target].map((session) =>
      asOwnerOf(session, cells.workspaceId, () => session.query<{ roles: string }>(ROLES, [cells.workspaceId])),
    ),
  );
  if (there![0]?.roles === here![0]?.roles) return;
  throw new DeploymentError(
    `The cells "${cells.source}" and "${cells.target}" differ in the roles of workspace ${cells.workspaceId}: a copy of the directory is ` +
      `behind. Run the command again when the copies follow; docs/observe.md has the alerts CopyBehind and CopyLost.`,
  );
}

/** @throws DeploymentError if the target lacks a migration, or reference data that rows of the source may name */
export async function requireEqualCells(source: AdminSession, target: AdminSession, cells: MoveCells): Promise<void> {
  const [there, here] = await Promise.all(
    [source, target].map((session) => asOwner(session, () => session.query<{ what: string }>(NEEDED))),
  );
  const known = new Set(here!.map(({ what }) => what));
  const missing = there!.find(({ what }) => !known.has(what));
  if (missing === undefined) return;
  throw new DeploymentError(
    `The cell "${cells.target}" lacks ${missing.what}, which "${cells.source}" has. Start the services of this release on both, or run ` +
      `banking cell add ${cells.target} again. Reference data of your own must be the same in all cells.`,
  );
}
