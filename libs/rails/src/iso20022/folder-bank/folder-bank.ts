import { createHash, randomBytes } from 'node:crypto';
import { createReadStream, existsSync } from 'node:fs';
import { open, readdir, readFile, rename, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { isCurrencyCode, minorUnits, parseAmount, Refusal, toDecimal } from '@banking/domain';
import { isValidIBAN } from 'ibantools';
import { type BankState, type DueStep, type Entry, loadState, PART, saveState, writeDurably } from './bank-state.js';
import { syncFolder } from '../durable-files.js';
import { ensureFolder } from '../ensure-folder.js';
import { accountIn, acceptMessage, book, carryOut, entryOf, nextReference, type Opening } from './book-payments.js';
import { checkPayments, type Reason } from './check-payments.js';
import { readPaymentMessage, UnreadableMessage } from './read-payment-message.js';
import { type MessageHead, notification, statementOf, statusReport } from './write-messages.js';

export interface FolderBankOptions {
  /** How long the bank takes for what takes the sandbox network a second. */
  readonly delayMs: number;
  readonly opening: Opening;
  readonly statementEveryMs?: number | undefined;
  readonly now?: () => Date;
  /** Is given a line for each file and each payment. */
  readonly log?: (line: string) => void;
}

/** What a person asks of the bank. */
export type BankRequest =
  | { readonly kind: 'statement' }
  | {
      readonly kind: 'payment';
      /** A decimal. */
      readonly amount: string;
      readonly currency: string;
      /** The account that is credited. */
      readonly to: string;
      readonly reference?: string | undefined;
      readonly payer: string;
      readonly payerAccount?: string | undefined;
    };

interface OutgoingFile {
  readonly name: string;
  readonly text: string;
}

/** How many requests the bank remembers: more than are waiting at a time. */
const HANDLED_MAX = 1_000;
const POLL_MS = 200;

/** ISO 11649, without spaces. */
const CREDITOR_REFERENCE = /^RF[0-9]{2}[A-Z0-9]{1,21}$/;

/** Another process is the bank of the folder. */
export class FolderInUse extends Error {
  override readonly name = 'FolderInUse';
}

/** The folder cannot be made. The message says what to change. */
export class UnusableFolder extends Error {
  override readonly name = 'UnusableFolder';
}

/** A request that is none. The message says why. */
export class BankRequestError extends Error {
  override readonly name = 'BankRequestError';
}

/**
 * A bank for development and tests that moves no money: it takes files of payments from `out`, and puts reports, notifications and
 * statements into `in`. What it remembers is in `bank`. It opens an account for each debtor that it sees.
 *
 * It can be killed at any time. Files that it sends are complete in `bank/ready` first. The state then says at once what was booked and
 * that they belong into `in`, and a rename hands each over. So each is sent once.
 */
export class FolderBank {
  private readonly bank: string;
  private readonly now: () => Date;
  private readonly log: (line: string) => void;

  private constructor(
    private readonly folder: string,
    private readonly options: FolderBankOptions,
    private readonly state: BankState,
  ) {
    this.bank = join(folder, 'bank');
    this.now = options.now ?? (() => new Date());
    this.log = (line) => options.log?.(line.replace(/\p{Cc}/gu, ' '));
  }

  /** @throws FolderInUse, UnusableFolder */
  static async open(folder: string, options: FolderBankOptions): Promise<FolderBank> {
    await makeFolders(folder);
    await lock(lockOf(folder));
    const bank = new FolderBank(folder, options, await loadState(join(folder, 'bank', 'state.json')));
    await bank.recover();
    return bank;
  }

  async close(): Promise<void> {
    await unlink(lockOf(this.folder));
  }

  /** Milliseconds since 1970; undefined if nothing is due later. */
  get nextDueAt(): number | undefined {
    return this.state.due[0]?.at;
  }

  /** Balances in minor units, of the accounts and of the world outside of them. Their sum is zero in each currency. */
  balances(): readonly { readonly account?: string; readonly currency: string; readonly balance: bigint }[] {
    return [
      ...this.state.accounts.map(({ id, currency, balance }) => ({ account: id, currency, balance: BigInt(balance) })),
      ...Object.entries(this.state.outside).map(([currency, balance]) => ({ currency, balance: BigInt(balance) })),
    ];
  }

  /** Takes what is there, and sends what is due. */
  async step(): Promise<void> {
    for (const name of await filesIn(join(this.folder, 'out'), '.xml')) await this.take(name);
    for (const name of await filesIn(join(this.bank, 'requests'), '.json')) await this.handle(name);
    for (;;) {
      const [step] = this.state.due;
      if (!step || step.at > this.now().getTime()) break;
      await this.send(step);
    }
    const every = this.options.statementEveryMs;
    const { nextStatementAt } = this.state;
    if (every === undefined) return;
    const now = this.now().getTime();
    if (nextStatementAt !== undefined && nextStatementAt > now) return;
    this.state.nextStatementAt = now + every;
    await this.commit(nextStatementAt === undefined ? [] : this.statements());
  }

  /** Steps until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.step();
      const wait = Math.min(POLL_MS, Math.max(0, (this.nextDueAt ?? Infinity) - this.now().getTime()));
      await new Promise<void>((done) => {
        const timer = setTimeout(end, wait);
        signal.addEventListener('abort', end, { once: true });
        function end() {
          clearTimeout(timer);
          signal.removeEventListener('abort', end);
          done();
        }
      });
    }
  }

  private async recover(): Promise<void> {
    for (const name of await readdir(this.bank)) if (name.endsWith(PART)) await unlink(join(this.bank, name));
    const ready = join(this.bank, 'ready');
    for (const name of await readdir(ready)) {
      if (this.state.ready.includes(name)) await rename(join(ready, name), join(this.folder, 'in', name));
      else await unlink(join(ready, name));
    }
    await syncFolder(join(this.folder, 'in'));
  }

  /** Makes all changes of the state last, and hands the files over. */
  private async commit(files: readonly OutgoingFile[]): Promise<void> {
    const ready = join(this.bank, 'ready');
    for (const { name, text } of files) await writeDurably(join(ready, name), text);
    this.state.ready = files.map(({ name }) => name);
    await saveState(join(this.bank, 'state.json'), this.state);
    for (const { name } of files) {
      await rename(join(ready, name), join(this.folder, 'in', name));
      this.log(`sent     ${name}`);
    }
    if (files.length > 0) await syncFolder(join(this.folder, 'in'));
  }

  private async take(name: string): Promise<void> {
    const path = join(this.folder, 'out', name);
    const digest = await digestOf(path);
    // The state had it taken, and the bank was killed before it was moved.
    const unmoved = this.state.taken.find(
      (file) => file.name === name && file.digest === digest && !existsSync(join(this.bank, file.movedTo)),
    );
    if (unmoved) return rename(path, join(this.bank, unmoved.movedTo));

    const reason = await this.decide(path, name);
    const movedTo = join(reason ? 'refused' : 'taken', `${nextReference(this.state)}-${name}`);
    this.state.taken.push({ name, digest, movedTo });
    this.state.due.sort((one, other) => one.at - other.at);
    await this.commit([]);
    await rename(path, join(this.bank, movedTo));
  }

  /** Puts what the bank will do with a file into the state. Returns why it is refused as a whole. */
  private async decide(path: string, name: string): Promise<Reason | undefined> {
    const now = this.now();
    const refuse = (reason: Reason, messageId = 'NOTPROVIDED', message = 'pain.001'): Reason => {
      this.log(`refused  ${name}: ${reason.code} ${reason.text}`);
      const group = { status: 'RJCT', reason: reason.code, text: reason.text };
      this.state.due.push({
        at: now.getTime(),
        messageId: messageId.slice(0, 35),
        message,
        group,
        groups: [],
        payments: [],
        returns: [],
      });
      return reason;
    };
    let message;
    try {
      message = await readPaymentMessage(path);
    } catch (error) {
      if (!(error instanceof UnreadableMessage)) throw error;
      return refuse({ code: 'FF01', text: error.message }, error.messageId, error.messageName);
    }
    if (Object.hasOwn(this.state.messages, message.id)) {
      return refuse({ code: 'AM05', text: 'The bank has a message with this MsgId.' }, message.id, message.name);
    }
    const verdict = checkPayments(message, now);
    if (verdict.reason) return refuse(verdict.reason, message.id, message.name);

    const { delayMs, opening } = this.options;
    const { taken, steps } = acceptMessage(this.state, message, verdict, { now, delayMs, opening });
    this.state.messages[message.id] = taken;
    this.state.due.push(...steps);
    this.log(`took     ${name}: message ${message.id} with ${taken.payments.length} payments`);
    return undefined;
  }

  private async send(step: DueStep): Promise<void> {
    const now = this.now();
    const { reported, entries } = carryOut(this.state, step, now.toISOString().slice(0, 10));
    const message = this.state.messages[step.messageId];
    this.state.due.shift();
    const files: OutgoingFile[] = [];
    if (reported.group || reported.groups.length + reported.payments.length > 0) {
      files.push(this.file('pain.002', now, (head) => statusReport(head, reported, message)));
    }
    for (const { payment: place, status, reason = '' } of reported.payments) {
      const { endToEndId, amount, account } = message!.payments[place]!;
      const { currency } = this.state.accounts[account] ?? {};
      const money = currency === undefined ? '' : ` ${toDecimal(minorUnits(BigInt(amount)), currency)} ${currency}`;
      this.log(`status   ${endToEndId}${money}: ${status} ${reason}`.trimEnd());
    }
    await this.commit([...files, ...this.notifications(entries, now)]);
  }

  private notifications(entries: ReadonlyMap<number, readonly Entry[]>, now: Date): readonly OutgoingFile[] {
    return [...entries].map(([place, booked]) => {
      const account = this.state.accounts[place]!;
      for (const { direction, amount, reference } of booked) {
        const money = toDecimal(minorUnits(BigInt(amount)), account.currency);
        this.log(`${direction.padEnd(8)} ${reference}: ${money} ${account.currency}`);
      }
      return this.file('camt.054', now, (head) => notification(head, account, booked));
    });
  }

  private statements(): readonly OutgoingFile[] {
    const now = this.now();
    return this.state.accounts.map((account) => {
      account.sequence += 1;
      const file = this.file('camt.053', now, (head) =>
        statementOf(head, account, {
          ...{ sequence: account.sequence, opening: BigInt(account.closing), openedOn: account.closedOn },
          ...{ closing: BigInt(account.balance), entries: account.unstated },
        }),
      );
      account.closing = account.balance;
      account.closedOn = now.toISOString().slice(0, 10);
      account.unstated = [];
      return file;
    });
  }

  private file(kind: string, now: Date, write: (head: MessageHead) => string): OutgoingFile {
    const id = nextReference(this.state);
    return { name: `${id}-${kind}.xml`, text: write({ id, now }) };
  }

  private async handle(name: string): Promise<void> {
    const path = join(this.bank, 'requests', name);
    // A request that was carried out, and the bank was killed before it was deleted.
    if (!this.state.handled.includes(name)) {
      const files = this.filesFor(await requestIn(path));
      this.state.handled = [...this.state.handled, name].slice(-HANDLED_MAX);
      await this.commit(files);
    }
    await unlink(path);
  }

  private filesFor(request: BankRequest | undefined): readonly OutgoingFile[] {
    if (!request) {
      this.log('A request is none, and is not carried out.');
      return [];
    }
    if (request.kind === 'statement') {
      if (this.state.accounts.length === 0) this.log('No account is open yet, so there is no statement.');
      return this.statements();
    }
    const now = this.now();
    const on = now.toISOString().slice(0, 10);
    const { amount, currency, to, reference, payer, payerAccount } = request;
    const isStructured = reference !== undefined && CREDITOR_REFERENCE.test(reference);
    const place = accountIn(this.state, { id: to, isIban: isValidIBAN(to), currency }, this.options.opening, on);
    const entry = entryOf(this.state, 'credit', on, currency === 'EUR', [
      {
        amount: parseAmount(amount, currency).toString(),
        // What banks write where the payer has given none (EPC, AT-T014).
        endToEndId: 'NOTPROVIDED',
        party: { name: payer, account: payerAccount, isIban: payerAccount !== undefined && isValidIBAN(payerAccount) },
        remittance: reference === undefined || isStructured ? [] : [reference],
        creditorReference: isStructured ? reference : undefined,
      },
    ]);
    book(this.state, place, entry);
    return this.notifications(new Map([[place, [entry]]]), now);
  }
}

/** Of this process, so that its requests of one millisecond stay in their order. */
let requests = 0;

/**
 * Leaves a request for the bank of a folder, which carries it out when it runs.
 *
 * @throws BankRequestError, UnusableFolder
 */
export async function requestOfBank(folder: string, request: BankRequest): Promise<void> {
  if (request.kind === 'payment') refuseFaults(request);
  await makeFolders(folder);
  requests += 1;
  const name = `${Date.now()}-${String(requests).padStart(6, '0')}-${randomBytes(6).toString('hex')}.json`;
  await writeDurably(join(folder, 'bank', 'requests', name), JSON.stringify(request));
}

/** Undefined if the file has none: another program may have put it there. */
async function requestIn(path: string): Promise<BankRequest | undefined> {
  try {
    const request = JSON.parse(await readFile(path, 'utf8')) as BankRequest;
    if (request.kind === 'payment') refuseFaults(request);
    return ['payment', 'statement'].includes(request.kind) ? request : undefined;
  } catch {
    return undefined;
  }
}

/** Whole accounts stay within what the domain counts. */
const REQUEST_MAX = 10n ** 15n;

function refuseFaults({
  amount,
  currency,
  to,
  reference = '',
  payer,
}: Extract<BankRequest, { kind: 'payment' }>): void {
  if (!isCurrencyCode(currency))
    throw new BankRequestError('Write the currency as a code of ISO 4217 in capitals, such as EUR.');
  let value;
  try {
    value = parseAmount(amount, currency);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new BankRequestError(error.message);
  }
  if (value <= 0n) throw new BankRequestError('The amount must be above zero.');
  if (value > REQUEST_MAX) throw new BankRequestError('The amount is too large.');
  if (!/^[A-Za-z0-9]{1,34}$/.test(to))
    throw new BankRequestError('An account has at most 34 letters and digits, without spaces.');
  if (reference.length > 140) throw new BankRequestError('A reference has at most 140 characters.');
  if (payer.length > 140 || payer === '') throw new BankRequestError('The name of a payer has 1 to 140 characters.');
}

const FOLDERS = ['out', 'in', 'bank', 'bank/ready', 'bank/requests', 'bank/taken', 'bank/refused'];

async function makeFolders(folder: string): Promise<void> {
  try {
    for (const name of FOLDERS) await ensureFolder(join(folder, name));
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall === undefined) throw error;
    throw new UnusableFolder(`The folder ${folder} cannot be made (${code}). Choose one that this process may write.`, {
      cause: error,
    });
  }
}

const filesIn = async (path: string, ending: string): Promise<readonly string[]> =>
  (await readdir(path)).filter((name) => name.endsWith(ending) && !name.startsWith('.')).sort();

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

const lockOf = (folder: string): string => join(folder, 'bank', 'lock');

/** The file has the id of the process. One of a process that is gone is replaced. */
async function lock(path: string): Promise<void> {
  for (;;) {
    try {
      const file = await open(path, 'wx');
      await file.writeFile(String(process.pid));
      return await file.close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const owner = Number(await readFile(path, 'utf8').catch(() => ''));
    if (owner !== process.pid && isRunning(owner)) throw new FolderInUse('Another bank works in this folder.');
    await unlink(path).catch(() => undefined);
  }
}

function isRunning(pid: number): boolean {
  if (!Number.isInteger(pid) || pid < 1) return false;
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
