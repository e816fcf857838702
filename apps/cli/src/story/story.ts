import { BankingClient, ConnectionError, ServiceError } from '@banking/client';
import type { AccountId, WorkspaceId } from '@banking/domain';
import { LocalIssuer } from '@banking/local-issuer';
import { type DemoIds, readDemoIds } from '@banking/operations/demo';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { orInterrupted, untilSignal, withDeployment } from '../deployment.js';
import { examples } from '../help.js';
import { print } from '../print.js';
import { Refused } from '../refused.js';
import { startOwnService } from './own-service.js';
import { playCells } from './play-cells.js';
import { PARTS, playPart, type Stage } from './play-story.js';
import { StoryEvents } from './story-events.js';

const ADA = 'ada@northwind.example';
const NORTHWIND = 'Northwind Trading';
const EVE = 'eve@southwind.example';
const SOUTHWIND = 'Southwind Imports';
const TOKEN_S = 600;
/** The default of a service. */
const OWN_AUDIENCE = 'banking-api';

export function addStoryCommand(program: Command): void {
  program
    .command('story')
    .summary('make two payments that show how they end')
    .description(
      'Makes two international payments with the demo data, as a client of a running service. Prints recipient, quote, order, the ' +
        'statuses of the network, the events of each step, and the balance before and after. The first payment is credited; the second is returned.\n\n' +
        'The service must use this DATA_DIR and SANDBOX=on. The payments move demo money and leave two orders.\n\n' +
        'With --cells, starts a service with three databases in a temporary folder instead, pays twice between two of them, verifies the ' +
        'books, and removes all. The first payment arrives; the second comes back.',
    )
    .addOption(new Option('--cells', 'pay between databases of a service of its own').conflicts('url'))
    .addOption(
      new Option('--url <url>', 'URL of the service')
        .argParser(parseUrl)
        .default(new URL('http://127.0.0.1:3000'), 'http://127.0.0.1:3000'),
    )
    .addHelpText(
      'after',
      examples('npm run story', 'npm run story -- --url http://127.0.0.1:8080', 'npm run story -- --cells'),
    )
    .action(async ({ url, cells }: { url: URL; cells?: true }) => {
      if (cells) return untilSignal(playBetweenCells);
      const stage = await openStage(url);
      print(`Ada of ${NORTHWIND} makes two payments to India, on ${url.origin}.`);
      try {
        const events = await StoryEvents.open(stage);
        for (const part of PARTS) await playPart({ ...stage, events }, part);
      } catch (error) {
        throw explainError(error, url);
      }
    });
}

async function playBetweenCells(signal: AbortSignal): Promise<void> {
  print('Starting three databases and a service, in a temporary folder.');
  const service = await startOwnService(signal);
  try {
    await orInterrupted(signal, async () => {
      const demo = JSON.parse(await service.banking('demo', '--json')) as DemoIds;
      const issuer = await LocalIssuer.open(service.dataDir);
      const viewOf = async (email: string, name: string) => {
        const token = await issuer.sign({ email, audience: OWN_AUDIENCE, lifetimeSeconds: TOKEN_S });
        const workspaceId = demo.workspaces[name] as WorkspaceId;
        return new BankingClient({ baseUrl: service.url, token }).workspace(workspaceId);
      };
      print(await service.banking('workspace', 'list'));
      print(`Ada of ${NORTHWIND} pays Eve of ${SOUTHWIND}.`);
      const [workspace, payee] = [await viewOf(ADA, NORTHWIND), await viewOf(EVE, SOUTHWIND)];
      const accountId = demo.accounts[`${NORTHWIND} USD`] as AccountId;
      const events = await StoryEvents.open({ workspace, print });
      const payeeEvents = await StoryEvents.open({ workspace: payee, print, name: 'payee event' });
      await playCells({ workspace, payee, accountId, print, events, payeeEvents });
      // It fails if there is a finding.
      const { cells } = JSON.parse(await service.banking('verify', '--json')) as { readonly cells: object };
      print(`\nThe books of ${Object.keys(cells).join(', ')} and the payments between them are verified: in order.`);
    });
  } finally {
    await service.close();
  }
}

/** Reads the account and signs the token. The payments then use the HTTP interface only. */
async function openStage(url: URL): Promise<Omit<Stage, 'events'>> {
  return withDeployment(async ({ database }, { issuer, deployment: { dataDir }, audience }) => {
    if (issuer !== undefined) {
      throw new Refused(
        `The story needs a local token, but ${issuer} issues the tokens (OIDC_ISSUER). Run it without OIDC_ISSUER.`,
      );
    }
    const demo = await readDemoIds(database);
    const accountId = demo?.accounts[`${NORTHWIND} EUR`];
    const workspaceId = demo?.workspaces[NORTHWIND];
    if (accountId === undefined || workspaceId === undefined) {
      throw new Refused('This deployment has no demo data. Set DEMO_DATA=on, and start the service, which creates it.');
    }
    const token = await (await LocalIssuer.open(dataDir)).sign({ email: ADA, audience, lifetimeSeconds: TOKEN_S });
    const workspace = new BankingClient({ baseUrl: url, token }).workspace(workspaceId);
    return { workspace, accountId: accountId as AccountId, print };
  });
}

function explainError(error: unknown, url: URL): unknown {
  if (error instanceof ConnectionError) {
    return new Refused(
      `No service is reachable at ${url.origin}. Start it with npm start, or give its URL with --url.`,
    );
  }
  if (error instanceof ServiceError)
    return new Refused(`The service at ${url.origin} refused the request: ${error.message}`);
  return error;
}

function parseUrl(text: string): URL {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return new URL(text);
  throw new InvalidArgumentError('Write the URL of the service, such as http://127.0.0.1:3000.');
}
