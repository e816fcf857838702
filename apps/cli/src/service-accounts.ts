import { Argument, type Command, InvalidArgumentError, Option } from 'commander';
import {
  isInstant,
  type OperationScope,
  SERVICE_ACCOUNT_ROLES,
  SERVICE_ACCOUNT_SCOPES,
  type ServiceAccountId,
  type ServiceAccountKeyId,
  type ServiceAccountRole,
  type WorkspaceId,
} from '@banking/domain';
import {
  addKey,
  addServiceAccount,
  removeServiceAccount,
  revokeKey,
  type ServiceAccountRow,
  serviceAccountsOf,
} from '@banking/operations/provisioning';
import type { Database } from '@banking/postgres';
import { HOME_CELL } from '@banking/process';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { inCellOf } from './each-cell.js';
import { examples, jsonOption, type JsonOptions, nameArgument, parseIdOf, workspaceOption } from './inputs.js';
import { print, printJson, printTable } from './print.js';

interface OfWorkspace extends JsonOptions {
  readonly workspace: WorkspaceId;
}

interface AddOptions extends OfWorkspace {
  readonly role: readonly ServiceAccountRole[];
  readonly scope?: readonly OperationScope[];
}

interface OfAccount extends OfWorkspace {
  readonly account: ServiceAccountId;
}

interface KeyOptions extends OfAccount {
  readonly network?: readonly string[];
  readonly expires?: string;
}

const ACCOUNT_HEAD = ['Id', 'Name', 'Roles', 'Scopes', 'Keys', 'Created'];
const KEY_HEAD = ['Id', 'Account', 'Name', 'Networks', 'Expires', 'Last used', 'Created'];

const workspace = () => workspaceOption('id of the workspace').makeOptionMandatory();

const read = async (workspaceId: WorkspaceId): Promise<readonly ServiceAccountRow[]> =>
  withDeployment(({ database }) => serviceAccountsOf(database, workspaceId), {
    changesNothing: true,
    ...(await inCellOf(workspaceId)),
  });

/** Changes service accounts in the database of their workspace, whose users and roles are in the directory at home. */
async function changing<T>(
  workspaceId: WorkspaceId,
  change: (database: Database, home: Database | undefined) => Promise<T>,
): Promise<T> {
  const { cell = readConfig().cell ?? HOME_CELL } = await inCellOf(workspaceId);
  if (cell === HOME_CELL) return withDeployment(({ database }) => change(database, undefined), { cell });
  return withDeployment(({ database: home }) => withDeployment(({ database }) => change(database, home), { cell }), {
    cell: HOME_CELL,
  });
}

/** The service accounts of a workspace: programs that call the service. */
export function addServiceAccountCommands(program: Command): void {
  const accounts = program
    .command('service-account')
    .summary('list, add and remove service accounts')
    .description('Manages programs that call the service in a workspace. They call with keys; see banking key.')
    .addHelpText('after', examples('banking service-account add Payroll --workspace 1 --role member'));

  accounts
    .command('list')
    .summary('list the service accounts of a workspace')
    .description('Lists the service accounts of a workspace, newest first.')
    .addOption(workspace())
    .addOption(jsonOption())
    .action(async ({ workspace: workspaceId, json }: OfWorkspace) => {
      const rows = await read(workspaceId);
      if (json) return printJson(rows);
      const cells = rows.map(({ id, name, roles, scopes, keys, createdAt }) => [
        ...[id, name, roles.join(' '), scopes?.join(' ') ?? 'all', keys.length, createdAt],
      ]);
      printTable(ACCOUNT_HEAD, cells, 'The workspace has no service accounts.');
    });

  accounts
    .command('add')
    .summary('add a service account')
    .description('Adds a service account without a key. It never approves and never administers.')
    .addArgument(nameArgument('<name>', 'name of the program'))
    .addOption(workspace())
    .addOption(
      new Option('--role <role...>', 'what it may do: viewer reads, member also pays')
        .choices(SERVICE_ACCOUNT_ROLES)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--scope <scope...>', 'only this of what its roles allow, such as orders:create').choices(
        SERVICE_ACCOUNT_SCOPES,
      ),
    )
    .addOption(jsonOption())
    .addHelpText(
      'after',
      examples('banking service-account add Payroll --workspace 1 --role member --scope orders:create orders:read'),
    )
    .action(async (name: string, options: AddOptions) => {
      const { workspace: workspaceId, role: roles, scope: scopes, json } = options;
      const account = await changing(workspaceId, (database, home) =>
        addServiceAccount(database, home, workspaceId, { name, roles, scopes }),
      );
      if (json) printJson(account);
      else
        print(
          `Added service account ${account.id}. A key: banking key create --workspace ${workspaceId} --account ${account.id}`,
        );
    });

  accounts
    .command('remove')
    .summary('remove a service account and revoke its keys')
    .description('Removes a service account and revokes its keys, for ever. Its standing orders pause.')
    .addArgument(new Argument('<id>', 'id of the service account').argParser(parseIdOf<ServiceAccountId>))
    .addOption(workspace())
    .addOption(jsonOption())
    .action(async (serviceAccountId: ServiceAccountId, options: OfWorkspace) => {
      const { workspace: workspaceId, json } = options;
      await changing(workspaceId, (database, home) =>
        removeServiceAccount(database, home, workspaceId, { serviceAccountId }),
      );
      if (json) printJson({ workspaceId, id: serviceAccountId });
      else print(`Removed service account ${serviceAccountId} of workspace ${workspaceId}, and revoked its keys.`);
    });
}

/** The keys of service accounts. */
export function addKeyCommands(program: Command): void {
  const keys = program
    .command('key')
    .summary('list, create and revoke keys of service accounts')
    .description('Manages the keys that service accounts call with.')
    .addHelpText('after', examples('banking key list --workspace 1', 'banking key revoke 4 --workspace 1 --account 9'));

  keys
    .command('list')
    .summary('list the keys of a workspace')
    .description('Lists the keys of a workspace that are not revoked, with the minute in which each was last used.')
    .addOption(workspace())
    .addOption(jsonOption())
    .action(async ({ workspace: workspaceId, json }: OfWorkspace) => {
      const rows = (await read(workspaceId)).flatMap((account) => account.keys.map((key) => ({ account, key })));
      if (json) return printJson(rows.map(({ key }) => key));
      const cells = rows.map(({ account, key }) => [
        ...[key.id, account.id, account.name, key.networks.join(' ') || 'all', key.expiresAt ?? 'never'],
        ...[key.lastUsedAt ?? 'never', key.createdAt],
      ]);
      printTable(KEY_HEAD, cells, 'The workspace has no keys.');
    });

  keys
    .command('create')
    .summary('create a key and print it')
    .description('Creates a key of a service account and prints it, and nothing else. It is shown once.')
    .addOption(workspace())
    .addOption(accountOption())
    .addOption(new Option('--network <network...>', 'networks that requests may come from, such as 203.0.113.0/24'))
    .addOption(new Option('--expires <time>', 'end of the key, RFC 3339 with an offset').argParser(parseInstant))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking key create --workspace 1 --account 9 --expires 2027-11-21T09:00:00Z'))
    .action(async (options: KeyOptions) => {
      const {
        workspace: workspaceId,
        account: serviceAccountId,
        network: networks,
        expires: expiresAt,
        json,
      } = options;
      const key = await withDeployment(
        ({ database }) => addKey(database, workspaceId, { serviceAccountId, networks, expiresAt }),
        await inCellOf(workspaceId),
      );
      if (json) printJson(key);
      else print(key.secret!);
    });

  keys
    .command('revoke')
    .summary('revoke a key')
    .description('Revokes a key for ever. Every process refuses it within five seconds.')
    .addArgument(new Argument('<id>', 'id of the key; its text has it too').argParser(parseIdOf<ServiceAccountKeyId>))
    .addOption(workspace())
    .addOption(accountOption())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking key revoke 4 --workspace 1 --account 9'))
    .action(async (keyId: ServiceAccountKeyId, options: OfAccount) => {
      const { workspace: workspaceId, account: serviceAccountId, json } = options;
      await withDeployment(
        ({ database }) => revokeKey(database, workspaceId, { serviceAccountId, keyId }),
        await inCellOf(workspaceId),
      );
      if (json) printJson({ workspaceId, serviceAccountId, id: keyId });
      else print(`Revoked key ${keyId} of service account ${serviceAccountId}.`);
    });
}

function accountOption(): Option {
  return new Option('--account <id>', 'id of the service account')
    .argParser(parseIdOf<ServiceAccountId>)
    .makeOptionMandatory();
}

function parseInstant(text: string): string {
  if (!isInstant(text)) throw new InvalidArgumentError('Write RFC 3339 with an offset, such as 2027-11-21T09:00:00Z.');
  return text;
}
