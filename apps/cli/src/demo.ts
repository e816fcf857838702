import { readDemoWorld } from '@banking/operations';
import type { Command } from 'commander';
import { withDeployment } from './deployment.js';
import { examples } from './help.js';
import { jsonOption } from './inputs.js';
import { printJson, printTable } from './print.js';
import { Refused } from './refused.js';

/** How the tables call one thing of each kind. */
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
    .summary('print the ids of the demo world')
    .description(
      'Prints the ids of the demo world by name: apps, users, workspaces, accounts, recipients and transfers.\n\n' +
        'The embedded database gets that world when it is first opened; a database of your own with DEMO_DATA=on.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('npm run -s demo', "npm run -s demo -- --json | jq '.transfers.internal'"))
    .action(async ({ json }: { json?: boolean }) => {
      const world = await withDeployment(({ database }) => readDemoWorld(database));
      if (!world) {
        throw new Refused(
          'There is no demo world here. Set DEMO_DATA=on and run this command again: in a sandbox, it makes one.',
        );
      }
      if (json) return printJson(world);
      const rows = Object.entries(world).flatMap(([kind, ids]) =>
        Object.entries(ids as Record<string, number>).map(([name, id]) => [SINGULAR[kind] ?? kind, name, id]),
      );
      printTable(['Kind', 'Name', 'Id'], rows, 'The demo world is empty.');
    });
}
