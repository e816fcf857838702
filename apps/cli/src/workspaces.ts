import type { Command } from 'commander';
import type { WorkspaceId } from '@banking/domain';
import {
  addApp,
  addWorkspace,
  allApps,
  allWorkspaces,
  removeApp,
  removeWorkspace,
  renameApp,
  renameWorkspace,
  setTimeZone,
  type WorkspaceRow,
  workspacesHere,
  findGaps,
} from '@banking/operations/provisioning';
import type { Database } from '@banking/postgres';
import { inDatabase, isOperatorError, untilOpen } from '@banking/deployment';
import { isSandbox, READ_SLOTS } from '@banking/operations';
import { HOME_CELL } from '@banking/process';
import { withDeployment, withDirectory } from './deployment.js';
import {
  type JsonOptions,
  examples,
  jsonOption,
  lookupArgument,
  lookupOption,
  nameArgument,
  osUserName,
  typeOption,
  workspaceArgument,
  workspaceOption,
} from './inputs.js';
import { print, printJson, printTable, Refused } from './print.js';
import { inCellOf, onEachCell, printRows } from './each-cell.js';

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
    .addOption(jsonOption())
    .addHelpText('after', examples('banking app add "Harbour Treasury"'))
    .action(async (name: string, options: JsonOptions) => {
      const added = await withDirectory(async (database) => {
        const id = await addApp(database, osUserName(), name);
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
    .addOption(jsonOption())
    .addHelpText('after', examples('banking app rename "Harbour Treasury" "Harbour Finance"'))
    .action(async (name: string, to: string, options: JsonOptions) => {
      const renamed = await withDirectory(async (database) => {
        await renameApp(database, osUserName(), name, to);
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
    .addOption(jsonOption())
    .addHelpText('after', examples('banking app remove "Harbour Treasury"'))
    .action(async (name: string, options: JsonOptions) => {
      await withDirectory((database) => removeApp(database, osUserName(), name));
      if (options.json) printJson({ removed: name });
      else print(`Removed app ${name}.`);
    });
}

interface AddOptions extends JsonOptions {
  readonly app: string;
  readonly type?: 'personal' | 'business';
  readonly cell?: string;
  readonly timeZone?: string;
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
    .description(
      'Adds a workspace to an app. Its name must be new in that app. In another database than home, it waits until that database serves it.',
    )
    .addArgument(nameArgument('<name>', 'name of the workspace'))
    .addOption(
      lookupOption('--app <app>', 'app that the workspace belongs to; see banking app list').makeOptionMandatory(),
    )
    .addOption(typeOption())
    .addOption(
      lookupOption('--cell <cell>', 'database that holds it, where there are several (home); see banking cell list'),
    )
    .addOption(lookupOption('--time-zone <zone>', 'time zone of its days and months, such as Europe/Berlin (UTC)'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking workspace add "Harbour Shipping" --app "Harbour Treasury"'))
    .action(async (name: string, options: AddOptions) => {
      const { app, type, cell, timeZone } = options;
      const added = await withDirectory(async (database) => {
        if (cell !== undefined && cell !== HOME_CELL) await requireCopy(database, cell);
        const id = await addWorkspace(database, osUserName(), { app, name, type, cell, timeZone });
        return (await allWorkspaces(database)).find((row) => row.id === id)!;
      });
      if (added.cell !== undefined && added.cell !== HOME_CELL) await untilServed(added.id as WorkspaceId, added.cell);
      if (options.json) printJson(added);
      else print(`Added workspace ${added.id}, ${name}, to ${app}.`);
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
    .addOption(jsonOption())
    .addHelpText('after', examples('banking workspace rename 4 "Harbour Logistics"'))
    .action(async (id: WorkspaceId, name: string, options: JsonOptions) => {
      const renamed = await withDirectory(async (database) => {
        await renameWorkspace(database, osUserName(), id, name);
        return (await allWorkspaces(database)).find((row) => row.id === id);
      });
      if (options.json) printJson(renamed);
      else print(`Renamed workspace ${id} to ${name}.`);
    });

  workspace
    .command('set-time-zone')
    .summary('set the time zone of a workspace')
    .description(
      'Sets the time zone in which the days and months of limits begin. What is used of the limits is counted again from the books.',
    )
    .addArgument(workspaceArgument())
    .addArgument(lookupArgument('<zone>', 'name of the IANA database, such as Europe/Berlin'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking workspace set-time-zone 4 Europe/Berlin'))
    .action(async (id: WorkspaceId, zone: string, options: JsonOptions) => {
      const changed = await withDirectory(async (database) => {
        await setTimeZone(database, osUserName(), id, zone);
        return (await allWorkspaces(database)).find((row) => row.id === id);
      });
      if (options.json) printJson(changed);
      else print(`The time zone of workspace ${id} is ${zone}.`);
    });

  workspace
    .command('remove')
    .summary('remove a workspace')
    .description(
      'Removes a workspace without roles. A workspace that ever had an account cannot be removed, because books are permanent.',
    )
    .addArgument(workspaceArgument())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking workspace remove 4'))
    .action(async (id: WorkspaceId, options: JsonOptions) => {
      await withDirectory((database) => removeWorkspace(database, osUserName(), id));
      if (options.json) printJson({ removed: id });
      else print(`Removed workspace ${id}.`);
    });
}

/** @throws Refused if the cell would never learn of a new workspace */
async function requireCopy(home: Database, cell: string): Promise<void> {
  const slots = await inDatabase(home)(READ_SLOTS);
  if (!slots.some((slot) => slot.cell === cell && slot.is_lost)) return;
  throw new Refused(
    `The copy of the directory in the cell ${cell} cannot follow home, so ${cell} would not serve the workspace. Nothing was added. ` +
      `Run banking cell add ${cell} first.`,
  );
}

/** Waits until the cell of a new workspace serves it. @throws Refused if it does not */
async function untilServed(id: WorkspaceId, cell: string): Promise<void> {
  const isNotServed = (error: Error) =>
    new Refused(
      `Workspace ${id} was added, and the cell ${cell} does not serve it yet: ${error.message} It will when it answers and its copy of the ` +
        `directory follows home: see banking cell list.`,
    );
  const wait = (database: Database) =>
    untilOpen(database, id).catch((error: Error) => {
      throw isNotServed(error);
    });
  try {
    await withDeployment(({ database }) => wait(database), { changesNothing: true, cell });
  } catch (error) {
    throw isOperatorError(error) ? isNotServed(error as Error) : error;
  }
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

interface DoctorOptions {
  readonly workspace?: WorkspaceId;
  readonly json?: boolean;
}

export function addDoctorCommand(program: Command): void {
  program
    .command('doctor')
    .summary('list what workspaces with real money lack')
    .description(
      'Lists what each workspace of a database with real money should have and lacks, such as limits and administrators. Nothing is set ' +
        'by default. Changes nothing. Exit code 1 if something is missing. A sandbox lacks nothing.',
    )
    .addOption(workspaceOption('only this workspace'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking doctor', 'banking doctor --workspace 4 --json'))
    .action(async ({ workspace, json }: DoctorOptions) => {
      const read = await onEachCell(
        async ({ database }) => {
          if (await isSandbox(database)) return [];
          const ids = (await chosenWorkspaces(database, workspace)).map(({ id }) => id);
          return findGaps(database, ids);
        },
        { changesNothing: true, ...(await inCellOf(workspace)) },
      );
      const gaps = printRows(read, json, {
        head: ['Workspace', 'Gap'],
        cells: ({ workspaceId, detail }) => [workspaceId, detail],
        none: 'Nothing is missing.',
      });
      read.end();
      if (gaps.length > 0)
        throw new Refused(gaps.length === 1 ? 'There is one gap.' : `There are ${gaps.length} gaps.`);
    });
}
