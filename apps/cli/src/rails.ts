import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { Deployment } from '@banking/deployment';
import { countHeldPayouts, readOpenPayouts } from '@banking/payouts';
import { readSecretFile, SecretFileError } from '@banking/process';
import {
  type CheckResult,
  checkConformance,
  type FileRailStatus,
  type RailConfig,
  type Rails,
  readFileRailStatus,
  readRails,
  sandboxAdapter,
  BankRequestError,
  type BankRequest,
  FolderBank,
  FolderInUse,
  requestOfBank,
  UnusableFolder,
} from '@banking/rails';
import type { Database } from '@banking/postgres';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { readConfig } from './config.js';
import { orInterrupted, untilSignal, withDeployment } from './deployment.js';
import { onEachCell, printRows } from './each-cell.js';
import { examples, jsonOption, lookupArgument, lookupOption, nameOption, onRequest } from './inputs.js';
import { print, printJson, printTable, Refused, reportProgress } from './print.js';

interface JsonOption {
  readonly json?: boolean;
}

export function addRailCommands(program: Command): void {
  const rail = program
    .command('rail')
    .summary('list payment networks, their payouts, and check a bank adapter')
    .description(
      'Shows the payment networks (rails) of RAILS_FILE, which carry payouts. A payout is carried by the first one that serves its ' +
        'country, currency and payout method, and keeps it. See docs/connect-a-bank.md.',
    )
    .addHelpText('after', examples('banking rail list', 'banking rail check bank-a'));

  rail
    .command('list')
    .summary('list the payment networks and what they serve')
    .description('Lists the payment networks in the order in which they are asked whether they serve a payout.')
    .addOption(jsonOption())
    .addHelpText('after', examples('banking rail list --json'))
    .action(({ json }: JsonOption) => {
      const { configured } = readRails(readConfig().deployment);
      if (json) return printJson(configured.map(shownRail));
      printTable(
        ['Rail', 'Kind', 'Serves', 'Accounts'],
        configured.map((one) => [one.name, one.kind, servesOf(one), accountsOf(one)]),
        'This deployment has no payment network.',
      );
    });

  rail
    .command('status')
    .summary('show the open payouts of each payment network')
    .description(
      'Shows how many payouts of each payment network are held, due, being submitted, submitted and parked, and for how long the oldest one ' +
        'waits to be submitted. A held payout waits for a decision: see banking payout list. Counts the 250 payouts whose next step is the ' +
        'soonest, 250 that are parked, and 1000 that are held. A network that is not ' +
        'configured is shown while it has open payouts: they wait until it is in RAILS_FILE again.\n\nOf a bank with files: payments ' +
        'that wait for a file, files that are not handed over, files of the bank that are not read and that were refused, and notes on those ' +
        'that were read within a week.\n\nOf ' +
        'several databases, all are shown, or the one of CELL.',
    )
    .addOption(jsonOption())
    .addHelpText('after', examples('banking rail status'))
    .action(async ({ json }: JsonOption) => {
      const rails = readRails(readConfig().deployment);
      const read = await onEachCell((deployment) => statusOf(deployment, rails), { changesNothing: true });
      const list = printRows(read, json, {
        head: ['Rail', 'Held', 'Due', 'Submitting', 'Submitted', 'Parked', 'Oldest waits', ''],
        cells: ({ rail: name, held, due, submitting, submitted, parked, oldestWaitingSeconds, isConfigured }) => [
          ...[name, held, due, submitting, submitted, parked],
          ...[oldestWaitingSeconds === null ? '' : `${oldestWaitingSeconds} s`, isConfigured ? '' : 'not configured'],
        ],
        none: 'This deployment has no payment network.',
      });
      if (!json) printFiles(list);
      read.end();
    });

  addCheckCommand(rail);
  addAdapterCommand(rail);
}

const shownRail = ({ name, kind, serves, ...rail }: RailConfig) => ({
  ...{ name, kind, serves: serves ?? [] },
  accounts: 'accounts' in rail ? rail.accounts.map(({ currency, id, bic }) => ({ currency, id, bic })) : [],
});

function servesOf({ serves }: RailConfig): string {
  if (serves === undefined) return 'all';
  return serves
    .map(({ payoutMethod, countries, currencies }) =>
      [payoutMethod, countries?.join(' '), currencies?.join(' ')].filter((part) => part !== undefined).join(', '),
    )
    .join('; ');
}

const accountsOf = (rail: RailConfig): string =>
  'accounts' in rail ? rail.accounts.map(({ currency, id }) => `${currency} ${id}`).join(', ') : '';

/** The open payouts of a network. */
interface RailStatus {
  readonly rail: string;
  readonly isConfigured: boolean;
  /** They wait for a decision, and are not due. */
  readonly held: number;
  readonly due: number;
  readonly submitting: number;
  readonly submitted: number;
  readonly parked: number;
  /** Null if none waits to be submitted. */
  readonly oldestWaitingSeconds: number | null;
  /** Of a bank with files. */
  readonly files?: FileRailStatus;
}

/** A command may run where the folder of the bank is not. */
const NO_FOLDER = 'no folder here';

function printFiles(list: readonly RailStatus[]): void {
  const rows = list.flatMap(({ rail, files }) =>
    files
      ? [
          [
            rail,
            files.paymentsWaiting,
            files.filesUnwritten,
            files.filesUnread ?? NO_FOLDER,
            files.filesRefused ?? NO_FOLDER,
          ],
        ]
      : [],
  );
  if (rows.length === 0) return;
  print('');
  printTable(['Rail', 'Payments for a file', 'Files not handed over', 'Files not read', 'Files refused'], rows, '');
  const notes = list.flatMap(({ rail, files }) =>
    (files?.notes ?? []).map(({ file, receivedAt, note }) => [rail, file, receivedAt, note]),
  );
  if (notes.length === 0) return;
  print('');
  printTable(['Rail', 'File of the bank', 'Received', 'Note'], notes, '');
}

async function statusOf({ database }: Deployment, rails: Rails): Promise<readonly RailStatus[]> {
  const configured = rails.names;
  const [open, allHeld, files] = await Promise.all([
    readOpenPayouts(database),
    countHeldPayouts(database),
    filesOf(database, rails),
  ]);
  const names = [...new Set([...configured, ...[...open, ...allHeld].map(({ rail }) => rail)])];
  return names.map((rail) => {
    const own = open.filter((row) => row.rail === rail);
    const count = (status: string) => own.find((row) => row.status === status)?.payouts ?? 0;
    const waiting = own.filter(({ status }) => status === 'due' || status === 'submitting');
    return {
      ...{ rail, isConfigured: configured.includes(rail) },
      held: allHeld.find((row) => row.rail === rail)?.payouts ?? 0,
      ...{ due: count('due'), submitting: count('submitting'), submitted: count('submitted'), parked: count('parked') },
      oldestWaitingSeconds: waiting.length === 0 ? null : Math.max(...waiting.map(({ seconds }) => seconds)),
      ...files.get(rail),
    };
  });
}

async function filesOf(database: Database, { configured }: Rails) {
  const found = configured.flatMap((rail) => (rail.kind === 'iso20022' ? [rail] : []));
  const read = found.map(async (rail) => [rail.name, { files: await readFileRailStatus(database, rail) }] as const);
  return new Map(await Promise.all(read));
}

function addCheckCommand(rail: Command): void {
  rail
    .command('check')
    .summary('check a bank adapter in its test mode')
    .description(
      'Checks whether the adapter of a payment network has the contract, and prints for each check what to change. It makes payments ' +
        'of 123.45, so it needs SANDBOX=on, and testMode: true at the network in RAILS_FILE. It takes up to some minutes, because ' +
        'it waits for the events of these payments.\n\nExit code 1 if a check is not met.',
    )
    .addArgument(lookupArgument('<name>', 'name of the payment network; see banking rail list'))
    .addOption(jsonOption())
    .addHelpText('after', examples('SANDBOX=on banking rail check bank-a'))
    .action(async (name: string, { json }: JsonOption) => {
      const config = readRails(readConfig().deployment, 'payouts').configured.find((one) => one.name === name);
      if (!config) throw new Refused(`There is no rail ${name}. See banking rail list.`);
      if (config.kind !== 'http') throw new Refused(`The rail ${name} has no adapter to check.`);
      if (!config.isTestMode) {
        throw new Refused(
          `The rail ${name} moves money, and the check makes payments of 123.45. Name its adapter in test mode in RAILS_FILE, with ` +
            'testMode: true, and set SANDBOX=on.',
        );
      }
      const results = await untilSignal((signal) =>
        orInterrupted(signal, () =>
          checkConformance(config, { onResult: ({ check }) => reportProgress(`Checked: ${check}.`) }),
        ),
      );
      if (json) printJson(results);
      else printTable(['Check', 'Result', 'What to change'], results.map(rowOf), '');
      const unmet = results.filter(({ isMet }) => !isMet).length;
      if (unmet > 0) throw new Refused(unmet === 1 ? 'One check is not met.' : `${unmet} checks are not met.`);
    });
}

const rowOf = ({ check, isMet, change }: CheckResult) => [check, isMet ? 'met' : 'not met', change ?? ''];

interface AdapterOptions {
  readonly port: number;
  readonly tokenFile: string;
}

function addAdapterCommand(rail: Command): void {
  rail
    .command('adapter')
    .summary('offer the sandbox network as a bank adapter')
    .description(
      'Serves the sandbox network over HTTP with the contract of a bank adapter, on a loopback address, until it is stopped. It ' +
        'moves no money: the end of the account number selects the outcome, as docs/integrate/sandbox.md lists. It remembers payments ' +
        'in the database of DATA_DIR or DATABASE_URL, which must not be that of the service: set a DATA_DIR of its own.',
    )
    .addOption(
      new Option('--port <port>', 'port to listen on; 0 for any free one').argParser(parsePort).makeOptionMandatory(),
    )
    .addOption(lookupOption('--token-file <file>', 'file with the token that callers send').makeOptionMandatory())
    .addHelpText('after', examples('DATA_DIR=.data/bank banking rail adapter --port 4000 --token-file bank.token'))
    .action(async ({ port, tokenFile }: AdapterOptions) => {
      const token = tokenOf(tokenFile);
      await withDeployment(async ({ database }, { deployment }) => {
        if (!deployment.isSandbox) throw new Refused('The adapter moves no money. Set SANDBOX=on.');
        const server = sandboxAdapter({ database, token });
        server.listen(port, '127.0.0.1');
        await once(server, 'listening');
        print(`Listening at http://127.0.0.1:${(server.address() as AddressInfo).port}`);
        await once(server, 'close');
      });
    });
}

function tokenOf(file: string): string {
  try {
    return readSecretFile(file);
  } catch (error) {
    if (!(error instanceof SecretFileError)) throw error;
    throw new Refused(`The token file ${error.message}.`);
  }
}

function parsePort(text: string): number {
  if (!/^[0-9]{1,5}$/.test(text) || Number(text) > 65_535) {
    throw new InvalidArgumentError('Write a port from 0 to 65535.');
  }
  return Number(text);
}

interface BankOptions {
  readonly delay: number;
  readonly opening: string;
  readonly statementEvery?: number;
  readonly once?: boolean;
  readonly statement?: boolean;
  readonly pay?: string;
  readonly currency?: string;
  readonly to?: string;
  readonly reference?: string;
  readonly payer?: string;
  readonly payerAccount?: string;
}

const OUTCOMES = `The end of the payee's account selects the outcome, as docs/integrate/sandbox.md lists; 9025 is paid and returned.

Folders: out (payments that it takes), in (reports, notifications and statements that it sends), bank (what it remembers).`;

export function addBankCommand(program: Command): void {
  program
    .command('bank')
    .summary('play a bank that takes and sends files in a folder')
    .description(
      'Plays a bank behind the folder of a rail of the kind iso20022, for development and tests. It moves no money and needs no ' +
        'database. It takes files of payments (pain.001.001.03 and .09), refuses those that a bank refuses, and sends statuses ' +
        '(pain.002.001.10), notifications (camt.054.001.08) and statements (camt.053.001.08). It opens an account for each debtor that ' +
        'it sees. It runs until it is stopped, and continues where it was.\n\n' +
        'With --pay or --statement, it asks the running bank, or else carries that out and ends.',
    )
    .addArgument(lookupArgument('<folder>', 'folder of the rail; it is made if there is none'))
    .addOption(
      durationOption('--delay <duration>', 'time for what takes the sandbox network a second: 0s for none').default(
        1_000,
        '1s',
      ),
    )
    .addOption(
      new Option('--opening <amount>', 'what an account holds when it is opened')
        .argParser(parseOpening)
        .default('1000000.00'),
    )
    .addOption(durationOption('--statement-every <duration>', 'time between statements (none)'))
    .addOption(new Option('--once', 'take what is there, send what is due, and end'))
    .addOption(new Option('--statement', 'send a statement of each account now').conflicts('pay'))
    .addOption(nameOption('--pay <amount>', 'credit an account with an incoming payment: 1250.00'))
    .addOption(nameOption('--currency <code>', 'currency of the payment, ISO 4217 (EUR)'))
    .addOption(nameOption('--to <account>', 'number of the account that is credited'))
    .addOption(nameOption('--reference <text>', 'text of the payment, or a creditor reference (ISO 11649)'))
    .addOption(nameOption('--payer <name>', 'name of the payer (Mia Stone)'))
    .addOption(nameOption('--payer-account <account>', 'number of the account of the payer'))
    .addHelpText('after', onRequest(OUTCOMES))
    .addHelpText(
      'after',
      examples(
        'npm run -s bank -- .data/bank-files',
        'banking bank .data/bank-files --delay 0s --once',
        'banking bank .data/bank-files --pay 1250.00 --to DE89370400440532013000 --reference NW0000000001',
        'banking bank .data/bank-files --statement',
      ),
    )
    .action(async (folder: string, options: BankOptions, command: Command) => {
      const request = requestOf(options, command);
      if (request) await asked(folder, request);
      await work(folder, options, request !== undefined);
    });
}

function requestOf({ statement, pay, ...options }: BankOptions, command: Command): BankRequest | undefined {
  const { currency = 'EUR', to, reference, payer = 'Mia Stone', payerAccount } = options;
  if (statement) return { kind: 'statement' };
  if (pay === undefined) {
    const stray = (['currency', 'to', 'reference', 'payer', 'payerAccount'] as const).some(
      (name) => options[name] !== undefined,
    );
    if (stray) command.error('error: options of a payment need --pay <amount>');
    return undefined;
  }
  if (to === undefined) return command.error("error: '--pay <amount>' and '--to <account>' are needed together");
  return { kind: 'payment', amount: pay, currency, to, reference, payer, payerAccount };
}

async function asked(folder: string, request: BankRequest): Promise<void> {
  try {
    await requestOfBank(folder, request);
  } catch (error) {
    const isExpected = error instanceof BankRequestError || error instanceof UnusableFolder;
    throw isExpected ? new Refused(error.message) : error;
  }
}

async function work(
  folder: string,
  { delay, opening, statementEvery, once }: BankOptions,
  isRequest: boolean,
): Promise<void> {
  let bank: FolderBank;
  try {
    const settings = { delayMs: delay, opening, statementEveryMs: statementEvery, log: print };
    bank = await FolderBank.open(folder, settings);
  } catch (error) {
    if (error instanceof UnusableFolder) throw new Refused(error.message);
    if (!(error instanceof FolderInUse)) throw error;
    if (isRequest) return print('The running bank carries it out.');
    throw new Refused(`${error.message} Stop it first, or use another folder.`);
  }
  try {
    if (once === true || isRequest) return await bank.step();
    await untilSignal(async (signal) => {
      print(`The bank works in ${folder}. Stop it with Ctrl+C.`);
      await bank.run(signal);
      signal.throwIfAborted();
    });
  } finally {
    await bank.close();
  }
}

const MS_PER = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 } as const;
const durationOption = (flags: string, description: string): Option =>
  new Option(flags, `${description}, a number with ms, s, m or h`).argParser(parseDuration);

function parseDuration(text: string): number {
  const [, digits, unit] = /^(0|[1-9][0-9]{0,5})(ms|[smh])$/.exec(text) ?? [];
  if (digits === undefined)
    throw new InvalidArgumentError('Write a whole number with ms, s, m or h, such as 500ms or 2s.');
  return Number(digits) * MS_PER[unit as keyof typeof MS_PER];
}

function parseOpening(text: string): string {
  if (!/^(?:0|[1-9][0-9]{0,11})(?:\.[0-9]{1,4})?$/.test(text)) {
    throw new InvalidArgumentError(
      'Write whole units of the currency with a point before the decimals, such as 1000000.00.',
    );
  }
  return text;
}
