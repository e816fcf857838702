import { canonicalJson, type CanonicalValue } from './canonical-json.js';
import type { TransferDirection } from './resources/transfer.js';

/**
 * What a transaction's hash covers: what moved, where, to whom and why, and what each account's chain said before.
 * Status and times that change are out, so the hash stays what it was when the money moved.
 */
export interface TransactionContent {
  readonly workspaceId: number;
  readonly transactionId: number;
  /** The day it counts, `2026-11-21`. */
  readonly valueDate: string;
  /** The transaction whose money this one brings back. */
  readonly returnOf?: number | undefined;
  readonly transfers: readonly TransferContent[];
  /** One row per customer account it touches; our own accounts have no chain. */
  readonly previous: readonly ChainLink[];
}

/** One side of the transaction. */
export interface TransferContent {
  readonly id: number;
  readonly accountId: number;
  readonly currencyCode: string;
  readonly direction: TransferDirection;
  readonly type: string;
  /** Digits, in minor units. */
  readonly amount: string;
  readonly description?: string | undefined;
  readonly purpose?: string | undefined;
  /** The fee of the movement, repeated for display: digits, in minor units. */
  readonly feeAmount?: string | undefined;
  /** Who was paid. */
  readonly recipientId?: number | undefined;
  /** Counts the transfers of a customer account without a gap. Our own accounts have none. */
  readonly accountVersion?: number | undefined;
  /** What it left on the account: digits in minor units, with a minus sign below zero. */
  readonly balanceAfter?: string | undefined;
}

/** The end of one account's chain before this transaction. */
export interface ChainLink {
  readonly accountId: number;
  /** SHA-256 in hex of the latest transaction of the account, `''` before its first. */
  readonly hash: string;
}

/**
 * The text that is hashed: RFC 8785 JSON of exactly the fields above, transfers in id order and links in account id
 * order whatever order they came in, absent fields left out. Fields of another name never take part.
 */
export function canonicalTransaction(content: TransactionContent): string {
  return canonicalJson({
    workspaceId: content.workspaceId,
    transactionId: content.transactionId,
    valueDate: content.valueDate,
    ...present({ returnOf: content.returnOf }),
    transfers: content.transfers.toSorted((left, right) => left.id - right.id).map(transferContent),
    previous: content.previous
      .toSorted((left, right) => left.accountId - right.accountId)
      .map(({ accountId, hash }) => ({ accountId, hash })),
  });
}

/** The hash of a transaction: SHA-256 of its canonical text in UTF-8, 64 hex digits. At home in a browser. */
export async function transactionHash(content: TransactionContent): Promise<string> {
  const bytes = new TextEncoder().encode(canonicalTransaction(content));
  const digest = await globalThis.crypto.subtle.digest('SHA-256', bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Named one by one, so that a field of another name takes no part. */
function transferContent(transfer: TransferContent): CanonicalValue {
  const { id, accountId, currencyCode, direction, type, amount } = transfer;
  const { description, purpose, feeAmount, recipientId, accountVersion, balanceAfter } = transfer;
  return {
    ...{ id, accountId, currencyCode, direction, type, amount },
    ...present({ description, purpose, feeAmount, recipientId, accountVersion, balanceAfter }),
  };
}

/** The members that are there. */
function present(members: Readonly<Record<string, string | number | undefined>>) {
  const there = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(there) as Record<string, string | number>;
}
