import { type Command, Option } from 'commander';
import { foldEmail, ROLE_NAMES, type RoleName, type WorkspaceId } from '@banking/domain';
import {
  addGrants,
  addUser,
  allUsers,
  bindUser,
  completeUser,
  findUser,
  grantsOf,
  removeGrants,
  removeUser,
  renameUser,
  resumeUser,
  suspendUser,
  type UserRow,
} from '@banking/operations/provisioning';
import type { Database } from '@banking/postgres';
import { withDirectory } from './deployment.js';
import {
  type JsonOptions,
  examples,
  jsonOption,
  lookupOption,
  nameArgument,
  nameOption,
  osUserName,
  typeOption,
  workspaceOption,
} from './inputs.js';
import { print, printJson, printTable, Refused } from './print.js';
import { chosenWorkspaces } from './workspaces.js';

interface AddOptions extends JsonOptions {
  readonly app: string;
  readonly status?: string;
  readonly type?: 'personal' | 'business';
  readonly issuer?: string;
  readonly subject?: string;
}

interface BindOptions extends JsonOptions {
  readonly issuer: string;
  readonly subject: string;
}

export function addUserCommands(program: Command): void {
  const user = program
    .command('user')
    .summary('add, list, bind, suspend, rename and remove users')
    .description('Manages users: people and service accounts that call the service. An e-mail identifies each.')
    .addHelpText(
      'after',
      examples(
        'banking user add mia@harbour.example --app "Harbour Treasury"',
        'banking user list',
        'banking user suspend mia@harbour.example',
        'banking user remove mia@harbour.example',
      ),
    );

  user
    .command('add')
    .summary('add a user to an app')
    .description(
      'Adds a user to an app. An existing user joins the app in addition to the present ones.\n\n' +
        'The first token with the verified e-mail binds its subject to the user. If the tokens have no verified e-mail, ' +
        'as those of a service account, give --issuer and --subject.',
    )
    .addArgument(nameArgument('<email>', 'e-mail of the user'))
    .addOption(lookupOption('--app <name>', 'app that the user joins; see banking app list').makeOptionMandatory())
    .addOption(new Option('--status <status>', 'status of the sign-up (completed)').choices(['completed', 'pending']))
    .addOption(typeOption())
    .addOption(issuerOption())
    .addOption(subjectOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking user add mia@harbour.example --app "Harbour Treasury"',
        'banking user add payroll@harbour.example --app "Harbour Treasury" \\\n      --issuer https://login.harbour.example --subject payroll-service',
      ),
    )
    .action(async (email: string, options: AddOptions, command: Command) => {
      if ((options.issuer === undefined) !== (options.subject === undefined)) {
        command.error(`error: options '--issuer <url>' and '--subject <sub>' are needed together`);
      }
      const added = await withDirectory((database) => add(database, email, options));
      if (options.json) printJson(added);
      else print(`Added user ${added?.id}, ${added?.email}, to ${options.app}.`);
    });

  user
    .command('list')
    .summary('list the users')
    .description('Lists the users with their status. Only completed users have roles. --json adds the bound subjects.')
    .addOption(jsonOption())
    .addHelpText('after', examples('banking user list'))
    .action(async ({ json }: { json?: boolean }) => {
      const users = await withDirectory((database) => allUsers(database));
      if (json) return printJson(users);
      printTable(
        ['Id', 'E-mail', 'Status', 'Type', 'Apps', 'Subjects', 'Added'],
        users.map(({ id, email, status, userType, apps, identities, createdAt }) => [
          ...[id, email, status, userType],
          ...[apps.join(', '), identities.length, createdAt],
        ]),
        'There are no users. Add one: banking user add <email> --app <name>',
      );
    });

  user
    .command('bind')
    .summary('bind a subject to a user')
    .description(
      'Binds the subject of an identity provider to a user. Users whose tokens have no verified e-mail need this, and all ' +
        'users if OIDC_BIND_BY_EMAIL is off. A user has one subject of each issuer.',
    )
    .addArgument(emailArgument())
    .addOption(issuerOption().makeOptionMandatory())
    .addOption(subjectOption().makeOptionMandatory())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking user bind mia@harbour.example --issuer https://login.harbour.example --subject 4711'),
    )
    .action(async (email: string, options: BindOptions) => {
      const { issuer, subject } = options;
      const bound = await withDirectory(async (database) => {
        await bindUser(database, osUserName(), email, { issuer, subject });
        return findUser(database, email);
      });
      if (options.json) printJson(bound);
      else print(`Bound the subject ${subject} of ${issuer} to ${bound?.email}.`);
    });

  for (const change of STATUS_CHANGES) addStatusCommand(user, change);

  user
    .command('rename')
    .summary('change the e-mail of a user')
    .description(
      'Changes the e-mail of a user. Bound subjects, roles and orders stay unchanged. A user without a bound subject must ' +
        'sign in with the new e-mail.',
    )
    .addArgument(emailArgument())
    .addArgument(nameArgument('<new-email>', 'new e-mail of the user'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking user rename mia@harbour.example mia.stone@harbour.example'))
    .action(async (email: string, to: string, options: JsonOptions) => {
      const renamed = await withDirectory(async (database) => {
        await renameUser(database, osUserName(), email, to);
        return findUser(database, to);
      });
      if (options.json) printJson(renamed);
      else print(`Renamed user ${renamed?.id} from ${foldEmail(email)} to ${renamed?.email}.`);
    });

  user
    .command('remove')
    .summary('remove a user')
    .description('Removes a user from all apps and workspaces. Their transactions stay in the books.')
    .addArgument(emailArgument())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking user remove mia@harbour.example'))
    .action(async (email: string, options: JsonOptions) => {
      await withDirectory((database) => removeUser(database, osUserName(), email));
      if (options.json) printJson({ removed: foldEmail(email) });
      else print(`Removed user ${foldEmail(email)}.`);
    });
}

const issuerOption = () => nameOption('--issuer <url>', 'identity provider, exactly as in the claim iss of its tokens');
const subjectOption = () => nameOption('--subject <sub>', 'subject of the user at the identity provider');

interface StatusChange {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly change: typeof suspendUser;
}

const STATUS_CHANGES: readonly StatusChange[] = [
  {
    name: 'complete',
    summary: 'complete the sign-up of a pending user',
    description: 'Completes a pending user. The granted roles take effect.',
    change: completeUser,
  },
  {
    name: 'suspend',
    summary: 'suspend the roles of a user',
    description:
      'Suspends a completed user, who stays known but has no roles until banking user resume. Grants are kept. ' +
      'Orders that the user scheduled are paused when they fall due.',
    change: suspendUser,
  },
  {
    name: 'resume',
    summary: 'restore the roles of a suspended user',
    description:
      'Makes a suspended user completed again. The grants take effect at once. Paused orders stay paused; see banking order resume.',
    change: resumeUser,
  },
];

function addStatusCommand(user: Command, { name, summary, description, change }: StatusChange): void {
  user
    .command(name)
    .summary(summary)
    .description(description)
    .addArgument(emailArgument())
    .addOption(jsonOption())
    .addHelpText('after', examples(`banking user ${name} mia@harbour.example`))
    .action(async (email: string, options: JsonOptions) => {
      const changed = await withDirectory(async (database) => {
        await change(database, osUserName(), email);
        return findUser(database, email);
      });
      if (options.json) printJson(changed);
      else print(`The status of ${changed?.email} is now ${changed?.status}.`);
    });
}

const emailArgument = () => nameArgument('<email>', 'e-mail of the user; see banking user list');

async function add(database: Database, email: string, options: AddOptions): Promise<UserRow | undefined> {
  const { app, status, type: userType, issuer, subject } = options;
  const known = await findUser(database, email);
  if (known && ((status ?? known.status) !== known.status || (userType ?? known.userType) !== known.userType)) {
    throw new Refused(
      `${known.email} is a user already, ${known.status} and ${known.userType}. To add the user to ${app}, omit --status and --type.`,
    );
  }
  const identity = issuer !== undefined && subject !== undefined ? { issuer, subject } : undefined;
  await addUser(database, osUserName(), { email, app, status, userType, identity });
  return findUser(database, email);
}

interface GrantOptions extends JsonOptions {
  readonly workspace: WorkspaceId;
  readonly role: readonly RoleName[];
}

const rolesOption = (description: string) => new Option('--role <role...>', description).choices(ROLE_NAMES);

export function addGrantCommands(program: Command): void {
  const grant = program
    .command('grant')
    .summary('add, list and remove the roles of users in workspaces')
    .description(
      'Manages grants. A grant gives a user a role in a workspace. Without a grant, the user has no access to the workspace. ' +
        'A viewer reads. A member also pays, and an approver approves. An administrator reads and manages, but does not pay.',
    )
    .addHelpText(
      'after',
      examples(
        'banking grant add mia@harbour.example --workspace 4 --role admin member',
        'banking grant list --workspace 4',
        'banking grant remove mia@harbour.example --workspace 4 --role member',
      ),
    );

  grant
    .command('add')
    .summary('give a user roles in a workspace')
    .description('Adds roles to those that a user has in a workspace of one of their apps.')
    .addArgument(nameArgument('<email>', 'e-mail of the user; see banking user list'))
    .addOption(workspaceOption('id of the workspace; see banking workspace list').makeOptionMandatory())
    .addOption(rolesOption('roles to add').makeOptionMandatory())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking grant add mia@harbour.example --workspace 4 --role admin member'))
    .action(async (email: string, options: GrantOptions) => {
      const { workspace: workspaceId, role: roles } = options;
      const grants = await withDirectory((database) =>
        addGrants(database, osUserName(), { workspaceId, email, roles }),
      );
      if (options.json) return printJson(grants);
      const [{ email: granted, workspace } = { email, workspace: '' }] = grants;
      const all = grants.map(({ role }) => role).join(', ');
      print(`Granted. ${granted} has these roles in workspace ${workspaceId}, ${workspace}: ${all}.`);
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
        const chosen = await chosenWorkspaces(database, workspace);
        return grantsOf(
          database,
          chosen.map(({ id }) => id),
        );
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
    .summary('remove roles of a user in a workspace')
    .description('Removes roles of a user in a workspace: without --role, all.')
    .addArgument(nameArgument('<email>', 'e-mail of the user; see banking grant list'))
    .addOption(workspaceOption('id of the workspace').makeOptionMandatory())
    .addOption(rolesOption('roles to remove (all)'))
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples(
        'banking grant remove mia@harbour.example --workspace 4',
        'banking grant remove mia@harbour.example --workspace 4 --role member',
      ),
    )
    .action(async (email: string, options: JsonOptions & Pick<GrantOptions, 'workspace'> & Partial<GrantOptions>) => {
      const { workspace: workspaceId, role } = options;
      const roles = await withDirectory((database) =>
        removeGrants(database, osUserName(), { workspaceId, email, ...(role && { roles: role }) }),
      );
      if (options.json) printJson({ removed: { email: foldEmail(email), workspaceId, roles } });
      else print(`Removed from ${foldEmail(email)} in workspace ${workspaceId}: ${roles.join(', ')}.`);
    });
}
