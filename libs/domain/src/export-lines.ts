import { canonicalJson } from './canonical-json.js';
import type { Timestamp } from './timestamp.js';
import { canonicalTransaction, type TransactionContent } from './transaction-hash.js';

/** What the first line calls itself. */
export const EXPORT_FORMAT = 'banking-export';
export const EXPORT_VERSION = 1;

/** The first line. Name and time are what the exporter says, covered by nothing. */
export interface ExportHeader {
  readonly workspace: { readonly id: number; readonly name: string };
  /** The instant the books are shown as of. */
  readonly exportedAt: Timestamp;
  /** How many lines of each kind follow. */
  readonly accounts: number;
  readonly transactions: number;
}

/** An account and what it is claimed to end with. These lines follow the first, in the order of their ids. */
export interface ExportedAccount {
  readonly id: number;
  /** `customer`, or what an account of the bank's own is for: `settlement`, `fees`, `fx`, `interworkspace`. */
  readonly kind: string;
  readonly currencyCode: string;
  /** Credits less debits: digits in minor units, with a minus sign below zero. */
  readonly balance: string;
  /** The number of transfers of a customer's account; 0 on the bank's own. */
  readonly version: number;
  /** The hash of the latest transaction of a customer's account, `''` before its first and on the bank's own. */
  readonly head: string;
}

/** A transaction, behind every one that a customer's account it touches has had before. */
export interface ExportedTransaction {
  /** What the hash covers. As it stands in the line, it is the very text that was hashed. */
  readonly content: TransactionContent;
  readonly hash: string;
  /** Changes after the money moved, so the hash does not cover it; nor the two times. */
  readonly status: string;
  readonly createdAt: Timestamp;
  readonly updatedAt: Timestamp;
}

/** The last line, without which an export has been cut short. */
export interface ExportEnd {
  readonly accounts: number;
  readonly transactions: number;
  readonly transfers: number;
}

/** One line of an export; its only member says what it is. */
export type ExportLine =
  | { readonly header: ExportHeader }
  | { readonly account: ExportedAccount }
  | { readonly transaction: ExportedTransaction }
  | { readonly end: ExportEnd };

/** Writes a line of an export, without the line feed: RFC 8785 JSON, so that there is one way to write it. */
export function exportLine(line: ExportLine): string {
  if ('transaction' in line) {
    const { content, hash, status, createdAt, updatedAt } = line.transaction;
    // `content` comes first in the order of names, and stays the text that is hashed.
    const others = canonicalJson({ hash, status, createdAt, updatedAt }).slice(1);
    return `{"transaction":{"content":${canonicalTransaction(content)},${others}}`;
  }
  if ('account' in line) return canonicalJson({ account: { ...line.account } });
  if ('end' in line) return canonicalJson({ end: { ...line.end } });
  const { workspace, ...header } = line.header;
  const named = { format: EXPORT_FORMAT, formatVersion: EXPORT_VERSION, workspace: { ...workspace } };
  return canonicalJson({ header: { ...header, ...named } });
}
