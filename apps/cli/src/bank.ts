import { BankRequestError, type BankRequest, FolderBank, FolderInUse, requestOfBank } from '@banking/rails';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { untilSignal } from './deployment.js';
import { examples, lookupArgument, nameOption, onRequest } from './inputs.js';
import { print, Refused } from './print.js';

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
    throw error instanceof BankRequestError ? new Refused(error.message) : error;
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
