import { foldEmail, type RoleName, type WorkspaceId } from '@banking/domain';
import { addGrant, allGrants, removeGrant } from '@banking/operations/provisioning';
import { type Command, Option } from 'commander';
import { withDirectory } from './deployment.js';
import { examples } from './help.js';
import { operatorOf, asOption, type ChangeOptions, jsonOption, nameArgument, workspaceOption } from './inputs.js';
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
    .description(
      'Manages grants. A grant gives a user a role in a workspace. Without a grant, the user has no access to the workspace.',
    )
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
    .description('Gives a user a role in a workspace of one of their apps. An existing role is replaced.')
    .addArgument(nameArgument('<email>', 'e-mail of the user; see banking user list'))
    .addOption(workspaceOption('id of the workspace; see banking workspace list').makeOptionMandatory())
    .addOption(new Option('--role <role>', 'role of the user').choices(['member', 'admin']).makeOptionMandatory())
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking grant add mia@harbour.example --workspace 4 --role admin'))
    .action(async (email: string, options: AddOptions) => {
      const { workspace: workspaceId, role } = options;
      const added = await withDirectory(async (database) => {
        const id = await addGrant(database, operatorOf(options), { workspaceId, email, role });
        return (await allGrants(database)).find((row) => row.id === id);
      });
      if (options.json) printJson(added);
      else print(`Granted ${added?.email} the role ${role} in workspace ${workspaceId}, ${added?.workspace}.`);
    });

  grant
    .command('list')
    .summary('list the roles of users')
    .description('Lists the roles of users in all workspaces, or in one.')
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
        'There are no grants. Add one: banking grant add <email> --workspace <id> --role <role>',
      );
    });

  grant
    .command('remove')
    .summary('remove the role of a user in a workspace')
    .description('Removes the role of a user in a workspace.')
    .addArgument(nameArgument('<email>', 'e-mail of the user; see banking grant list'))
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking grant remove mia@harbour.example --workspace 4'))
    .action(async (email: string, options: RemoveOptions) => {
      const { workspace: workspaceId } = options;
      await withDirectory((database) => removeGrant(database, operatorOf(options), { workspaceId, email }));
      if (options.json) printJson({ removed: { email: foldEmail(email), workspaceId } });
      else print(`Removed the role of ${foldEmail(email)} in workspace ${workspaceId}.`);
    });
}
