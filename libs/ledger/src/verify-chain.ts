import type { Database } from '@banking/postgres';
import { type BookedTransaction, bookedTransactions } from './booked-transactions.js';
import type { ReportFinding } from './finding.js';
import { hashOf } from './hash-of.js';
import type { RangeOptions } from './ranges.js';

export const BALANCED_CHECK = 'debits equal credits in every transaction and currency';
export const LEGS_CHECK = 'every transaction has transfers';
export const HASH_CHECK = 'every transaction has the hash of its content and of what came before it';

/** Proves every transaction by itself, in any snapshot: its rows and those before it never change. */
export async function verifyTransactions(
  database: Database,
  workspaceId: number,
  note: ReportFinding,
  options: RangeOptions,
): Promise<void> {
  for await (const range of bookedTransactions(database, workspaceId, options)) {
    for (const booked of range) verifyTransaction(booked, note);
  }
}

export function verifyTransaction({ content, hash, isOfOneTime }: BookedTransaction, note: ReportFinding): void {
  const { transactionId, transfers } = content;
  if (transfers.length === 0) note(LEGS_CHECK, `transaction ${transactionId} has no transfers`);
  for (const [currency, sum] of sumsOf(content)) {
    if (sum !== 0n) note(BALANCED_CHECK, `transaction ${transactionId} is out of balance by ${sum} in ${currency}`);
  }
  if (hash !== hashOf(content)) note(HASH_CHECK, `transaction ${transactionId} does not have its hash`);
  else if (!isOfOneTime) note(HASH_CHECK, `transaction ${transactionId} has transfers of another time`);
}

function sumsOf({ transfers }: BookedTransaction['content']): ReadonlyMap<string, bigint> {
  const sums = new Map<string, bigint>();
  for (const { currencyCode, direction, amount } of transfers) {
    const moved = direction === 'credit' ? BigInt(amount) : -BigInt(amount);
    sums.set(currencyCode, (sums.get(currencyCode) ?? 0n) + moved);
  }
  return sums;
}
