import { minorUnits } from '@banking/domain';
import type { EntryRecord } from './bank-records.js';
import { type EntryIdentities, referenceOf } from './entry-identity.js';
import type { EntryDetail } from './read-detail.js';
import type { XmlElement } from './read-xml.js';
import {
  codeOf,
  cutText,
  type Place,
  readAmount,
  readDate,
  readDirection,
  refuse,
  type StatedAmount,
} from './xml-values.js';

/** An entry with its elements by name. */
export interface EntryParts {
  readonly elements: ReadonlyMap<string, XmlElement>;
  readonly details: readonly EntryDetail[];
  /** `PmtInfId` or `MsgId` of the batch that it books. */
  readonly batchReference?: string | undefined;
  /** What `NbOfTxs` sums to; 0 where it is not given. */
  readonly batchCount: number;
  readonly identities: EntryIdentities;
  readonly place: Place;
}

/** What all records of an entry share. */
type EntryHead = Pick<EntryRecord, 'kind' | 'currency' | 'status' | 'isReversal' | 'bookedOn' | 'valueOn'>;

/**
 * The records of an entry.
 *
 * - One detail or none, and no larger `NbOfTxs`: the entry with its own amount.
 * - Several details whose amounts in the currency of the entry sum to it, each by its `CdtDbtInd`: each is a record.
 * - Otherwise the entry stands for several payments that the file does not give: one record with `batchCount`. Another file may give its
 *   details, as records with the same `batchReference`.
 * - An entry of zero moves no money, and `INFO` books nothing: no record.
 */
export function recordsOf(parts: EntryParts): readonly EntryRecord[] {
  const { elements, details, identities, place } = parts;
  const total = readAmount(elements.get('Amt'), 'Amt', place);
  const direction = readDirection(elements.get('CdtDbtInd')?.text, 'CdtDbtInd', place);
  const status = statusOf(codeOf(elements.get('Sts')), place);
  const head: EntryHead = {
    ...{ kind: 'entry', currency: total.currency, status: status ?? 'pending' },
    isReversal: ['true', '1'].includes(elements.get('RvslInd')?.text ?? ''),
    bookedOn: readDate(elements.get('BookgDt'), 'BookgDt', place),
    valueOn: readDate(elements.get('ValDt'), 'ValDt', place),
  };
  if (status === undefined || total.amount === 0n) return [];
  const reference = cutText(referenceOf(elements.get('AcctSvcrRef')?.text || undefined), 100);
  const batchReference = reference ?? cutText(referenceOf(parts.batchReference), 100);
  const said = cutText(elements.get('AddtlNtryInf')?.text || undefined, 2_000);

  if (details.length > 1) {
    const shares = sharesOf(details, total, direction, place);
    if (shares) {
      return details.map((detail, at) => {
        const share = shares[at] ?? refuse('A detail has no amount.', place);
        // Some banks repeat the reference of the entry in each detail.
        const own = detail.bankReference === reference ? undefined : cutText(detail.bankReference, 100);
        return record({ ...head, ...share }, detail, { bankReference: own, batchReference }, said, identities);
      });
    }
  }
  const [detail] = details;
  const batchCount = Math.max(parts.batchCount, details.length);
  if (batchCount > 1) {
    const whole = { ...head, direction, amount: total.amount };
    return [record(whole, undefined, { bankReference: reference, batchReference, batchCount }, said, identities)];
  }
  const bankReference = reference ?? cutText(detail?.bankReference, 100);
  return [record({ ...head, direction, amount: total.amount }, detail, { bankReference }, said, identities)];
}

/** `BOOK` is booked; `PDNG` and `FUTR` are to be; `INFO` never is (ISO 20022 ExternalEntryStatus1Code). */
function statusOf(code: string | undefined, place: Place): 'booked' | 'pending' | undefined {
  if (code === 'BOOK') return 'booked';
  if (code === 'PDNG' || code === 'FUTR') return 'pending';
  if (code === 'INFO') return undefined;
  return refuse('Sts is none of BOOK, PDNG, FUTR and INFO.', place);
}

type Share = Pick<EntryRecord, 'direction' | 'amount'>;

/** The amount of each detail; undefined if one has none in the currency of the entry, or if they do not sum to it. */
function sharesOf(
  details: readonly EntryDetail[],
  total: StatedAmount,
  direction: 'credit' | 'debit',
  place: Place,
): readonly Share[] | undefined {
  let sum = 0n;
  const shares: Share[] = [];
  for (const detail of details) {
    const stated = detail.amounts.find(({ attributes }) => attributes.Ccy === total.currency);
    if (!stated) return undefined;
    const { amount } = readAmount(stated, 'The amount of a detail', place);
    if (amount === 0n) return undefined;
    const own =
      detail.direction === undefined ? direction : readDirection(detail.direction, 'CdtDbtInd of a detail', place);
    sum += own === direction ? amount : -amount;
    shares.push({ direction: own, amount: minorUnits(amount) });
  }
  return sum === total.amount ? shares : undefined;
}

function record(
  head: EntryHead & Share,
  detail: EntryDetail | undefined,
  references: Pick<EntryRecord, 'bankReference' | 'batchReference' | 'batchCount'>,
  said: string | undefined,
  identities: EntryIdentities,
): EntryRecord {
  const { direction, isReversal } = head;
  const isBack = isReversal || detail?.returnReason !== undefined;
  // What comes back keeps the roles of the payment that it was.
  const isPayerDebtor = (direction === 'credit') !== isBack;
  // We give both ids the same text, and some banks repeat only one of them.
  const endToEndId = detail?.endToEndId ?? (direction === 'debit' || isBack ? detail?.instructionId : undefined);
  const entry: Omit<EntryRecord, 'identity'> = {
    ...head,
    ...references,
    endToEndId: cutText(endToEndId, 100),
    uetr: cutText(detail?.uetr, 40),
    creditorReference: detail?.creditorReference,
    remittance: detail?.remittance ?? said,
    party: (isPayerDebtor ? detail?.debtor : detail?.creditor) ?? {},
    returnReason: detail?.returnReason,
  };
  return { ...entry, identity: identities.of(entry, detail?.transactionId) };
}
