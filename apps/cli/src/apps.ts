import { addApp, allApps, removeApp, renameApp } from '@banking/operations/provisioning';
import type { Command } from 'commander';
import { withDirectory } from './deployment.js';
import { examples } from './help.js';
import { operatorOf, asOption, type ChangeOptions, jsonOption, lookupArgument, nameArgument } from './inputs.js';
import { print, printJson, printTable } from './print.js';

export function addAppCommands(program: Command): void {
  const app = program
    .command('app')
    .summary('add, list, rename and remove apps')
    .description('Manages apps. Users and workspaces belong to apps.')
    .addHelpText(
      'after',
      examples(
        'banking app add "Harbour Treasury"',
        'banking app list --json',
        'banking app remove "Harbour Treasury"',
      ),
    );

  app
    .command('add')
    .summary('add an app')
    .description('Adds an app. Its name must be new.')
    .addArgument(nameArgument('<name>', 'name of the app'))
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking app add "Harbour Treasury"'))
    .action(async (name: string, options: ChangeOptions) => {
      const added = await withDirectory(async (database) => {
        const id = await addApp(database, operatorOf(options), name);
        return (await allApps(database)).find((row) => row.id === id);
      });
      if (options.json) printJson(added);
      else print(`Added app ${added?.id}, ${name}.`);
    });

  app
    .command('list')
    .summary('list the apps')
    .description('Lists the apps with their numbers of users and workspaces.')
    .addOption(jsonOption())
    .addHelpText('after', examples('banking app list'))
    .action(async ({ json }: { json?: boolean }) => {
      const apps = await withDirectory((database) => allApps(database));
      if (json) return printJson(apps);
      printTable(
        ['Id', 'Name', 'Users', 'Workspaces', 'Added'],
        apps.map(({ id, name, users, workspaces, createdAt }) => [id, name, users, workspaces, createdAt]),
        'There are no apps. Add one: banking app add <name>',
      );
    });

  app
    .command('rename')
    .summary('rename an app')
    .description('Renames an app. The name must be new. Users and workspaces stay unchanged.')
    .addArgument(lookupArgument('<name>', 'name of the app; see banking app list'))
    .addArgument(nameArgument('<new-name>', 'new name of the app'))
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking app rename "Harbour Treasury" "Harbour Finance"'))
    .action(async (name: string, to: string, options: ChangeOptions) => {
      const renamed = await withDirectory(async (database) => {
        await renameApp(database, operatorOf(options), name, to);
        return (await allApps(database)).find((row) => row.name === to);
      });
      if (options.json) printJson(renamed);
      else print(`Renamed app ${renamed?.id} from ${name} to ${to}.`);
    });

  app
    .command('remove')
    .summary('remove an app')
    .description('Removes an app that has neither users nor workspaces.')
    .addArgument(lookupArgument('<name>', 'name of the app; see banking app list'))
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking app remove "Harbour Treasury"'))
    .action(async (name: string, options: ChangeOptions) => {
      await withDirectory((database) => removeApp(database, operatorOf(options), name));
      if (options.json) printJson({ removed: name });
      else print(`Removed app ${name}.`);
    });
}
