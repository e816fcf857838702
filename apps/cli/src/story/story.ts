import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { BankingClient, ConnectionError, ServiceError } from '@banking/client';
import type { AccountId, WorkspaceId } from '@banking/domain';
import { LocalIssuer } from '@banking/process/local-issuer';
import { type DemoIds, readDemoIds } from '@banking/operations/demo';
import { ownEnvironment } from '../config.js';
import { orInterrupted, untilSignal, withDeployment } from '../deployment.js';
import { examples } from '../inputs.js';
import { print, Refused } from '../print.js';
import { PARTS, playCells, playPart, type Stage, StoryEvents } from './play-story.js';

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

const API = resolve(__dirname, '../../../api/dist/main.js');
const CLI = resolve(__dirname, '../../dist/main.js');
/** A first start makes three databases and the demo data. */
const START_MS = 180_000;

/** A service with three embedded databases in a temporary folder, which ends with the story. */
interface OwnService {
  readonly url: string;
  readonly dataDir: string;
  /** Runs another command on the same databases and returns its output. @throws Refused with its standard error */
  banking(...args: string[]): Promise<string>;
  close(): Promise<void>;
}

/** @throws Refused with its output if it does not start */
async function startOwnService(signal: AbortSignal): Promise<OwnService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'banking-story-'));
  const env = ownEnvironment({ DATA_DIR: dataDir, CELLS: '3', PORT: '0', HOST: '127.0.0.1' });
  // In a process group of its own, so that Ctrl-C reaches it once, from here.
  const service = spawn(process.execPath, [API], { env, stdio: ['ignore', 'pipe', 'pipe'], detached: true });
  const ended = new Promise<void>((end) => service.once('close', () => end()));
  const close = async () => {
    service.kill('SIGINT');
    await ended;
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const url = await untilReady(service, ended, signal);
    return { url, dataDir, banking: (...args) => runBanking(env, args), close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function untilReady(service: ChildProcess, ended: Promise<void>, signal: AbortSignal): Promise<string> {
  let output = '';
  const ready = new Promise<string>((found) => {
    const take = (text: string) => {
      output += text;
      const [, url] = /^Ready on (http\S+)/m.exec(output) ?? [];
      if (url !== undefined) found(url);
    };
    for (const stream of [service.stdout, service.stderr]) stream?.setEncoding('utf8').on('data', take);
  });
  const limit = AbortSignal.any([signal, AbortSignal.timeout(START_MS)]);
  const stopped = new Promise<undefined>((stop) =>
    limit.addEventListener('abort', () => stop(undefined), { once: true }),
  );
  const url = await Promise.race([ready, ended.then(() => undefined), stopped]);
  signal.throwIfAborted();
  if (url === undefined) throw new Refused(`The service of the story did not start:\n${output}`);
  return url;
}

async function runBanking(env: Readonly<Record<string, string>>, args: readonly string[]): Promise<string> {
  try {
    return (await promisify(execFile)(process.execPath, [CLI, ...args], { env })).stdout;
  } catch (error) {
    throw new Refused((error as { readonly stderr?: string }).stderr ?? 'A command of the story failed.');
  }
}
