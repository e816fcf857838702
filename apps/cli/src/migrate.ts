import {
  explainFailure,
  migrateDeployment,
  missingMigrations,
  needsOwnConnection,
  planDeployment,
  type SchemaSettings,
} from '@banking/deployment';
import { ensureEmbeddedLogins } from '@banking/postgres';
import { connectionTo, type DeploymentConfig } from '@banking/process';
import { Option, type Command } from 'commander';
import { readConfig } from './config.js';
import { orInterrupted, untilSignal } from './deployment.js';
import { examples } from './help.js';
import { jsonOption } from './inputs.js';
import { migrateAll } from './migrate-cells.js';
import { printApplied, printPlan } from './migration-plan.js';
import { printJson, reportProgress } from './print.js';
import { reachDatabase } from './reach-database.js';

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
      'Migrates the schema of the database to this version, with the login of DATABASE_OWNER_URL if it is set.\n\n' +
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
