import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '@banking/domain';
import { LocalIssuerError } from '@banking/process/local-issuer';
import { isOperatorError } from '@banking/deployment';
import { ExportError } from '@banking/books-proof';
import { ProvisioningError } from '@banking/operations/provisioning';
import { ConfigError, EXIT } from '@banking/process';
import { type AddHelpTextContext, Command, CommanderError, Help, type Option } from 'commander';
import { addAnchorCommand } from './anchor.js';
import { addBankCommand, addRailCommands } from './rails.js';
import { addAppCommands, addWorkspaceCommands, addDoctorCommand } from './workspaces.js';
import { addCellCommands } from './cells.js';
import { addDemoCommand, addTokenCommand } from './sandbox.js';
import { Interrupted } from './deployment.js';
import { addDepositCommands, addFundCommand } from './deposit.js';
import { addDiscrepancyCommands, addReconcileCommand } from './reconcile.js';
import { addEventCommands, addWebhookCommands } from './webhooks.js';
import { addAuditCommands, addExportCommand } from './export.js';
import { addGrantCommands, addUserCommands } from './users.js';
import { nameHelpAfterErrors, onRequest, refuseRepeatedOptions } from './inputs.js';
import { addMigrateCommand } from './migrate.js';
import { addOperatorCommand, addRequestCommands, printStored, RequestStored } from './operators.js';
import { addOrderCommands, addWorkCommands } from './work.js';
import { addPayoutsCommands } from './payouts.js';
import { addPersonalDataCommands } from './personal-data.js';
import { addProveCommand } from './prove.js';
import { printed, Refused } from './print.js';
import { addReferenceCommands } from './reference.js';
import { addKeyCommands, addServiceAccountCommands } from './service-accounts.js';
import { addStoryCommand } from './story/story.js';
import { addVerifyCommand } from './verify.js';

/** Errors with a message for an operator. Other errors are printed with their stack. */
const EXPECTED = [Refused, Refusal, ProvisioningError, ExportError, LocalIssuerError];

const NOTES = `Environment variables (default in parentheses):
  DATA_DIR                   folder of the embedded database and the signing key (.data)
  DATABASE_URL               PostgreSQL server (without it: the embedded database)
  DATABASE_OWNER_URL         login that may migrate and change users and roles (DATABASE_URL)
  DATABASE_URL_FILE, DATABASE_OWNER_URL_FILE
                             files with these URLs
  DATABASE_PASSWORD_FILE, DATABASE_OWNER_PASSWORD_FILE
                             files with the passwords of these logins
  DATABASE_TLS               off: connect to another host without verifying its certificate (on)
  DATABASE_POOL_SIZE         validated, but not used by banking
  DATABASE_REPLICA_URL, DATABASE_REPLICA_URL_FILE, DATABASE_REPLICA_PASSWORD_FILE
                             the same
  DATABASE_POOLER            transaction: DATABASE_URL leads to PgBouncer in transaction mode (none)
  DATABASE_NAMED_STATEMENTS  off: statements are sent without a name (on without DATABASE_POOLER)
  CELLS, CELLS_FILE          number of embedded databases, or file that lists the databases besides DATABASE_URL (one database)
  CELL                       database that a command works on, where there are several (lists, verify, reference apply: all; others: home)
  SANDBOX                    on for demo money, off for real money (on without DATABASE_URL)
  DEMO_DATA                  on: create the demo data (on without DATABASE_URL)
  REFERENCE_FILE             document with the reference data of the deployment (without it: what the database has)
  PAYMENTS_KEPT_DAYS         days for which personal data of payments are kept by law (3650)
  RAILS_FILE                 file that lists the payment networks (a sandbox: its own; else none)
  OIDC_ISSUER                identity provider that issues the tokens (without it: the key in DATA_DIR)
  OIDC_ISSUERS_FILE          file that lists several of them
  OIDC_AUDIENCE              audience of the tokens (banking-api)

Exit codes: 0 success; 1 refused or failed; 2 wrong usage or configuration; 3 a request was stored, which a second operator approves.

Examples:
  $ npm run -s token -- ada@northwind.example
  $ npm run -s banking -- workspace list --json
  $ npm run -s banking -- grant add --help`;

function banking(): Command {
  const { version } = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')) as { version: string };
  const program = new Command('banking')
    .description(
      'Sets up, operates and verifies a deployment of the banking service, beside a running service or without one.',
    )
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    .configureHelp({ optionDescription })
    .addHelpText('beforeAll', refuseUnknownCommand)
    .addHelpText('after', onRequest(NOTES));
  addTokenCommand(program);
  addDemoCommand(program);
  addMigrateCommand(program);
  addAppCommands(program);
  addUserCommands(program);
  addWorkspaceCommands(program);
  addCellCommands(program);
  addGrantCommands(program);
  addServiceAccountCommands(program);
  addKeyCommands(program);
  addReferenceCommands(program);
  addFundCommand(program);
  addDepositCommands(program);
  addPersonalDataCommands(program);
  addStoryCommand(program);
  addVerifyCommand(program);
  addDoctorCommand(program);
  addWorkCommands(program);
  addDiscrepancyCommands(program);
  addOrderCommands(program);
  addRequestCommands(program);
  addOperatorCommand(program);
  addEventCommands(program);
  addWebhookCommands(program);
  addAuditCommands(program);
  addPayoutsCommands(program);
  addRailCommands(program);
  addBankCommand(program);
  addReconcileCommand(program);
  addExportCommand(program);
  addAnchorCommand(program);
  addProveCommand(program);
  refuseRepeatedOptions(program);
  nameHelpAfterErrors(program);
  return program;
}

const help = new Help();

function optionDescription(option: Option): string {
  return `${help.optionDescription(option)}${option.mandatory ? ' (required)' : ''}`;
}

/** For `help nosuch`, the library prints the help of the group, as for a missing command. */
function refuseUnknownCommand({ error, command }: AddHelpTextContext): string {
  const [, name] = command.args;
  if (error && name !== undefined) command.error(`error: unknown command '${name}'`);
  return '';
}

export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    await banking().parseAsync(args, { from: 'user' });
    return EXIT.ok;
  } catch (error) {
    // A command that was interrupted ends also if its reader takes nothing.
    if (!(error instanceof Interrupted)) await printed();
    return explain(error, args);
  }
}

function explain(error: unknown, args: readonly string[]): number {
  if (error instanceof RequestStored) {
    printStored(error, args);
    return EXIT.requested;
  }
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return EXIT.ok;
    if (error.code === 'commander.help')
      console.error('\nerror: the command is missing. Choose one of the commands above.');
    return EXIT.misused;
  }
  if (error instanceof Interrupted) {
    console.error(error.message);
    // All resources are closed. The interrupted work may still wait for the database.
    process.exit(error.exitCode);
  }
  if (error instanceof ConfigError) {
    console.error(error.message);
    return EXIT.misused;
  }
  const isExpected = isOperatorError(error) || EXPECTED.some((kind) => error instanceof kind);
  console.error(isExpected ? (error as Error).message : error);
  return EXIT.failed;
}
