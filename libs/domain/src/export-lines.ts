import { type CanonicalValue, canonicalJson } from './canonical-json.js';
import {
  canonicalConversion,
  canonicalOrder,
  canonicalRecipient,
  type HashedConversion,
  type HashedOrder,
  type HashedRecipient,
  canonicalTransaction,
  type TransactionContent,
} from './transaction-hash.js';
import type { Timestamp } from './timestamp.js';

/** The members that are not undefined. */
function present(
  members: Readonly<Record<string, CanonicalValue | undefined>>,
): Readonly<Record<string, CanonicalValue>> {
  const defined = Object.entries(members).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as Record<string, CanonicalValue>;
}

/** The format and version in the first line. */
export const EXPORT_FORMAT = 'banking-export';
export const EXPORT_VERSION = 1;

/** The first line. No hash covers its name and time. */
export interface ExportHeader {
  readonly workspace: { readonly id: number; readonly name: string };
  /** The instant of the exported state. */
  readonly exportedAt: Timestamp;
  /** The number of following lines of each kind. */
  readonly accounts: number;
  readonly transactions: number;
}

/** An account with its claimed final state. These lines follow the first, in the order of their ids. */
export interface ExportedAccount {
  readonly id: number;
  /** `customer`, or the purpose of an own account of the bank: `settlement`, `fees`, `fx`, `interworkspace`. */
  readonly kind: string;
  readonly currencyCode: string;
  /** Credits less debits: digits in minor units, with a minus sign below zero. */
  readonly balance: string;
  /** The number of transfers of a customer account; 0 on own accounts. */
  readonly version: number;
  /** The hash of the latest transaction of a customer account; `''` before its first and on own accounts. */
  readonly head: string;
}

/** A transaction. It follows all earlier transactions of its customer accounts. */
export interface ExportedTransaction {
  /** The hashed content. Its text in the line is exactly the hashed text. */
  readonly content: TransactionContent;
  readonly hash: string;
  /** Not covered by the hash, because it changes after the money moved. The same applies to the time. */
  readonly status: string;
  readonly updatedAt: Timestamp;
}

/** A recipient. These lines follow the accounts, in the order of their ids. */
export interface ExportedRecipient {
  readonly content: HashedRecipient;
  /** SHA-256 of the text of `content` in the line. Its transfers contain it. */
  readonly digest: string;
}

/**
 * An order. Scheduled and recurring orders follow the recipients, each with its executions without a transaction. An instant order
 * follows its transaction.
 */
export interface ExportedOrder {
  readonly content: HashedOrder;
  /** SHA-256 of the text of `content` in the line. Its transactions contain it. */
  readonly digest: string;
  /** Not covered by a hash, as of when it was read. */
  readonly status: string;
  readonly createdAt: Timestamp;
}

/** A run of an order. It follows its transaction, and its order if that is instant. Without a transaction, it follows its order. */
export interface ExportedExecution {
  readonly id: number;
  readonly orderId: number;
  readonly sequence: number;
  /** Not covered by a hash, as of when it was read. The same applies to the other fields, except the two ids. */
  readonly status: string;
  readonly scheduledAt: Timestamp;
  readonly failureCode?: string | undefined;
  readonly transactionId?: number;
  /** With a transaction only. */
  readonly executedAt?: Timestamp;
}

/** The conversion of a transaction. It follows its transaction. */
export interface ExportedConversion {
  readonly content: HashedConversion;
  /** SHA-256 of the text of `content` in the line. Its transaction contains it. */
  readonly digest: string;
  readonly transactionId: number;
}

/** An event of the payment network. It follows its transaction. No hash covers it, as of when it was read. */
export interface ExportedEvent {
  readonly id: number;
  readonly transactionId: number;
  readonly providerEvent: string;
  readonly status: string;
  readonly reasonCode?: string | undefined;
  readonly message?: string | undefined;
  readonly createdAt: Timestamp;
}

/** The kinds of lines besides accounts and transactions, as the last line counts them. */
export const DETAILS = ['recipients', 'orders', 'executions', 'conversions', 'events'] as const;

/** The last line. Without it, the export is incomplete. */
export interface ExportEnd extends Readonly<Record<(typeof DETAILS)[number], number>> {
  readonly accounts: number;
  readonly transactions: number;
  readonly transfers: number;
}

/** One line of an export. Its only member names its kind. */
export type ExportLine =
  | { readonly header: ExportHeader }
  | { readonly account: ExportedAccount }
  | { readonly recipient: ExportedRecipient }
  | { readonly order: ExportedOrder }
  | { readonly transaction: ExportedTransaction }
  | { readonly execution: ExportedExecution }
  | { readonly conversion: ExportedConversion }
  | { readonly event: ExportedEvent }
  | { readonly end: ExportEnd };

/** Writes a line of an export in its only form, RFC 8785 JSON, without the line feed. */
export function exportLine(line: ExportLine): string {
  if ('transaction' in line) {
    const { content, hash, status, updatedAt } = line.transaction;
    return covered('transaction', canonicalTransaction(content), { hash, status, updatedAt });
  }
  if ('recipient' in line) {
    const { content, digest } = line.recipient;
    return covered('recipient', canonicalRecipient(content), { digest });
  }
  if ('order' in line) {
    const { content, digest, status, createdAt } = line.order;
    return covered('order', canonicalOrder(content), { digest, status, createdAt });
  }
  if ('conversion' in line) {
    const { content, digest, transactionId } = line.conversion;
    return covered('conversion', canonicalConversion(content), { digest, transactionId });
  }
  if ('execution' in line) return canonicalJson({ execution: present({ ...line.execution }) });
  if ('event' in line) return canonicalJson({ event: present({ ...line.event }) });
  if ('account' in line) return canonicalJson({ account: { ...line.account } });
  if ('end' in line) return canonicalJson({ end: { ...line.end } });
  const { workspace, ...header } = line.header;
  const named = { format: EXPORT_FORMAT, formatVersion: EXPORT_VERSION, workspace: { ...workspace } };
  return canonicalJson({ header: { ...named, ...header } });
}

/** `content` is the first member in the order of names, and equals the hashed text. */
function covered(name: string, content: string, others: Readonly<Record<string, CanonicalValue>>): string {
  return `{"${name}":{"content":${content},${canonicalJson(others).slice(1)}}`;
}
