import { type Command, Option } from 'commander';
import {
  type CellSchema,
  explainFailure,
  migrateCells,
  migrateDeployment,
  missingMigrations,
  needsOwnConnection,
  planCells,
  planDeployment,
  prepareReferenceAt,
  RELEASE,
  type SchemaSettings,
} from '@banking/deployment';
import { describeProcesses, ensureEmbeddedLogins, type MigrationPlan, olderThan } from '@banking/postgres';
import { type CellConfig, connectionTo, type DeploymentConfig, HOME_CELL } from '@banking/process';
import { readConfig } from './config.js';
import { orInterrupted, reachAsOwner, reachDatabase, type ReachedDatabase, untilSignal } from './deployment.js';
import { examples, jsonOption } from './inputs.js';
import { print, printJson, printTable, reportProgress } from './print.js';

interface Options {
  readonly json?: boolean;
  readonly plan?: boolean;
  readonly ignoreOlderProcesses?: boolean;
}

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary('migrate the schema of the database')
    .description(
      'Migrates the schema of the database to this version, with the login of DATABASE_OWNER_URL if it is set, and applies the reference data ' +
        'of this version and of REFERENCE_FILE.\n\n' +
        'The service migrates when it starts. If its own login may not migrate, run this command first.\n\n' +
        'Of several databases, it migrates every cell and then home. If one of them cannot be reached, it changes none.\n\n' +
        'A migration of the phase "contract" is refused while processes are connected that it would break.',
    )
    .option('--plan', 'print the pending migrations and their phases, and change nothing')
    .addOption(
      new Option(
        '--ignore-older-processes',
        'apply contract migrations also while connections of older processes exist: only if the processes have ended',
      ).conflicts('plan'),
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking migrate',
        'banking migrate --plan',
        'DATABASE_URL=postgres://banking@db/banking DATABASE_OWNER_URL=postgres://owner@db/banking banking migrate --json',
      ),
    )
    .action(async ({ json, plan, ignoreOlderProcesses }: Options) => {
      const { deployment } = readConfig();
      const { cells } = deployment;
      if (cells !== undefined) {
        return migrateAll(
          { ...deployment, cells },
          { isPlan: plan === true, json, isIgnoringOlder: ignoreOlderProcesses },
        );
      }
      if (plan) return printPlan(await onDatabase(deployment, planDeployment), json);
      const applied = await onDatabase(deployment, (schema) =>
        migrateDatabase({ ...schema, isIgnoringOlder: ignoreOlderProcesses }, deployment),
      );
      if (json) return printJson({ applied });
      printApplied(applied);
    });
}

/** @returns the names of the migrations applied. Needs no right to migrate if none is missing. */
async function migrateDatabase(schema: SchemaSettings, config: DeploymentConfig): Promise<readonly string[]> {
  const missing = await missingMigrations(schema);
  const applied = missing.length === 0 ? [] : await migrateDeployment(schema);
  if (config.databaseUrl === undefined) await ensureEmbeddedLogins(schema.connection);
  await prepareReferenceAt(schema.connection, { ...schema, reference: config.reference });
  return applied;
}

/** Runs work with the login that may migrate. */
async function onDatabase<T>(config: DeploymentConfig, work: (schema: SchemaSettings) => Promise<T>): Promise<T> {
  return untilSignal(async (signal) => {
    const reached = await reachDatabase(config);
    const owner = config.ownerUrl;
    if (config.isPooled && owner === undefined) throw needsOwnConnection('Migrations hold a lock of their session.');
    const connection = owner === undefined ? reached.connection : connectionTo(owner);
    const { isSandbox } = config;
    try {
      return await orInterrupted(signal, () => work({ connection, isSandbox, log: reportProgress }));
    } catch (error) {
      throw explainFailure(error, { url: owner ?? config.databaseUrl }, owner !== undefined);
    } finally {
      await reached.detach();
    }
  });
}

interface CellsDeployment extends DeploymentConfig {
  readonly cells: readonly CellConfig[];
}

interface CellsOptions {
  readonly isPlan: boolean;
  readonly json: boolean | undefined;
  readonly isIgnoringOlder: boolean | undefined;
}

/** Migrates several databases, the cells first and then home, or prints the plan of each. */
async function migrateAll(config: CellsDeployment, { isPlan, json, isIgnoringOlder }: CellsOptions): Promise<void> {
  if (isPlan) return printEach(await onAll(config, planCells), json, planAsJson, printPlan);
  const applied = await onAll(config, async (databases) => {
    const result = await migrateCells(databases.map((database) => ({ ...database, isIgnoringOlder })));
    for (const database of databases) {
      const isNewCell = database.name !== HOME_CELL;
      await prepareReferenceAt(database.connection, {
        ...database,
        reference: config.reference,
        isCell: true,
        isNewCell,
      });
    }
    if (config.databaseUrl === undefined) {
      for (const { connection } of databases) await ensureEmbeddedLogins(connection);
    }
    return result;
  });
  printEach(applied, json, (names) => ({ applied: names }), printApplied);
}

/** Runs work with the logins that may migrate; home is the last. */
function onAll<T>(config: CellsDeployment, work: (databases: readonly CellSchema[]) => Promise<T>): Promise<T> {
  const { isSandbox } = config;
  const all = [...config.cells, { ...config, name: HOME_CELL }];
  const pooled = all.find(({ ownerUrl }) => config.isPooled && ownerUrl === undefined);
  if (pooled) throw needsOwnConnection('Migrations hold a lock of their session.', pooled.name);
  return untilSignal(async (signal) => {
    const reached: ReachedDatabase[] = [];
    try {
      const databases: CellSchema[] = [];
      for (const { name, databaseUrl, ownerUrl, dataDir } of all) {
        const database = await reachAsOwner({ databaseUrl, ownerUrl, dataDir, cells: config.cells });
        reached.push(database);
        const login = { url: ownerUrl ?? databaseUrl, isOwnerUrl: ownerUrl !== undefined };
        const mode = { isSandbox, log: reportProgress };
        databases.push({ name, ...login, connection: database.connection, ...mode });
      }
      return await orInterrupted(signal, () => work(databases));
    } finally {
      for (const database of reached.reverse()) await database.detach();
    }
  });
}

function printEach<T>(
  results: ReadonlyMap<string, T>,
  json: boolean | undefined,
  asJson: (result: T) => object,
  printOne: (result: T) => void,
): void {
  if (json) return printJson({ cells: Object.fromEntries([...results].map(([name, one]) => [name, asJson(one)])) });
  for (const [name, result] of results) {
    print(`Cell ${name}`);
    printOne(result);
    print('');
  }
}

type Pending = MigrationPlan['pending'][number];

/** Prints what a migration would do, and whether running processes may go on. */
export function printPlan(plan: MigrationPlan, asJson?: boolean): void {
  if (asJson) return printJson(planAsJson(plan));
  if (plan.pending.length === 0) return print(`Release ${RELEASE} lacks nothing in this database.`);
  const rows = plan.pending.map((one) => [one.name, phaseOf(one), effectOf(one, plan)]);
  printTable(['Migration', 'Phase', 'Running processes'], rows, '');
  if (plan.connected.length > 0) print(`\nConnected: ${describeProcesses(plan.connected)}.`);
}

function printApplied(applied: readonly string[]): void {
  if (applied.length === 0) return print('The schema is up to date.');
  print(`Applied ${applied.length === 1 ? 'one migration' : `${applied.length} migrations`}:`);
  for (const name of applied) print(`  ${name}`);
}

function planAsJson(plan: MigrationPlan): object {
  return {
    release: RELEASE,
    pending: plan.pending.map(({ name, phase }) => ({ name, phase: phase?.name ?? 'baseline', since: sinceOf(phase) })),
    connected: plan.connected,
  };
}

const sinceOf = (phase: Pending['phase']) => (phase?.name === 'contract' ? phase.since : undefined);

const phaseOf = ({ phase }: Pending): string => phase?.name ?? 'baseline';

function effectOf({ phase }: Pending, { isNew, connected }: MigrationPlan): string {
  if (isNew) return 'none: the database is new';
  if (phase === undefined) return 'stop every process first';
  if (phase.name === 'expand') return 'go on';
  const older = olderThan(connected, phase.since);
  if (older.length > 0) return `refused: stop ${describeProcesses(older)}`;
  return `go on from release ${phase.since}`;
}
