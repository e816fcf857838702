import { foldEmail, type RoleName, type WorkspaceId } from '@banking/domain';
import { addGrant, allGrants, removeGrant } from '@banking/operations';
import { type Command, Option } from 'commander';
import { withDirectory } from './deployment.js';
import { examples } from './help.js';
import { actorOf, asOption, type ChangeOptions, jsonOption, nameArgument, workspaceOption } from './inputs.js';
import { print, printJson, printTable } from './print.js';
import { chosenWorkspaces } from './workspaces.js';

interface RemoveOptions extends ChangeOptions {
  readonly workspace: WorkspaceId;
}

interface AddOptions extends RemoveOptions {
  readonly role: RoleName;
}

export function addGrantCommands(program: Command): void {
  const grant = program
    .command('grant')
    .summary('add, list and remove the roles of users in workspaces')
    .description('Grants: the role a user has in a workspace. Without one, a workspace is closed to them.')
    .addHelpText(
      'after',
      examples(
        'banking grant add mia@harbour.example --workspace 4 --role admin',
        'banking grant list --workspace 4',
        'banking grant remove mia@harbour.example --workspace 4',
      ),
    );

  grant
    .command('add')
    .summary('give a user a role in a workspace')
    .description('Gives a user a role in a workspace of one of their apps, in place of the role they may have there.')
    .addArgument(nameArgument('<email>', 'e-mail of the user; see banking user list'))
    .addOption(workspaceOption('id of the workspace; see banking workspace list').makeOptionMandatory())
    .addOption(
      new Option('--role <role>', 'what the user may do there').choices(['member', 'admin']).makeOptionMandatory(),
    )
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking grant add mia@harbour.example --workspace 4 --role admin'))
    .action(async (email: string, options: AddOptions) => {
      const { workspace: workspaceId, role } = options;
      const added = await withDirectory(async (database) => {
        const id = await addGrant(database, actorOf(options), { workspaceId, email, role });
        return (await allGrants(database)).find((row) => row.id === id);
      });
      if (options.json) printJson(added);
      else print(`${added?.email} is ${role} in workspace ${workspaceId}, ${added?.workspace}.`);
    });

  grant
    .command('list')
    .summary('list who has which role')
    .description('Lists who has which role, in all workspaces or in one.')
    .addOption(workspaceOption('only this workspace'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking grant list', 'banking grant list --workspace 4'))
    .action(async ({ workspace, json }: { workspace?: WorkspaceId; json?: boolean }) => {
      const grants = await withDirectory(async (database) => {
        const chosen = new Set((await chosenWorkspaces(database, workspace)).map(({ id }) => id));
        return (await allGrants(database)).filter(({ workspaceId }) => chosen.has(workspaceId));
      });
      if (json) return printJson(grants);
      printTable(
        ['Workspace', 'Name', 'E-mail', 'Role', 'Since'],
        grants.map((row) => [row.workspaceId, row.workspace, row.email, row.role, row.createdAt]),
        'Nobody has a role. Give one: banking grant add <email> --workspace <id> --role <role>',
      );
    });

  grant
    .command('remove')
    .summary('take the role of a user in a workspace away')
    .description('Takes the role of a user in a workspace away.')
    .addArgument(nameArgument('<email>', 'e-mail of the user; see banking grant list'))
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking grant remove mia@harbour.example --workspace 4'))
    .action(async (email: string, options: RemoveOptions) => {
      const { workspace: workspaceId } = options;
      await withDirectory((database) => removeGrant(database, actorOf(options), { workspaceId, email }));
      if (options.json) printJson({ removed: { email: foldEmail(email), workspaceId } });
      else print(`${foldEmail(email)} has no role in workspace ${workspaceId} any more.`);
    });
}
