import { addEmbeddedOperator, OPERATOR_ROLES } from '@banking/postgres';
import { Argument, type Command, InvalidArgumentError } from 'commander';
import { readConfig } from './config.js';
import { reachDatabase, withDeployment } from './deployment.js';
import { examples, type JsonOptions, jsonOption } from './inputs.js';
import { print, printJson, Refused } from './print.js';

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
      'Adds a login to the embedded database, and prints the DATABASE_URL of its commands. It has no password: a user of the machine who may use DATA_DIR may ' +
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
      if (json) return printJson({ login, url });
      print(`Added the login ${login}. While the service runs, its commands are run with:`);
      print(`  DATABASE_URL=${url}`);
    });
}

function parseLogin(text: string): string {
  if (!/^[a-z][a-z0-9_]{0,30}$/.test(text) || /^(pg|banking)_/.test(text)) {
    throw new InvalidArgumentError('Write at most 31 small letters, digits and underscores, such as lena.');
  }
  return text;
}
