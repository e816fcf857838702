import { type ExportedAccount, type ExportEnd, type ExportLine, exportLine } from '@banking/domain/proof';
import {
  type AccountAt,
  bookedTransactions,
  booksAt,
  currencyCode,
  ownSums,
  type RangeOptions,
  wasBooked,
} from '@banking/ledger';
import type { Database } from '@banking/postgres';
import { ExportOrder } from './export-order.js';

/** Accounts written at a time. */
const PORTION = 1_000;

/** More than any number of processes has had ids in hand: then the books have a gap that nothing will fill. */
const WAITING_MAX = 50_000;

/** Books that cannot be exported, because they are not in order. */
export class ExportError extends Error {
  override readonly name = 'ExportError';
}

/**
 * Writes the books of a workspace as the lines that `proveExport` of `@banking/domain/proof` reads: the header, every account with
 * what it holds, every transaction, the end. All of it as of one instant, while postings go on; only the status of a transaction and
 * the time it changed are as of when they are read.
 *
 * The accounts are read in one short snapshot. Transactions are read in ranges, each in a snapshot of its own; those behind the
 * version that an account had at the instant are left out. While `write` waits, no database transaction is open.
 *
 * Holds one entry an account and a range of transactions in memory; the next is read when `write` has resolved.
 *
 * @param write takes whole lines, with their line feeds
 * @throws ExportError when transactions are missing, so that what follows them cannot be put behind them
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
  for (let first = 0; first < accounts; first += PORTION) {
    const portion = accountsAt.slice(first, first + PORTION);
    await write(textOf(portion.map((account) => ({ account: exportedAccount(account, own) }))));
  }

  const order = new ExportOrder();
  const written = { accounts, transactions: 0, transfers: 0 };
  for await (const range of bookedTransactions(database, id, options)) {
    const booked = range.filter((transaction) => wasBooked(books, transaction));
    const ready = booked.flatMap((transaction) => [...order.take(transaction)]);
    if (order.waiting > WAITING_MAX) throw gap(id, order.waiting);
    await write(textOf(ready.map((transaction) => ({ transaction }))));
    written.transactions += ready.length;
    for (const { content } of ready) written.transfers += content.transfers.length;
  }
  if (order.waiting > 0 || written.transactions !== transactions)
    throw gap(id, order.waiting || Math.abs(transactions - written.transactions));
  await write(textOf([{ end: written }]));
  return written;
}

/** What an account is claimed to hold: a customer's as it is stored, our own as its transfers sum up. */
function exportedAccount(account: AccountAt, own: ReadonlyMap<number, bigint>): ExportedAccount {
  const { id, kind, currencyId, version, head } = account;
  const balance = kind === 'customer' ? account.balance : (own.get(id) ?? 0n);
  return { id, kind, currencyCode: currencyCode(currencyId), version, head, balance: balance.toString() };
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
