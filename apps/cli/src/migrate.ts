import { explainFailure, migrateDeployment, missingMigrations, needsOwnConnection } from '@banking/deployment';
import { ensureEmbeddedLogins } from '@banking/postgres';
import { connectionTo, type DeploymentConfig } from '@banking/process';
import type { Command } from 'commander';
import { readConfig } from './config.js';
import { orInterrupted, untilSignal } from './deployment.js';
import { examples } from './help.js';
import { jsonOption } from './inputs.js';
import { print, printJson, reportProgress } from './print.js';
import { reachDatabase } from './reach-database.js';

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary('migrate the schema of the database')
    .description(
      'Migrates the schema of the database to this version, with the login of DATABASE_OWNER_URL if it is set.\n\n' +
        'The service migrates when it starts. If its own login may not migrate, run this command first.',
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking migrate',
        'DATABASE_URL=postgres://banking@db/banking DATABASE_OWNER_URL=postgres://owner@db/banking banking migrate --json',
      ),
    )
    .action(async ({ json }: { json?: boolean }) => {
      const applied = await migrateDatabase(readConfig().deployment);
      if (json) return printJson({ applied });
      if (applied.length === 0) return print('The schema is up to date.');
      print(`Applied ${applied.length === 1 ? 'one migration' : `${applied.length} migrations`}:`);
      for (const name of applied) print(`  ${name}`);
    });
}

/** @returns the names of the migrations applied. Needs no right to migrate if none is missing. */
async function migrateDatabase(config: DeploymentConfig): Promise<readonly string[]> {
  return untilSignal(async (signal) => {
    const reached = await reachDatabase(config);
    const owner = config.ownerUrl;
    if (config.isPooled && owner === undefined) throw needsOwnConnection('Migrations hold a lock of their session.');
    const connection = owner === undefined ? reached.connection : connectionTo(owner);
    const { isSandbox, isSandboxStated } = config;
    const schema = { connection, isSandbox, isSandboxStated, log: reportProgress };
    try {
      return await orInterrupted(signal, async () => {
        const missing = await missingMigrations(schema);
        const applied = missing.length === 0 ? [] : await migrateDeployment(schema);
        if (config.databaseUrl === undefined) await ensureEmbeddedLogins(connection);
        return applied;
      });
    } catch (error) {
      throw explainFailure(error, owner ?? config.databaseUrl);
    } finally {
      await reached.detach();
    }
  });
}
