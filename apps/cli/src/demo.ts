import { readDemoIds } from '@banking/operations/demo';
import type { Command } from 'commander';
import { withDeployment } from './deployment.js';
import { examples, jsonOption } from './inputs.js';
import { printJson, printTable, Refused } from './print.js';

const SINGULAR: Readonly<Record<string, string>> = {
  apps: 'app',
  users: 'user',
  workspaces: 'workspace',
  accounts: 'account',
  recipients: 'recipient',
  transfers: 'transfer',
};

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .summary('print the ids of the demo data')
    .description(
      'Prints the ids of the demo data by name: apps, users, workspaces, accounts, recipients and transfers.\n\n' +
        'The embedded database gets the demo data when it is first opened. A PostgreSQL of your own gets it with DEMO_DATA=on.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('npm run -s demo', "npm run -s demo -- --json | jq '.transfers.internal'"))
    .action(async ({ json }: { json?: boolean }) => {
      const demo = await withDeployment(({ database }) => readDemoIds(database));
      if (!demo) {
        throw new Refused(
          'This deployment has no demo data. Set DEMO_DATA=on in a sandbox, and run this command again.',
        );
      }
      if (json) return printJson(demo);
      const rows = Object.entries(demo).flatMap(([kind, ids]) =>
        Object.entries(ids as Record<string, number>).map(([name, id]) => [SINGULAR[kind] ?? kind, name, id]),
      );
      printTable(['Kind', 'Name', 'Id'], rows, 'The demo data is empty.');
    });
}
