import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { BankingClient, ConnectionError, ServiceError, type WorkspaceView } from '@banking/client';
import {
  type AccountId,
  type WorkspaceId,
  type Approval,
  type ApprovalId,
  minorUnits,
  parseTransferAmount,
  type RecipientId,
  toTransferAmount,
} from '@banking/domain';
import { LocalIssuer } from '@banking/process/local-issuer';
import { FolderBank, requestOfBank } from '@banking/rails';
import { type DemoIds, readDemoIds } from '@banking/operations/demo';
import { orInterrupted, untilSignal, withDeployment } from '../deployment.js';
import { examples } from '../inputs.js';
import { print, Refused } from '../print.js';
import {
  PARTS,
  playArrival,
  playCells,
  playPart,
  type Stage,
  StoryEvents,
  addRecipient,
  follow,
  money,
  printBalance,
} from './play-story.js';
import { ownEnvironment } from '../config.js';

const ADA = 'ada@northwind.example';
const NORTHWIND = 'Northwind Trading';
const DANA = 'dana@northwind.example';
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
        'books, and removes all. The first payment arrives; the second comes back.\n\n' +
        'With --files, starts a service and a bank that exchange files of ISO 20022 in a temporary folder, makes the two payments over ' +
        'it, lets a third one arrive, compares the statement of the bank with the books, and removes all.\n\n' +
        'With --approvals, starts a service in a temporary folder, where large payments need a second person. One is approved and paid; ' +
        'one is rejected. Removes all.',
    )
    .addOption(
      new Option('--cells', 'pay between databases of a service of its own').conflicts(['url', 'files', 'approvals']),
    )
    .addOption(
      new Option('--files', 'pay over the files of a bank, on a service of its own').conflicts(['url', 'approvals']),
    )
    .addOption(new Option('--approvals', 'pay with a second person, on a service of its own').conflicts('url'))
    .addOption(
      new Option('--url <url>', 'URL of the service')
        .argParser(parseUrl)
        .default(new URL('http://127.0.0.1:3000'), 'http://127.0.0.1:3000'),
    )
    .addHelpText(
      'after',
      examples(
        'npm run story',
        'npm run story -- --url http://127.0.0.1:8080',
        'npm run story -- --cells',
        'npm run story -- --files',
        'npm run story -- --approvals',
      ),
    )
    .action(async ({ url, cells, files, approvals }: { url: URL; cells?: true; files?: true; approvals?: true }) => {
      if (cells) return untilSignal(playBetweenCells);
      if (files) return untilSignal(playOverFiles);
      if (approvals) return untilSignal(playWithApprovals);
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
  const service = await startOwnService(signal, { CELLS: '3' });
  try {
    await orInterrupted(signal, async () => {
      const { demo, viewOf } = await actorsOf(service);
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

async function playWithApprovals(signal: AbortSignal): Promise<void> {
  print('Starting a service, in a temporary folder.');
  const service = await startOwnService(signal, {});
  try {
    await orInterrupted(signal, async () => {
      const { demo, viewOf } = await actorsOf(service);
      print(`Ada of ${NORTHWIND} pays, and Dana approves.`);
      const [workspace, approver] = [await viewOf(ADA, NORTHWIND), await viewOf(DANA, NORTHWIND)];
      const accountId = demo.accounts[`${NORTHWIND} EUR`] as AccountId;
      const events = await StoryEvents.open({ workspace, print });
      await playApprovals({ workspace, approver, accountId, print, events });
      // It fails if there is a finding.
      await service.banking('verify');
      print('\nThe books are verified: in order.');
    });
  } finally {
    await service.close();
  }
}

/** The ids of the demo data of a service, and how its users see a workspace. */
async function actorsOf({ url, dataDir, banking }: OwnService) {
  const demo = JSON.parse(await banking('demo', '--json')) as DemoIds;
  const issuer = await LocalIssuer.open(dataDir);
  const viewOf = async (email: string, name: string): Promise<WorkspaceView> => {
    const token = await issuer.sign({ email, audience: OWN_AUDIENCE, lifetimeSeconds: TOKEN_S });
    return new BankingClient({ baseUrl: url, token }).workspace(demo.workspaces[name] as WorkspaceId);
  };
  return { demo, viewOf };
}

const READ_MS = 60_000;
const BANK_ACCOUNT = 'DE89370400440532013000';

/** Written as JSON, which is YAML. The accounts are those of a bank in a folder, which takes any number. */
const railsOf = (folder: string) =>
  JSON.stringify({
    rails: [
      {
        ...{ name: 'bank-a', kind: 'iso20022', testMode: true, folder, closeAfterSeconds: 1 },
        accounts: ['EUR', 'INR'].map((currency) => ({
          ...{ currency, iban: BANK_ACCOUNT, bic: 'COBADEFFXXX', holder: 'Harbour Ltd' },
        })),
      },
    ],
  });

async function playOverFiles(signal: AbortSignal): Promise<void> {
  print('Starting a service, and a bank that takes and sends files, in temporary folders.');
  const folder = await mkdtemp(join(tmpdir(), 'banking-story-bank-'));
  const bank = await FolderBank.open(folder, {
    ...{ delayMs: 500, opening: '1000000.00' },
    log: (line) => print(`  bank        ${line}`),
  });
  const closing = new AbortController();
  const banking = bank.run(closing.signal);
  try {
    const railsFile = join(folder, 'rails.yaml');
    await writeFile(railsFile, railsOf(folder));
    const service = await startOwnService(signal, { RAILS_FILE: railsFile });
    try {
      await orInterrupted(signal, () => playWithBank(service, folder));
    } finally {
      await service.close();
    }
  } finally {
    closing.abort();
    await banking;
    await bank.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function playWithBank(service: OwnService, folder: string): Promise<void> {
  const { demo, viewOf } = await actorsOf(service);
  const workspace = await viewOf(ADA, NORTHWIND);
  const accountId = demo.accounts[`${NORTHWIND} EUR`] as AccountId;
  const stage = { workspace, accountId, print, events: await StoryEvents.open({ workspace, print }) };
  for (const part of PARTS) await playPart(stage, part);
  await playArrival(stage, ({ amount, reference }) =>
    requestOfBank(folder, {
      kind: 'payment',
      amount,
      currency: 'EUR',
      to: BANK_ACCOUNT,
      reference,
      payer: 'Mia Stone',
    }),
  );
  print('\nThe statement of the bank');
  await requestOfBank(folder, { kind: 'statement' });
  await untilRead(folder);
  // Both fail if there is a difference or a finding.
  print(await service.banking('reconcile'));
  await service.banking('verify');
  print('The books are verified: in order.');
}

/** The statement is read when no file is left to read, and one of its kind was. */
async function untilRead(folder: string): Promise<void> {
  const isRead = async () => (await readdir(join(folder, 'done'))).some((name) => name.includes('camt.053'));
  for (const end = performance.now() + READ_MS; !(await isRead()); await pause(100)) {
    if (performance.now() > end) throw new Refused('The service did not read the statement of the bank in a minute.');
  }
}

/** Reads the account and signs the token. The payments then use the HTTP interface only. */
async function openStage(url: URL): Promise<Omit<Stage, 'events'>> {
  return withDeployment(async ({ database }, { issuers: [issuer], deployment: { dataDir }, audience }) => {
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
/** A first start makes the databases and the demo data. */
const START_MS = 180_000;

/** A service on embedded databases in a temporary folder, which ends with the story. */
interface OwnService {
  readonly url: string;
  readonly dataDir: string;
  /** Runs another command on the same databases and returns its output. @throws Refused with its standard error */
  banking(...args: string[]): Promise<string>;
  close(): Promise<void>;
}

/**
 * @param settings environment variables beside those of its folder and address
 * @throws Refused with its output if it does not start
 */
async function startOwnService(signal: AbortSignal, settings: Readonly<Record<string, string>>): Promise<OwnService> {
  const dataDir = await mkdtemp(join(tmpdir(), 'banking-story-'));
  const env = ownEnvironment({ DATA_DIR: dataDir, ...settings, PORT: '0', HOST: '127.0.0.1' });
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

/** The payer, and a second person of the same workspace. */
interface ApprovalsStage extends Stage {
  readonly approver: WorkspaceView;
}

const LARGE = minorUnits(100_000n);
const AMOUNT = minorUnits(250_000n);
const CURRENCY = 'EUR';

const DECISIONS = [
  { title: 'A payment that a second person approves', decision: 'approve', event: 'approval.approved' },
  { title: 'A payment that a second person rejects', decision: 'reject', event: 'approval.rejected' },
] as const;

/** Makes a rule for large orders, and two payments that it covers. */
async function playApprovals(stage: ApprovalsStage): Promise<void> {
  const { workspace, print } = stage;
  const { version } = await workspace.approvalRules.get();
  const amountAbove = [{ currencyCode: CURRENCY, amount: LARGE.toString() }];
  const rule = { operations: 'orders', approvals: 1, roles: ['approver'], amountAbove } as const;
  await workspace.approvalRules.replace({ version, rules: [rule] });
  print(`  rule        an order above ${money(LARGE, CURRENCY)} needs an approver`);
  const recipientID = await addRecipient(stage, PARTS[0]!);
  for (const part of DECISIONS) await playDecision(stage, recipientID, part);
}

async function playDecision(
  stage: ApprovalsStage,
  recipientID: RecipientId,
  { title, decision, event }: (typeof DECISIONS)[number],
): Promise<void> {
  const { workspace, approver, accountId, print, events } = stage;
  print(`\n${title}`);
  await printBalance(stage);
  const { resource: order } = await workspace.orders.place(
    {
      ...{ accountId, recipientID, amount: toTransferAmount(AMOUNT), type: 'instant', purposeCode: 'IR001' },
      description: title,
    },
    { idempotencyKey: `story-${crypto.randomUUID()}` },
  );
  const id = order.approvalID as ApprovalId;
  print(`  order       ${order.id} awaits approval ${id}`);
  await events.printUntil('approval.required', { type: 'approval', id });
  const { version } = await approver.approvals.get(id);
  const refused = await workspace.approvals.decide(id, { decision: 'approve', version }).catch((error: Error) => error);
  print(`  Ada         ${refused instanceof Error ? `cannot approve: ${refused.message}` : 'has approved'}`);
  const approval = await approver.approvals.get(id);
  print(`  Dana        sees ${describeShown(approval)}`);
  await approver.approvals.decide(id, { decision, version: approval.version });
  await events.printUntil(event, { type: 'approval', id });
  await follow(stage, order);
  await printBalance(stage);
}

/** What the maker saw. */
function describeShown({ shown }: Approval): string {
  const { amount, currencyCode, targetAmount, targetCurrencyCode, recipientName } = shown as Readonly<
    Record<string, string>
  >;
  const [given, taken] = [
    [amount, currencyCode],
    [targetAmount, targetCurrencyCode],
  ].map(([text = '', code = '']) => money(parseTransferAmount(text), code));
  return `${given} for ${recipientName}, who gets ${taken}`;
}
