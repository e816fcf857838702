import type { WorkspaceId } from '@banking/domain';
import {
  addWorkspace,
  allWorkspaces,
  workspacesHere,
  removeWorkspace,
  renameWorkspace,
  type WorkspaceRow,
} from '@banking/operations/provisioning';
import type { Database } from '@banking/postgres';
import type { Command } from 'commander';
import { withDirectory } from './deployment.js';
import { examples } from './help.js';
import {
  operatorOf,
  asOption,
  type ChangeOptions,
  jsonOption,
  lookupOption,
  nameArgument,
  typeOption,
  workspaceArgument,
} from './inputs.js';
import { print, printJson, printTable } from './print.js';
import { Refused } from './refused.js';

interface AddOptions extends ChangeOptions {
  readonly app: string;
  readonly type?: 'personal' | 'business';
  readonly cell?: string;
}

export function addWorkspaceCommands(program: Command): void {
  const workspace = program
    .command('workspace')
    .summary('add, list, rename and remove workspaces')
    .description('Manages workspaces. A workspace has accounts, books, and users with a role in it.')
    .addHelpText(
      'after',
      examples(
        'banking workspace add "Harbour Shipping" --app "Harbour Treasury"',
        'banking workspace list',
        'banking workspace remove 4',
      ),
    );

  workspace
    .command('add')
    .summary('add a workspace to an app')
    .description('Adds a workspace to an app. Its name must be new in that app.')
    .addArgument(nameArgument('<name>', 'name of the workspace'))
    .addOption(
      lookupOption('--app <app>', 'app that the workspace belongs to; see banking app list').makeOptionMandatory(),
    )
    .addOption(typeOption())
    .addOption(
      lookupOption('--cell <cell>', 'database that holds it, where there are several (home); see banking cell list'),
    )
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking workspace add "Harbour Shipping" --app "Harbour Treasury"'))
    .action(async (name: string, options: AddOptions) => {
      const { app, type, cell } = options;
      const added = await withDirectory(async (database) => {
        const id = await addWorkspace(database, operatorOf(options), { app, name, type, cell });
        return (await allWorkspaces(database)).find((row) => row.id === id);
      });
      if (options.json) printJson(added);
      else print(`Added workspace ${added?.id}, ${name}, to ${app}.`);
    });

  workspace
    .command('list')
    .summary('list the workspaces')
    .description('Lists the workspaces of all apps.')
    .addOption(jsonOption())
    .addHelpText('after', examples('banking workspace list'))
    .action(async ({ json }: { json?: boolean }) => {
      const workspaces = await withDirectory((database) => allWorkspaces(database));
      if (json) return printJson(workspaces);
      const hasCells = workspaces.some(({ cell }) => cell !== undefined);
      printTable(
        ['Id', 'Name', 'Type', 'App', ...(hasCells ? ['Cell'] : []), 'Added'],
        workspaces.map(({ id, name, type, app, cell, createdAt }) => [
          ...[id, name, type, app],
          ...(hasCells ? [cell ?? ''] : []),
          createdAt,
        ]),
        'There are no workspaces. Add one: banking workspace add <name> --app <app>',
      );
    });

  workspace
    .command('rename')
    .summary('rename a workspace')
    .description('Renames a workspace. The name must be new in its app. Books and roles stay unchanged.')
    .addArgument(workspaceArgument())
    .addArgument(nameArgument('<new-name>', 'new name of the workspace'))
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking workspace rename 4 "Harbour Logistics"'))
    .action(async (id: WorkspaceId, name: string, options: ChangeOptions) => {
      const renamed = await withDirectory(async (database) => {
        await renameWorkspace(database, operatorOf(options), id, name);
        return (await allWorkspaces(database)).find((row) => row.id === id);
      });
      if (options.json) printJson(renamed);
      else print(`Renamed workspace ${id} to ${name}.`);
    });

  workspace
    .command('remove')
    .summary('remove a workspace')
    .description(
      'Removes a workspace without roles. A workspace that ever had an account cannot be removed, because books are permanent.',
    )
    .addArgument(workspaceArgument())
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking workspace remove 4'))
    .action(async (id: WorkspaceId, options: ChangeOptions) => {
      await withDirectory((database) => removeWorkspace(database, operatorOf(options), id));
      if (options.json) printJson({ removed: id });
      else print(`Removed workspace ${id}.`);
    });
}

/**
 * The workspaces that a command works on: all of them, or the one of `--workspace`. Of several databases, those of the database that it
 * works on.
 */
export async function chosenWorkspaces(
  database: Database,
  workspaceId: WorkspaceId | undefined,
): Promise<readonly WorkspaceRow[]> {
  const workspaces = await workspacesHere(database);
  if (workspaceId === undefined) return workspaces;
  const chosen = workspaces.filter(({ id }) => id === workspaceId);
  if (chosen.length === 0) throw new Refused(`There is no workspace ${workspaceId}. See banking workspace list.`);
  return chosen;
}
