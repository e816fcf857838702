import { explainAway, migrateDeployment, missingMigrations } from '@banking/operations';
import { ensureEmbeddedLogins } from '@banking/postgres';
import { connectionTo, type DeploymentConfig } from '@banking/process';
import type { Command } from 'commander';
import { readConfig } from './config.js';
import { orInterrupted, untilSignal } from './deployment.js';
import { examples } from './help.js';
import { jsonOption } from './inputs.js';
import { print, printJson, tell } from './print.js';
import { reachDatabase } from './reach-database.js';

export function addMigrateCommand(program: Command): void {
  program
    .command('migrate')
    .summary('bring the schema of the database up to date')
    .description(
      'Brings the schema of the database to this version, as the login of DATABASE_OWNER_URL where it is set.\n\n' +
        'The service does the same when it starts; run this before it where its own login may not migrate.',
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

/** The names of the migrations applied now. A login that may not migrate is welcome while there is nothing to do. */
async function migrateDatabase(config: DeploymentConfig): Promise<readonly string[]> {
  return untilSignal(async (signal) => {
    const reached = await reachDatabase(config);
    const owner = config.ownerUrl;
    const connection = owner === undefined ? reached.connection : connectionTo(owner);
    const { isSandbox, isSandboxStated } = config;
    const schema = { connection, isSandbox, isSandboxStated, log: tell };
    try {
      return await orInterrupted(signal, async () => {
        const missing = await missingMigrations(schema);
        const applied = missing.length === 0 ? [] : await migrateDeployment(schema);
        if (config.databaseUrl === undefined) await ensureEmbeddedLogins(connection);
        return applied;
      });
    } catch (error) {
      throw explainAway(error, owner ?? config.databaseUrl);
    } finally {
      await reached.leave();
    }
  });
}
