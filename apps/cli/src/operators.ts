import type { Deployment } from '@banking/deployment';
import { openBooks } from '@banking/ledger';
import {
  approveRequest,
  explainUnapproved,
  hasRequest,
  listRequests,
  type OperatorAction,
  type OperatorRequest,
  readRequest,
  storeRequest,
  withdrawRequest,
} from '@banking/operations/provisioning';
import { type ScopeSettings, addEmbeddedOperator, OPERATOR_ROLES } from '@banking/postgres';
import { Argument, type Command, Option, InvalidArgumentError } from 'commander';
import { type Config, readConfig } from './config.js';
import { withDeployment, reachDatabase } from './deployment.js';
import { onEachCell, printRows } from './each-cell.js';
import { examples, type JsonOptions, jsonOption, parseIdOf } from './inputs.js';
import { print, printJson, printTable, Refused } from './print.js';

/** Options of the commands that move money or stop it. */
export interface ApproveOptions extends JsonOptions {
  readonly approve?: number;
}

export function approveOption(): Option {
  return new Option(
    '--approve <request>',
    'outside a sandbox: carry out the request of another operator, who ran the command without this option',
  ).argParser(parseIdOf<number>);
}

/** Requests were stored, and wait for a second operator: one, or one in each of several databases. */
export class RequestStored extends Error {
  override readonly name = 'RequestStored';

  constructor(
    readonly requests: readonly OperatorRequest[],
    readonly isJson: boolean,
  ) {
    super(`stored ${requests.length === 1 ? 'a request' : 'requests'}`);
  }
}

/** Prints what the second operator types. @param args of the command that stored the requests */
export function printStored({ requests, isJson }: RequestStored, args: readonly string[]): void {
  const again = ({ id }: OperatorRequest) => ['banking', ...args, '--approve', String(id)].map(quoted).join(' ');
  if (isJson) return printJson(requests.map((request) => ({ request, approval: again(request) })));
  for (const request of requests) {
    print(`Nothing was done yet. Stored request ${request.id}: ${described(request)}.`);
    print(`Another operator approves it until ${request.expiresAt}, with a login of their own:`);
    print(`  ${again(request)}`);
  }
}

/** As a shell reads it. */
const quoted = (text: string): string =>
  /^[A-Za-z0-9_@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

const described = ({ action, arguments: given }: Pick<OperatorRequest, 'action' | 'arguments'>): string =>
  [action, ...Object.entries(given).map(([name, value]) => `${name} ${JSON.stringify(value)}`)].join(', ');

/**
 * Runs an action that needs a second operator. In a sandbox, at once. Otherwise the first call stores a request, and one with `--approve`
 * by another login carries it out.
 *
 * @param work with a deployment whose database transactions carry out the request
 * @throws RequestStored at the first call; ProvisioningError if the request cannot be approved
 */
export async function bySecondOperator<T>(
  deployment: Deployment,
  { deployment: { isSandbox } }: Config,
  { approve, json = false }: ApproveOptions,
  action: OperatorAction,
  work: (approved: Deployment) => Promise<T>,
): Promise<T> {
  if (isSandbox) {
    if (approve !== undefined) throw new Refused('A sandbox needs no second operator. Leave out --approve.');
    return work(deployment);
  }
  if (approve === undefined) throw new RequestStored([await storeRequest(deployment.database, action)], json);
  const { request, settings } = await approveRequest(deployment.database, approve, action);
  if (!json) print(`Request ${request.id} of ${request.requestedBy}, ${request.requestedAt}: ${described(request)}.`);
  return work(withSettings(deployment, settings)).catch((error: unknown) => Promise.reject(explainUnapproved(error)));
}

function withSettings(deployment: Deployment, settings: ScopeSettings): Deployment {
  const database = deployment.database.with(settings);
  return {
    ...deployment,
    database,
    books: openBooks(database),
    openProvisioning: async () => (await deployment.openProvisioning()).with(settings),
  };
}

export function addRequestCommands(program: Command): void {
  const request = program
    .command('request')
    .summary('list and withdraw requests that wait for a second operator')
    .description(
      'Manages requests of operators. Outside a sandbox, a command that moves money or stops it stores a request and ends with exit code 3. ' +
        'Another operator carries it out within 24 hours, with a login of their own: by the same command with --approve.',
    )
    .addHelpText('after', examples('banking request list', 'banking request show 7', 'banking request withdraw 7'));

  request
    .command('list')
    .summary('list the requests that wait for approval')
    .description(
      'Lists the requests that wait for approval, the latest first. At most 100 of a database. Of several databases, all are listed, or the one of CELL.',
    )
    .addOption(new Option('--all', 'include those that are done, withdrawn or expired'))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking request list --all'))
    .action(async ({ all, json }: JsonOptions & { readonly all?: boolean }) => {
      const read = await onEachCell(({ database }) => listRequests(database, { includesEnded: all === true }), {
        changesNothing: true,
      });
      printRows(read, json, {
        head: ['Id', 'Requested by', 'Requested', 'Status', 'Ended by', 'Request'],
        cells: ({ id, requestedBy, requestedAt, status, endedBy, ...row }) => [
          ...[id, requestedBy, requestedAt, status, endedBy ?? '', described(row)],
        ],
        none: 'No request waits for approval.',
      });
      read.end();
    });

  request
    .command('show')
    .summary('show a request')
    .description('Shows a request with its arguments, and who made and ended it.')
    .addArgument(requestArgument())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking request show 7'))
    .action(async (id: number, { json }: JsonOptions) => {
      const found = await withDeployment(({ database }) => readRequest(database, id), {
        changesNothing: true,
        ...(await inCellOfRequest(id)),
      });
      if (json) return printJson(found);
      const { arguments: given, ...fields } = found;
      printTable(
        ['Field', 'Value'],
        [...Object.entries(fields), ...Object.entries(given)].map(([name, value]) => [name, String(value ?? '')]),
        '',
      );
    });

  request
    .command('withdraw')
    .summary('withdraw a request')
    .description('Withdraws a request, so that it cannot be approved any more. Any operator may do it, alone.')
    .addArgument(requestArgument())
    .addOption(jsonOption())
    .addHelpText('after', examples('banking request withdraw 7'))
    .action(async (id: number, { json }: JsonOptions) => {
      await withDeployment(({ database }) => withdrawRequest(database, id), await inCellOfRequest(id));
      if (json) printJson({ id, withdrawn: true });
      else print(`Withdrew request ${id}.`);
    });
}

/** The option `cell` of a command on one request. */
async function inCellOfRequest(id: number): Promise<{ readonly cell?: string }> {
  const read = await onEachCell(({ database }) => hasRequest(database, id), { changesNothing: true });
  const cell = read.results.find(({ result }) => result)?.cell;
  return cell === undefined ? {} : { cell };
}

const requestArgument = () =>
  new Argument('<id>', 'id of a request; see banking request list').argParser(parseIdOf<number>);

export function addOperatorCommand(program: Command): void {
  program
    .command('operator')
    .summary('add logins of operators to the embedded database')
    .description(
      'Manages logins of operators in the embedded database, whose other commands share one. On a server of your own, an administrator creates them.',
    )
    .addHelpText('after', examples('banking operator add lena'))
    .command('add')
    .summary('add a login of an operator')
    .description(
      'Adds a login to the embedded database, and prints SANDBOX and DATABASE_URL of its commands. It has no password: a user of the machine who may use DATA_DIR may ' +
        'use it. Two operators who cannot act for each other need a PostgreSQL server.',
    )
    .addArgument(new Argument('<name>', 'name of the login, which trails show').argParser(parseLogin))
    .addOption(jsonOption())
    .addHelpText('after', examples('banking operator add lena'))
    .action(async (login: string, { json }: JsonOptions) => {
      const { deployment } = readConfig();
      if (deployment.databaseUrl !== undefined) {
        throw new Refused(
          'The database has logins of its own. Let an administrator of the server run: ' +
            `create role "${login}" login password '…'; grant ${OPERATOR_ROLES.join(', ')} to "${login}";`,
        );
      }
      // The roles exist once the deployment was opened.
      await withDeployment(() => Promise.resolve());
      const { connection, detach } = await reachDatabase(deployment);
      const isAdded = await addEmbeddedOperator(connection, login).finally(detach);
      if (!isAdded) throw new Refused(`There is a login or a role named ${login} already. Choose another name.`);
      const { host = '', database = '' } = connection;
      const url = `postgres://${login}@${encodeURIComponent(host)}/${database}`;
      const sandbox = deployment.isSandbox ? 'on' : 'off';
      if (json) return printJson({ login, url, sandbox });
      print(`Added the login ${login}. While the service runs, its commands are run with:`);
      print(`  SANDBOX=${sandbox} DATABASE_URL=${url}`);
    });
}

function parseLogin(text: string): string {
  if (!/^[a-z][a-z0-9_]{0,30}$/.test(text) || /^(pg|banking)_/.test(text)) {
    throw new InvalidArgumentError('Write at most 31 small letters, digits and underscores, such as lena.');
  }
  return text;
}
