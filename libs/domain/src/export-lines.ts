import { canonicalJson } from './canonical-json.js';
import type { Timestamp } from './timestamp.js';
import { canonicalTransaction, type TransactionContent } from './transaction-hash.js';

/** The format and version in the first line. Exports of version 1 are proved as before. */
export const EXPORT_FORMAT = 'banking-export';
export const EXPORT_VERSION = 2;

/** The first line. No hash covers its name and time. */
export interface ExportHeader {
  /** Default: the latest version. */
  readonly formatVersion?: 1 | 2;
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
  /** Not covered by the hash, because it changes after the money moved. The same applies to the two times. */
  readonly status: string;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

/** The last line. Without it, the export is incomplete. */
export interface ExportEnd {
  readonly accounts: number;
  readonly transactions: number;
  readonly transfers: number;
}

/** One line of an export. Its only member names its kind. */
export type ExportLine =
  | { readonly header: ExportHeader }
  | { readonly account: ExportedAccount }
  | { readonly transaction: ExportedTransaction }
  | { readonly end: ExportEnd };

/** Writes a line of an export in its only form, RFC 8785 JSON, without the line feed. */
export function exportLine(line: ExportLine): string {
  if ('transaction' in line) {
    const { content, hash, status, createdAt, updatedAt } = line.transaction;
    // `content` is the first member in the order of names, and equals the hashed text.
    const others = canonicalJson({ hash, status, createdAt, updatedAt }).slice(1);
    return `{"transaction":{"content":${canonicalTransaction(content)},${others}}`;
  }
  if ('account' in line) return canonicalJson({ account: { ...line.account } });
  if ('end' in line) return canonicalJson({ end: { ...line.end } });
  const { workspace, ...header } = line.header;
  const named = { format: EXPORT_FORMAT, formatVersion: EXPORT_VERSION, workspace: { ...workspace } };
  return canonicalJson({ header: { ...named, ...header } });
}
