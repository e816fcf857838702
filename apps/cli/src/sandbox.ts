import { LocalIssuer } from '@banking/process/local-issuer';
import { findUser, noteToken, type UserRow } from '@banking/operations/provisioning';
import { readDemoIds } from '@banking/operations/demo';
import type { Deployment } from '@banking/deployment';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { examples, nameArgument, jsonOption } from './inputs.js';
import { print, Refused, printJson, printTable } from './print.js';

const SECONDS_PER = { s: 1, m: 60, h: 3600 } as const;

/** The limit of the service. */
const LIFETIME_SECONDS_MAX = 24 * 3600;

interface TokenOptions {
  readonly lifetime: number;
}

export function addTokenCommand(program: Command): void {
  program
    .command('token')
    .summary('print a bearer token for a user')
    .description(
      'Prints a bearer token for a user, signed with the key of DATA_DIR, and nothing else.\n\n' +
        'If OIDC_ISSUER or OIDC_ISSUERS_FILE is set, an identity provider issues the tokens, and this command refuses. So it does with SANDBOX=off.',
    )
    .addArgument(nameArgument('<email>', 'e-mail of the user; see banking user list'))
    .addOption(
      new Option('--lifetime <duration>', 'validity of the token: a number with s, m or h, at most 24h')
        .argParser(parseLifetime)
        .default(8 * SECONDS_PER.h, '8h'),
    )
    .addHelpText(
      'after',
      examples(
        'npm run -s token -- ada@northwind.example',
        'banking token ada@northwind.example --lifetime 15m',
        'curl -H "Authorization: Bearer $(npm run -s token -- ada@northwind.example)" http://127.0.0.1:3000/apps',
      ),
    )
    .action(async (email: string, options: TokenOptions) => {
      print(await tokenFor(email, options));
    });
}

async function tokenFor(requested: string, options: TokenOptions): Promise<string> {
  const config = readConfig();
  const [issuer] = config.issuers;
  if (issuer !== undefined) {
    throw new Refused(`The identity provider ${issuer} issues the tokens (OIDC_ISSUER). Get a token from it.`);
  }
  if (!config.deployment.isSandbox) {
    throw new Refused('A live deployment accepts tokens of an identity provider only. Get a token from it.');
  }
  return withDeployment(async (deployment) => {
    const { id, email } = await storedUser(deployment, requested);
    const local = await LocalIssuer.open(config.deployment.dataDir);
    const token = await local.sign({ email, audience: config.audience, lifetimeSeconds: options.lifetime });
    await noteToken(deployment.database, id);
    return token;
  });
}

/** The user as the directory has it. */
async function storedUser({ database }: Deployment, requested: string): Promise<UserRow> {
  const user = await findUser(database, requested);
  if (user) return user;
  const demo = Object.keys((await readDemoIds(database))?.users ?? {});
  const hint = demo.length > 0 ? ` Users of the demo data: ${demo.join(', ')}.` : '';
  throw new Refused(`There is no user ${requested}. See banking user list.${hint}`);
}

function parseLifetime(text: string): number {
  const [, digits, unit] = /^([1-9][0-9]{0,5})([smh])$/.exec(text) ?? [];
  const seconds = Number(digits) * SECONDS_PER[unit as keyof typeof SECONDS_PER];
  if (!(seconds <= LIFETIME_SECONDS_MAX)) {
    throw new InvalidArgumentError('Write a whole number with s, m or h, such as 90s, 15m or 8h; at most 24h.');
  }
  return seconds;
}

const SINGULAR: Readonly<Record<string, string>> = {
  apps: 'app',
  users: 'user',
  workspaces: 'workspace',
  accounts: 'account',
  recipients: 'recipient',
  transfers: 'transfer',
};

export function addDemoCommand(program: Command): void {
  program
    .command('demo')
    .summary('print the ids of the demo data')
    .description(
      'Prints the ids of the demo data by name: apps, users, workspaces, accounts, recipients and transfers.\n\n' +
        'The embedded database gets the demo data when it is first opened. A PostgreSQL of your own gets it with DEMO_DATA=on.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('npm run -s demo', "npm run -s demo -- --json | jq '.transfers.internal'"))
    .action(async ({ json }: { json?: boolean }) => {
      const demo = await withDeployment(({ database }) => readDemoIds(database));
      if (!demo) {
        throw new Refused(
          'This deployment has no demo data. Set DEMO_DATA=on in a sandbox, and run this command again.',
        );
      }
      if (json) return printJson(demo);
      const rows = Object.entries(demo).flatMap(([kind, ids]) =>
        Object.entries(ids as Record<string, number>).map(([name, id]) => [SINGULAR[kind] ?? kind, name, id]),
      );
      printTable(['Kind', 'Name', 'Id'], rows, 'The demo data is empty.');
    });
}
