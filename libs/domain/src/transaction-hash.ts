import { canonicalJson, type CanonicalValue } from './canonical-json.js';
import { present } from './present.js';
import type { Timestamp } from './timestamp.js';
import type { TransferDirection } from './resources/transfer.js';

/** The version of the hash of new transactions. Transactions of version 1 keep their hash. */
export const HASH_VERSION = 2;

/**
 * The content that a transaction's hash covers: its transfers, their purpose and recipient, and the previous hash of each account.
 * It excludes the status and the time that change, so the hash is permanent.
 *
 * Version 2 also covers its own number, the time of booking, the order, the conversion and the details of recipients, by their digests. The
 * text of version 1 has none of these fields, so a transaction with another version has another hash.
 */
export interface TransactionContent {
  /** Default: 1. */
  readonly hashVersion?: 1 | 2 | undefined;
  readonly workspaceId: number;
  readonly transactionId: number;
  /** When it was booked: in UTC with six fractional digits. Version 2 only. */
  readonly createdAt?: Timestamp | undefined;
  /** The transaction that this one reverses. */
  readonly returnOf?: number | undefined;
  /** The digest of the order that it carries out; see `canonicalOrder`. Version 2 only. */
  readonly orderDigest?: string | undefined;
  /** The digest of its conversion; see `canonicalConversion`. Version 2 only. */
  readonly conversionDigest?: string | undefined;
  readonly transfers: readonly TransferContent[];
  /** One entry for each customer account of the transaction. Own accounts have no chain. */
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
  /** The recipient. */
  readonly recipientId?: number | undefined;
  /** The digest of the recipient's name, account and bank; see `canonicalRecipient`. Version 2 only. */
  readonly recipientDigest?: string | undefined;
  /** The number of the transfer on its customer account, without gaps. Own accounts have none. */
  readonly accountVersion?: number | undefined;
  /** The balance after the transfer: digits in minor units, with a minus sign below zero. */
  readonly balanceAfter?: string | undefined;
}

/** The end of one account's chain before this transaction. */
export interface ChainLink {
  readonly accountId: number;
  /** SHA-256 in hex of the latest transaction of the account, `''` before its first. */
  readonly hash: string;
}

/**
 * The text that is hashed: RFC 8785 JSON of exactly the fields above, with transfers sorted by id and links by account id.
 * Undefined fields are omitted. Fields of other names are ignored, and so are those of version 2 in version 1.
 */
export function canonicalTransaction(content: TransactionContent): string {
  const { hashVersion, createdAt, orderDigest, conversionDigest } = content;
  const isLater = hashVersion === 2;
  return canonicalJson({
    workspaceId: content.workspaceId,
    transactionId: content.transactionId,
    ...present({ returnOf: content.returnOf }),
    ...(isLater && present({ hashVersion, createdAt, orderDigest, conversionDigest })),
    transfers: content.transfers
      .toSorted((left, right) => left.id - right.id)
      .map((transfer) => transferContent(transfer, isLater)),
    previous: content.previous
      .toSorted((left, right) => left.accountId - right.accountId)
      .map(({ accountId, hash }) => ({ accountId, hash })),
  });
}

/** The hash of a transaction: SHA-256 of its canonical text in UTF-8, 64 hex digits. Also works in a browser. */
export async function transactionHash(content: TransactionContent): Promise<string> {
  return digestOf(canonicalTransaction(content));
}

/** SHA-256 of a text in UTF-8, 64 hex digits. Also works in a browser. */
export async function digestOf(text: string): Promise<string> {
  const digest = await globalThis.crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('');
}

/** Selects each field by name, so that other fields are ignored. Built member by member, because every order is hashed. */
function transferContent(transfer: TransferContent, isLater: boolean): CanonicalValue {
  const { id, accountId, currencyCode, direction, type, amount, recipientDigest } = transfer;
  const { description, purpose, feeAmount, recipientId, accountVersion, balanceAfter } = transfer;
  const content: Record<string, string | number> = { id, accountId, currencyCode, direction, type, amount };
  if (description !== undefined) content['description'] = description;
  if (purpose !== undefined) content['purpose'] = purpose;
  if (feeAmount !== undefined) content['feeAmount'] = feeAmount;
  if (recipientId !== undefined) content['recipientId'] = recipientId;
  if (isLater && recipientDigest !== undefined) content['recipientDigest'] = recipientDigest;
  if (accountVersion !== undefined) content['accountVersion'] = accountVersion;
  if (balanceAfter !== undefined) content['balanceAfter'] = balanceAfter;
  return content;
}
