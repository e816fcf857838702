import {
  type BookedTransaction,
  type AccountAt,
  bookedTransactions,
  booksAt,
  currencyCode,
  ownSums,
  type RangeOptions,
  wasBooked,
} from '@banking/ledger';
import { type ExportedAccount, type ExportEnd, type ExportLine, exportLine } from '@banking/domain/proof';
import type { Database } from '@banking/postgres';
import { detailLines, laterOrderLines, recipientLines } from './export-details.js';

/**
 * Sorts transactions so that each follows the earlier ones of its accounts.
 *
 * The input is in the order of ids, which differs: each process reserves ids in blocks, so a process that posts seldom uses small ids.
 * An early transaction waits for its predecessor, so at most as many wait as the processes have reserved ids. Besides, the memory is one
 * number per account.
 */
export class ExportSequence {
  private readonly versions = new Map<number, number>();
  /** By account and the version it follows. */
  private readonly early = new Map<string, BookedTransaction>();

  /** The number of transactions that wait for a predecessor. 0 at the end of complete books. */
  get waiting(): number {
    return this.early.size;
  }

  /** Yields what is ready: nothing, or the transaction and those that waited for it. */
  *take(transaction: BookedTransaction): Generator<BookedTransaction, void, undefined> {
    const ready = [transaction];
    for (let next = ready.pop(); next; next = ready.pop()) {
      const steps = stepsOf(next);
      const missing = steps.find(({ accountId, from }) => (this.versions.get(accountId) ?? 0) !== from);
      if (missing) {
        this.early.set(keyOf(missing.accountId, missing.from), next);
        continue;
      }
      yield next;
      for (const { accountId, to } of steps) {
        this.versions.set(accountId, to);
        const key = keyOf(accountId, to);
        const follower = this.early.get(key);
        this.early.delete(key);
        if (follower) ready.push(follower);
      }
    }
  }
}

interface Step {
  readonly accountId: number;
  /** The version of the account before, and after. */
  readonly from: number;
  to: number;
}

function stepsOf({ content }: BookedTransaction): readonly Step[] {
  const steps = new Map<number, Step>();
  const versioned = content.transfers.flatMap(({ accountId, accountVersion }) =>
    accountVersion === undefined ? [] : [{ accountId, accountVersion }],
  );
  for (const { accountId, accountVersion } of versioned.sort(
    (left, right) => left.accountVersion - right.accountVersion,
  )) {
    const step = steps.get(accountId);
    if (step) step.to = accountVersion;
    else steps.set(accountId, { accountId, from: accountVersion - 1, to: accountVersion });
  }
  return [...steps.values()];
}

function keyOf(accountId: number, version: number): string {
  return `${accountId}/${version}`;
}

/** Accounts in one call of `write`. */
const BATCH_ACCOUNTS = 1_000;

/** More than all processes together reserve: then the books have a gap. */
const WAITING_MAX = 50_000;

/** The books have a gap, so they cannot be exported. */
export class ExportError extends Error {
  override readonly name = 'ExportError';
}

/**
 * Writes the books of a workspace as the lines that `proveExport` of `@banking/domain/proof` reads: the header, all accounts with their
 * balances, all recipients, the orders that run later, all transactions with their orders, executions, conversions and events, the end.
 * Accounts and transactions are as of one instant, while postings continue. The status of a transaction, the time of its change, and
 * the other lines are as of when they are read.
 *
 * Reads the accounts in one short snapshot, and the transactions in ranges with a snapshot each. Omits transactions above the version
 * that an account had at the instant. No database transaction is open during `write`.
 *
 * Memory: one entry per account and one range of transactions. Reads the next range after `write` has resolved.
 *
 * @param write receives whole lines, with their line feeds
 * @throws ExportError if transactions are missing
 */
export async function exportBooks(
  database: Database,
  workspace: { readonly id: number; readonly name: string },
  write: (text: string) => Promise<void>,
  options: RangeOptions = {},
): Promise<ExportEnd> {
  const { id, name } = workspace;
  const accountsAt: AccountAt[] = [];
  const books = await booksAt(database, id, (account) => accountsAt.push(account));
  const { transactions, sums } = await ownSums(database, books, books.at, options);
  const own = new Map<number, bigint>();
  for (const { accountId, amount } of sums) own.set(accountId, (own.get(accountId) ?? 0n) + amount);

  const accounts = accountsAt.length;
  await write(textOf([{ header: { workspace: { id, name }, exportedAt: books.at, accounts, transactions } }]));
  for (let first = 0; first < accounts; first += BATCH_ACCOUNTS) {
    const batch = accountsAt.slice(first, first + BATCH_ACCOUNTS);
    await write(textOf(batch.map((account) => ({ account: exportedAccount(account, own) }))));
  }

  const written = {
    accounts,
    transactions: 0,
    transfers: 0,
    recipients: 0,
    orders: 0,
    executions: 0,
    conversions: 0,
    events: 0,
  };
  const writeDetails = async (lines: readonly ExportLine[]) => {
    count(lines, written);
    if (lines.length > 0) await write(textOf(lines));
  };
  for await (const lines of recipientLines(database, id, options)) await writeDetails(lines);
  for await (const lines of laterOrderLines(database, id, options)) await writeDetails(lines);

  const sequence = new ExportSequence();
  for await (const range of bookedTransactions(database, id, options)) {
    const booked = range.filter((transaction) => wasBooked(books, transaction));
    const ready = booked.flatMap((transaction) => [...sequence.take(transaction)]);
    if (sequence.waiting > WAITING_MAX) throw gap(id, sequence.waiting);
    const details = await detailLines(
      database,
      id,
      ready.map(({ content }) => content.transactionId),
    );
    const lines = ready.flatMap((transaction): readonly ExportLine[] => [
      { transaction },
      ...(details.get(transaction.content.transactionId) ?? []),
    ]);
    count(lines, written);
    await write(textOf(lines));
  }
  if (sequence.waiting > 0 || written.transactions !== transactions)
    throw gap(id, sequence.waiting || Math.abs(transactions - written.transactions));
  await write(textOf([{ end: written }]));
  return written;
}

/** The balance of a customer account as stored, and of an own account as the sum of its transfers. */
function exportedAccount(account: AccountAt, own: ReadonlyMap<number, bigint>): ExportedAccount {
  const { id, kind, currencyId, version, head } = account;
  const balance = kind === 'customer' ? account.balance : (own.get(id) ?? 0n);
  return { id, kind, currencyCode: currencyCode(currencyId), version, head, balance: balance.toString() };
}

/** Adds the lines to the counts of the last line. */
function count(lines: readonly ExportLine[], written: { -readonly [kind in keyof Required<ExportEnd>]: number }): void {
  for (const line of lines) {
    if ('transaction' in line) {
      written.transactions += 1;
      written.transfers += line.transaction.content.transfers.length;
    } else if ('recipient' in line) written.recipients += 1;
    else if ('order' in line) written.orders += 1;
    else if ('execution' in line) written.executions += 1;
    else if ('conversion' in line) written.conversions += 1;
    else if ('event' in line) written.events += 1;
  }
}

function textOf(lines: readonly ExportLine[]): string {
  return lines.map((line) => `${exportLine(line)}\n`).join('');
}

function gap(workspaceId: number, waiting: number): ExportError {
  const what = waiting === 1 ? 'one transaction does' : `${waiting} transactions do`;
  return new ExportError(
    `The books of workspace ${workspaceId} are not in order: ${what} not follow what is there. ` +
      `Run banking verify --workspace ${workspaceId}.`,
  );
}
