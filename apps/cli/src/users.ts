import { foldEmail } from '@banking/domain';
import type { Database } from '@banking/postgres';
import { addUser, allUsers, bindUser, completeUser, removeUser, renameUser, resumeUser, suspendUser, type UserRow } from '@banking/operations'; // prettier-ignore
import { type Command, Option } from 'commander';
import { withDirectory } from './deployment.js';
import { examples } from './help.js';
import {
  actorOf,
  asOption,
  type ChangeOptions,
  jsonOption,
  lookupOption,
  nameArgument,
  nameOption,
  typeOption,
} from './inputs.js';
import { print, printJson, printTable } from './print.js';
import { Refused } from './refused.js';

interface AddOptions extends ChangeOptions {
  readonly app: string;
  readonly status?: string;
  readonly type?: 'personal' | 'business';
  readonly issuer?: string;
  readonly subject?: string;
}

interface BindOptions extends ChangeOptions {
  readonly issuer: string;
  readonly subject: string;
}

export function addUserCommands(program: Command): void {
  const user = program
    .command('user')
    .summary('add, list, bind, suspend, rename and remove users')
    .description('Users: people and service accounts that call the service, known by e-mail.')
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
      'Adds a user to an app. A user who is known already joins one app more.\n\n' +
        'A token with the verified e-mail binds its subject to the user on first use. For a token without one, such as ' +
        'that of a service account, name issuer and subject here.',
    )
    .addArgument(nameArgument('<email>', 'e-mail of the user'))
    .addOption(lookupOption('--app <name>', 'app the user belongs to; see banking app list').makeOptionMandatory())
    .addOption(
      new Option('--status <status>', 'how far the user has come; completed without it').choices([
        'completed',
        'pending',
      ]),
    )
    .addOption(typeOption())
    .addOption(issuerOption())
    .addOption(subjectOption())
    .addOption(asOption())
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
        command.error(`error: options '--issuer <url>' and '--subject <sub>' go together`);
      }
      const added = await withDirectory((database) => add(database, email, options));
      if (options.json) printJson(added);
      else print(`Added user ${added?.id}, ${added?.email}, to ${options.app}.`);
    });

  user
    .command('list')
    .summary('list the users')
    .description(
      'Lists the users with their status: only a completed user has roles. With --json also the subjects by which identity providers name them.',
    )
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
      'Binds the subject by which an identity provider names a user. Needed for a user whose tokens carry no verified e-mail, and ' +
        'for every user where OIDC_BIND_BY_EMAIL is off. A user has one subject of each issuer.',
    )
    .addArgument(emailArgument())
    .addOption(issuerOption().makeOptionMandatory())
    .addOption(subjectOption().makeOptionMandatory())
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking user bind mia@harbour.example --issuer https://login.harbour.example --subject 4711'),
    )
    .action(async (email: string, options: BindOptions) => {
      const { issuer, subject } = options;
      const bound = await withDirectory(async (database) => {
        await bindUser(database, actorOf(options), email, { issuer, subject });
        return find(database, email);
      });
      if (options.json) printJson(bound);
      else print(`${bound?.email} is recognised by the subject ${subject} of ${issuer} now.`);
    });

  for (const change of STATUS_CHANGES) addStatusCommand(user, change);

  user
    .command('rename')
    .summary('give a user another e-mail')
    .description(
      'Gives a user another e-mail. Bound subjects, roles and orders stay with the user. A user who has not signed in yet is ' +
        'recognised by the new e-mail only.',
    )
    .addArgument(emailArgument())
    .addArgument(nameArgument('<new-email>', 'e-mail that the user gets'))
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking user rename mia@harbour.example mia.stone@harbour.example'))
    .action(async (email: string, to: string, options: ChangeOptions) => {
      const renamed = await withDirectory(async (database) => {
        await renameUser(database, actorOf(options), email, to);
        return find(database, to);
      });
      if (options.json) printJson(renamed);
      else print(`User ${renamed?.id} is ${renamed?.email} now, and was ${foldEmail(email)}.`);
    });

  user
    .command('remove')
    .summary('remove a user')
    .description('Removes a user from all apps and workspaces. What they did in the books stays.')
    .addArgument(emailArgument())
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking user remove mia@harbour.example'))
    .action(async (email: string, options: ChangeOptions) => {
      await withDirectory((database) => removeUser(database, actorOf(options), email));
      if (options.json) printJson({ removed: foldEmail(email) });
      else print(`Removed user ${foldEmail(email)}.`);
    });
}

const issuerOption = () => nameOption('--issuer <url>', 'identity provider of the subject, written as in its tokens');
const subjectOption = () => nameOption('--subject <sub>', 'how the identity provider names the user');

interface StatusChange {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly change: typeof suspendUser;
}

const STATUS_CHANGES: readonly StatusChange[] = [
  {
    name: 'complete',
    summary: 'end the sign-up of a pending user',
    description: 'Makes a pending user completed. From then on the granted roles count.',
    change: completeUser,
  },
  {
    name: 'suspend',
    summary: 'take all roles of a user away, until resume',
    description:
      'Makes a completed user suspended: recognised, and without roles. Grants stay and count again after banking user resume. ' +
      'Orders that the user placed for later are paused when they fall due.',
    change: suspendUser,
  },
  {
    name: 'resume',
    summary: 'give a suspended user the roles back',
    description:
      'Makes a suspended user completed again: the grants count at once. Orders that were paused stay paused; see banking order resume.',
    change: resumeUser,
  },
];

function addStatusCommand(user: Command, { name, summary, description, change }: StatusChange): void {
  user
    .command(name)
    .summary(summary)
    .description(description)
    .addArgument(emailArgument())
    .addOption(asOption())
    .addOption(jsonOption())
    .addHelpText('after', examples(`banking user ${name} mia@harbour.example`))
    .action(async (email: string, options: ChangeOptions) => {
      const changed = await withDirectory(async (database) => {
        await change(database, actorOf(options), email);
        return find(database, email);
      });
      if (options.json) printJson(changed);
      else print(`${changed?.email} is ${changed?.status} now.`);
    });
}

const emailArgument = () => nameArgument('<email>', 'e-mail of the user; see banking user list');

async function find(database: Database, email: string): Promise<UserRow | undefined> {
  const folded = foldEmail(email);
  return (await allUsers(database)).find((row) => row.email === folded);
}

async function add(database: Database, email: string, options: AddOptions): Promise<UserRow | undefined> {
  const { app, status, type: userType, issuer, subject } = options;
  const known = await find(database, email);
  if (known && ((status ?? known.status) !== known.status || (userType ?? known.userType) !== known.userType)) {
    throw new Refused(
      `${known.email} is a user already, ${known.status} and ${known.userType}: leave out --status and --type to add them to ${app}.`,
    );
  }
  const identity = issuer !== undefined && subject !== undefined ? { issuer, subject } : undefined;
  const id = await addUser(database, actorOf(options), { email, app, status, userType, identity });
  return (await allUsers(database)).find((row) => row.id === id);
}
