import { createHash } from 'node:crypto';
import type { EntryRecord } from './bank-records.js';

/**
 * What makes an entry the same one in another file of its account. A `camt.054` or `camt.052` reports an entry before a `camt.053` lists it,
 * and each file may be sent twice.
 *
 * - By `AcctSvcrRef`, if the bank gives one: ISO 20022 demands the same in all three. With direction and amount, because some banks
 *   repeat a reference for a payment and its fee.
 * - Else by UETR, `EndToEndId` or `TxId`, with direction, amount and date.
 * - Else by a hash of what the entry says.
 * - Equal ones of one day within a statement are numbered: the second is `…#2`. So two files with one such entry each have one entry in
 *   all, and a statement that lists both has the second one.
 *
 * `NtryRef` is not used: it is one within a statement only, and another in each message. A statement id is not used: banks give
 * it again next year.
 */
export class EntryIdentities {
  private readonly counts = new Map<string, number>();

  /** @param entry an entry, or a detail of one; in the order of the file */
  of(entry: Omit<EntryRecord, 'identity'>, transactionId: string | undefined): string {
    const base = baseOf(entry, transactionId);
    // On another day, the bank has given the reference again.
    const counted = `${base} ${entry.bookedOn ?? ''}`;
    const count = (this.counts.get(counted) ?? 0) + 1;
    this.counts.set(counted, count);
    return count === 1 ? base : `${base}#${count}`;
  }
}

function baseOf(entry: Omit<EntryRecord, 'identity'>, transactionId: string | undefined): string {
  const { bankReference, batchReference, batchCount, endToEndId, uetr, direction, amount, currency, isReversal } =
    entry;
  const what = `${direction === 'credit' ? 'C' : 'D'}${isReversal ? 'R' : ''}:${currency}${amount}`;
  const date = entry.valueOn ?? entry.bookedOn ?? '';
  if (batchCount !== undefined) return `batch:${within(batchReference ?? bankReference ?? hashOf(entry))}:${what}`;
  if (bankReference !== undefined) return `ref:${within(bankReference)}:${what}`;
  const named = uetr ?? endToEndId ?? transactionId;
  if (batchReference !== undefined) {
    return `part:${within(batchReference)}:${within(named ?? hashOf(entry))}:${what}`;
  }
  return named === undefined ? `hash:${hashOf(entry)}:${what}` : `id:${within(named)}:${what}:${date}`;
}

/** References of ISO 20022 have at most 36 characters. */
const within = (reference: string): string =>
  reference.length <= 64 ? reference : `sha256-${sha256(reference).slice(0, 43)}`;

function hashOf(entry: Omit<EntryRecord, 'identity'>): string {
  const { valueOn, bookedOn, creditorReference, remittance, party, returnReason } = entry;
  const said = [valueOn ?? bookedOn, creditorReference, remittance, party.name, party.account, returnReason];
  return sha256(JSON.stringify(said.map((text) => text ?? null)));
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('base64url');

/** What banks write where they have no reference. */
const NOT_A_REFERENCE = /^(?:not ?provided|nonref|none|n\/?a|unknown|null|[0*. _-]+)$/i;

/** A reference; undefined where the bank says that it has none. */
export function referenceOf(text: string | undefined): string | undefined {
  return text === undefined || NOT_A_REFERENCE.test(text) ? undefined : text;
}
