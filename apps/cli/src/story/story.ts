import { BankingClient, ConnectionError, ServiceError } from '@banking/client';
import type { AccountId } from '@banking/domain';
import { LocalIssuer } from '@banking/local-issuer';
import { readDemoWorld } from '@banking/operations';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { withDeployment } from '../deployment.js';
import { examples } from '../help.js';
import { print } from '../print.js';
import { Refused } from '../refused.js';
import { PARTS, playPart, type Stage } from './play-story.js';

const ADA = 'ada@northwind.example';
const NORTHWIND = 'Northwind Trading';
const TOKEN_S = 600;

export function addStoryCommand(program: Command): void {
  program
    .command('story')
    .summary('play two payments abroad against a running service')
    .description(
      'Plays two payments of the demo world against a running service, as its client: recipient, quote, order, and what the ' +
        'network says of it, with the balance before and after. The first arrives; the second is sent back.\n\n' +
        'The service must be one of this DATA_DIR, with its sandbox on. Moves play money only, and leaves two orders behind.',
    )
    .addOption(
      new Option('--url <url>', 'where the service answers')
        .argParser(parseUrl)
        .default(new URL('http://127.0.0.1:3000'), 'http://127.0.0.1:3000'),
    )
    .addHelpText('after', examples('npm run story', 'npm run story -- --url http://127.0.0.1:8080'))
    .action(async ({ url }: { url: URL }) => {
      const stage = await setStage(url);
      print(`Ada of ${NORTHWIND} pays somebody in India twice, at ${url.origin}.`);
      try {
        for (const part of PARTS) await playPart(stage, part);
      } catch (error) {
        throw explained(error, url);
      }
    });
}

/** Everything that has to be read here, so that the play itself needs nothing but the service. */
async function setStage(url: URL): Promise<Stage> {
  return withDeployment(async ({ database }, { issuer, deployment: { dataDir }, audience }) => {
    if (issuer !== undefined) throw new Refused(`The story is of the demo world, and tokens come from ${issuer} here (OIDC_ISSUER).`); // prettier-ignore
    const demo = await readDemoWorld(database);
    const accountId = demo?.accounts[`${NORTHWIND} EUR`];
    const workspaceId = demo?.workspaces[NORTHWIND];
    if (accountId === undefined || workspaceId === undefined) {
      throw new Refused('There is no demo world here. Set DEMO_DATA=on and start the service: it makes one.');
    }
    const token = await (await LocalIssuer.open(dataDir)).sign({ email: ADA, audience, lifetimeSeconds: TOKEN_S });
    const workspace = new BankingClient({ baseUrl: url, token }).workspace(workspaceId);
    return { workspace, accountId: accountId as AccountId, say: print };
  });
}

function explained(error: unknown, url: URL): unknown {
  if (error instanceof ConnectionError) {
    return new Refused(`Nobody answers at ${url.origin}. Start the service (npm start), or name it with --url.`);
  }
  if (error instanceof ServiceError) return new Refused(`${url.origin} is not this service: ${error.message}`);
  return error;
}

function parseUrl(text: string): URL {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new InvalidArgumentError('Write where the service answers, such as http://127.0.0.1:3000.');
}
