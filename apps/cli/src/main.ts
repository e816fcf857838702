import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Refusal } from '@banking/domain';
import { LocalIssuerError } from '@banking/local-issuer';
import { DeploymentError, ExportError, ProvisioningError } from '@banking/operations';
import { DatabaseSetupError, EmbeddedServerError, MigrationError } from '@banking/postgres';
import { ConfigError } from '@banking/process';
import { Command, CommanderError } from 'commander';
import { addAppCommands } from './apps.js';
import { addDemoCommand } from './demo.js';
import { Interrupted } from './deployment.js';
import { addDiscrepancyCommands } from './discrepancy.js';
import { addExportCommand } from './export.js';
import { addFundCommand } from './fund.js';
import { addGrantCommands } from './grants.js';
import { onRequest } from './help.js';
import { refuseRepeatedOptions } from './inputs.js';
import { addMigrateCommand } from './migrate.js';
import { addOrderCommands } from './order.js';
import { addProveCommand } from './prove.js';
import { Refused } from './refused.js';
import { addStoryCommand } from './story/story.js';
import { addTokenCommand } from './token.js';
import { addUserCommands } from './users.js';
import { addVerifyCommand } from './verify.js';
import { addWorkCommands } from './work.js';
import { addWorkspaceCommands } from './workspaces.js';

/** 0 is good, and so is a signal's 128 and more for whoever sent it. */
const FAILED = 1;
const MISUSED = 2;

/** What a person can act on by its message alone; of anything else the stack is shown. */
const EXPECTED = [
  ...[Refused, Refusal, ProvisioningError, DeploymentError, ExportError, LocalIssuerError],
  ...[EmbeddedServerError, DatabaseSetupError, MigrationError],
];

const NOTES = `Configuration, by environment:
  DATA_DIR                   where the embedded database and the signing key are (.data)
  DATABASE_URL               a PostgreSQL of your own instead of the embedded one
  DATABASE_OWNER_URL         the login that may migrate and change the directory, if not DATABASE_URL
  DATABASE_TLS               on; off to connect to another host without proof of who answers
  DATABASE_POOL_SIZE         read as by the service, and not used here
  DATABASE_NAMED_STATEMENTS  on; off for PgBouncer before 1.21 in transaction mode
  SANDBOX                    on for demo money, off for real money (on without DATABASE_URL)
  DEMO_DATA                  on or off: whether the demo world is made (on without DATABASE_URL)
  OIDC_ISSUER                the identity provider tokens come from (none: the key in DATA_DIR)
  OIDC_AUDIENCE              the audience of tokens (banking-api)

Exit codes: 0 done; 1 refused or failed; 2 wrong usage or configuration.

Examples:
  $ npm run -s token -- ada@northwind.example
  $ npm run -s banking -- workspace list --json
  $ npm run -s banking -- grant add --help`;

function banking(): Command {
  const { version } = JSON.parse(readFileSync(join(__dirname, '../package.json'), 'utf8')) as { version: string };
  const program = new Command('banking')
    .description('Sets up and examines a deployment of the banking service, beside the running service or alone.')
    .version(version, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .exitOverride()
    .showHelpAfterError()
    .addHelpText('after', onRequest(NOTES));
  addTokenCommand(program);
  addDemoCommand(program);
  addMigrateCommand(program);
  addAppCommands(program);
  addUserCommands(program);
  addWorkspaceCommands(program);
  addGrantCommands(program);
  addFundCommand(program);
  addStoryCommand(program);
  addVerifyCommand(program);
  addWorkCommands(program);
  addDiscrepancyCommands(program);
  addOrderCommands(program);
  addExportCommand(program);
  addProveCommand(program);
  refuseRepeatedOptions(program);
  return program;
}

async function main(): Promise<number> {
  try {
    await banking().parseAsync(process.argv);
    return 0;
  } catch (error) {
    return explain(error);
  }
}

/** Says on standard error what went wrong, as far as it has not been said, and gives the exit code. */
function explain(error: unknown): number {
  if (error instanceof CommanderError) {
    if (error.exitCode === 0) return 0;
    if (error.code === 'commander.help') console.error('\nerror: one of the commands above is missing');
    return MISUSED;
  }
  if (error instanceof Interrupted) {
    console.error(error.message);
    // What had to be closed is closed; what was interrupted may still be waiting for an answer.
    process.exit(error.exitCode);
  }
  if (error instanceof ConfigError) {
    console.error(error.message);
    return MISUSED;
  }
  console.error(EXPECTED.some((kind) => error instanceof kind) ? (error as Error).message : error);
  return FAILED;
}

/** A reader that has seen enough, such as `head`, is no failure. */
for (const stream of [process.stdout, process.stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
  });
}

main().then(
  (exitCode) => (process.exitCode = exitCode),
  (error: unknown) => {
    console.error(error);
    process.exitCode = FAILED;
  },
);
