import { type ExportLine, exportLine } from '../export-lines.js';
import { ExportFault, proveExport } from '../prove-export.js';
import type { Timestamp } from '../timestamp.js';
import { type TransactionContent, transactionHash, type TransferContent } from '../transaction-hash.js';

/** Money from one account to another: minor units. */
export interface Move {
  readonly from: number;
  readonly to: number;
  readonly amount: bigint;
}

const CUSTOMERS = [3, 4, 5];
/** An account of the bank. */
export const SETTLEMENT = 1;
/** A customer account without transfers. */
export const IDLE = 9;

export const WORKSPACE = 7;
const NOON = '2026-11-21T12:00:00.000000Z' as Timestamp;

/** The accounts that money can move between. */
export const ACCOUNTS: readonly number[] = [SETTLEMENT, ...CUSTOMERS];

/** The export of books in euros with these moves, one for each transaction. */
export async function exported(moves: readonly Move[]): Promise<ExportLine[]> {
  const states = new Map([...ACCOUNTS, IDLE].map((id) => [id, { balance: 0n, version: 0, head: '' }]));
  const stateOf = (id: number) => states.get(id)!;
  const transactions: ExportLine[] = [];
  for (const [index, { from, to, amount }] of moves.entries()) {
    const previous = [from, to]
      .filter((id) => id !== SETTLEMENT)
      .map((id) => ({ accountId: id, hash: stateOf(id).head }))
      .filter(({ accountId }, nth, links) => links.findIndex((link) => link.accountId === accountId) === nth);
    // The first transaction is from before version 2.
    const isLater = index > 0;
    const transfers = [
      { id: 100 + 2 * index, accountId: from, direction: 'debit' as const },
      { id: 101 + 2 * index, accountId: to, direction: 'credit' as const },
    ].map(({ id, accountId, direction }): TransferContent => {
      const state = stateOf(accountId);
      state.balance += direction === 'credit' ? amount : -amount;
      const transfer = { id, accountId, currencyCode: 'EUR', direction, type: 'payout', amount: amount.toString() };
      if (accountId === SETTLEMENT) return transfer;
      state.version += 1;
      const details = { description: 'Rechnung für Ä', purpose: 'IR001', feeAmount: '30', recipientId: 12 };
      const later = isLater && { recipientDigest: 'ab'.repeat(32) };
      return { ...transfer, ...details, ...later, accountVersion: state.version, balanceAfter: state.balance.toString() };
    });
    const content = { workspaceId: WORKSPACE, transactionId: 40 + index, valueDate: '2026-11-21', transfers, previous };
    const digests = { hashVersion: 2, orderDigest: 'cd'.repeat(32), conversionDigest: 'ef'.repeat(32) } as const;
    const linked: TransactionContent = isLater ? { ...content, ...digests, returnOf: 39 + index } : content;
    const hash = await transactionHash(linked);
    for (const { accountId } of previous) stateOf(accountId).head = hash;
    transactions.push({ transaction: { content: linked, hash, status: 'pending', createdAt: NOON, updatedAt: NOON } });
  }
  const accounts = Array.from(states, ([id, { balance, version, head }]): ExportLine => {
    const kind = id === SETTLEMENT ? 'settlement' : 'customer';
    return { account: { id, kind, currencyCode: 'EUR', balance: balance.toString(), version, head } };
  });
  const counts = { accounts: accounts.length, transactions: transactions.length };
  return [
    { header: { workspace: { id: WORKSPACE, name: 'Northwind Trading' }, exportedAt: NOON, ...counts } },
    ...accounts,
    ...transactions,
    { end: { ...counts, transfers: 2 * transactions.length } },
  ];
}

/** The export as text. */
export async function exportedText(made: readonly Move[]): Promise<string[]> {
  return (await exported(made)).map(exportLine);
}

/** The fault of lines that are no proof, or undefined if they are one. */
export async function faultOf(lines: readonly string[]): Promise<ExportFault | undefined> {
  return proveExport(lines).then(
    () => undefined,
    (error: unknown) => {
      if (error instanceof ExportFault) return error;
      throw error;
    },
  );
}
