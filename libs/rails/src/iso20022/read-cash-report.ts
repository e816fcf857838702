import { minorUnits } from '@banking/domain';
import type { BankRecord, EntryRecord, StatedBalance, StatementRecord } from './bank-records.js';
import { EntryIdentities, referenceOf } from './entry-identity.js';
import type { MessageReader } from './message-reader.js';
import { type EntryDetail, readDetail } from './read-detail.js';
import { elementAt, textAt, type XmlElement, type XmlPart } from './read-xml.js';
import {
  codeOf,
  readAccountId,
  readAmount,
  readDate,
  readDirection,
  refuse,
  requiredText,
  cutText,
  type Place,
  type StatedAmount,
} from './xml-values.js';

/** Details of one entry at most, because an entry is decided on as a whole. */
const DETAILS_MAX = 50_000;

interface OpenStatement {
  id?: string;
  page?: string | undefined;
  electronic?: string;
  legal?: string;
  account?: XmlElement;
  readonly balances: { readonly code: string | undefined; readonly balance: StatedBalance }[];
  /** Whether its record was given. */
  isGiven: boolean;
  entryCount: number;
}

interface OpenEntry {
  readonly elements: Map<string, XmlElement>;
  readonly details: EntryDetail[];
  batchReference?: string | undefined;
  batchCount: number;
}

/** Reads `camt.052`, `camt.053` and `camt.054`, which have the same elements in a report, a statement or a notification. */
export class CashReportReader implements MessageReader {
  private hasHeader = false;
  private statementCount = 0;
  private statement: OpenStatement | undefined;
  private entry: OpenEntry | undefined;
  private identities = new EntryIdentities();
  private identitiesOf = '';

  /** @param reports the element of each report, statement or notification in the message */
  constructor(
    private readonly message: string,
    private readonly form: StatementRecord['form'],
    private readonly reports: 'Rpt' | 'Stmt' | 'Ntfctn',
  ) {}

  isInParts(path: string): boolean {
    const { reports } = this;
    return path === reports || path === `${reports}/Ntry` || path === `${reports}/Ntry/NtryDtls`;
  }

  read(part: XmlPart, path: string): readonly BankRecord[] {
    if (part.kind === 'element' && path === 'GrpHdr') {
      if (this.hasHeader) refuse('GrpHdr is there twice.', () => 'the message');
      this.hasHeader = true;
      const messageId = requiredText(textAt(part.element, 'MsgId'), 'MsgId', 100, () => 'GrpHdr');
      return [{ kind: 'message', message: this.message, messageId }];
    }
    if (part.kind === 'close' && path === '' && !this.hasHeader) refuse('GrpHdr is missing.', () => 'the message');
    if (path !== this.reports && !path.startsWith(`${this.reports}/`)) return [];
    if (!this.hasHeader) refuse('GrpHdr is missing.', () => 'the message');
    const inner = path.slice(this.reports.length + 1);
    if (part.kind === 'open') return this.open(inner);
    if (part.kind === 'close') return this.close(inner);
    this.readElement(inner, part.element);
    return [];
  }

  private open(path: string): readonly BankRecord[] {
    if (path === '') {
      this.statementCount += 1;
      this.statement = { balances: [], isGiven: false, entryCount: 0 };
      return [];
    }
    if (path !== 'Ntry') return [];
    const given = this.giveStatement();
    if (this.statement) this.statement.entryCount += 1;
    this.entry = { elements: new Map(), details: [], batchCount: 0 };
    return given;
  }

  private close(path: string): readonly BankRecord[] {
    if (path === '') {
      const given = this.giveStatement();
      this.statement = undefined;
      return given;
    }
    return path === 'Ntry' ? this.closeEntry() : [];
  }

  private closeEntry(): readonly EntryRecord[] {
    const entry = this.entry;
    this.entry = undefined;
    return entry ? recordsOf({ ...entry, identities: this.identities, place: this.place } satisfies EntryParts) : [];
  }

  private readElement(path: string, element: XmlElement): void {
    if (path.startsWith('Ntry/')) this.readPartOfEntry(path.slice('Ntry/'.length), element);
    else if (this.statement) this.readPartOfStatement(this.statement, path, element);
  }

  private readPartOfStatement(statement: OpenStatement, path: string, element: XmlElement): void {
    if (path === 'Id') statement.id ??= element.text;
    else if (path === 'ElctrncSeqNb') statement.electronic ??= element.text;
    else if (path === 'LglSeqNb') statement.legal ??= element.text;
    else if (path === 'StmtPgntn' || path === 'RptPgntn' || path === 'NtfctnPgntn')
      statement.page = textAt(element, 'PgNb');
    else if (path === 'Acct') statement.account ??= element;
    else if (path === 'Bal') {
      if (statement.isGiven) refuse('A balance comes after an entry.', this.place);
      statement.balances.push(this.readBalance(element));
    }
  }

  private readPartOfEntry(path: string, element: XmlElement): void {
    const { entry } = this;
    if (!entry) return;
    if (path === 'NtryDtls/TxDtls') {
      if (entry.details.length >= DETAILS_MAX) refuse(`An entry has more than ${DETAILS_MAX} details.`, this.place);
      entry.details.push(readDetail(element));
    } else if (path === 'NtryDtls/Btch') {
      entry.batchReference ??= textAt(element, 'PmtInfId') ?? textAt(element, 'MsgId');
      const count = textAt(element, 'NbOfTxs') ?? '0';
      if (!/^[0-9]{1,9}$/.test(count)) refuse('NbOfTxs is not a number.', this.place);
      entry.batchCount += Number.parseInt(count, 10);
    } else if (!path.includes('/')) {
      if (entry.elements.has(path) && path === 'Amt') refuse('An entry has two amounts.', this.place);
      if (!entry.elements.has(path)) entry.elements.set(path, element);
    }
  }

  private readBalance(element: XmlElement): OpenStatement['balances'][number] {
    const code = codeOf(elementAt(element, 'Tp', 'CdOrPrtry') ?? elementAt(element, 'Tp'));
    const { amount, currency } = readAmount(elementAt(element, 'Amt'), 'A balance', this.place);
    const direction = readDirection(textAt(element, 'CdtDbtInd'), 'CdtDbtInd of a balance', this.place);
    const date = readDate(elementAt(element, 'Dt'), 'The date of a balance', this.place);
    if (date === undefined) refuse('The date of a balance is missing.', this.place);
    return { code, balance: { amount: direction === 'debit' ? -amount : amount, currency, date } };
  }

  private giveStatement(): readonly StatementRecord[] {
    const { statement } = this;
    if (!statement || statement.isGiven) return [];
    statement.isGiven = true;
    const id = requiredText(statement.id === '' ? undefined : statement.id, 'Id', 100, this.place);
    const account = { ...readAccountId(statement.account), currency: textAt(statement.account, 'Ccy') };
    if (account.iban === undefined && account.other === undefined) refuse('The account is missing.', this.place);
    // The pages of one statement may have equal entries, which are not the same.
    const counted = JSON.stringify([id, account.iban, account.other, account.currency]);
    if (statement.page === undefined || statement.page === '1' || counted !== this.identitiesOf) {
      this.identities = new EntryIdentities();
    }
    this.identitiesOf = counted;
    const sequence = [statement.electronic, statement.legal].find(
      (text) => text !== undefined && /^[0-9]{1,18}$/.test(text),
    );
    return [
      {
        ...{ kind: 'statement', form: this.form, id, sequence, account },
        opening: balanceOf(statement, ['OPBD', 'PRCD'], 'first'),
        closing: balanceOf(statement, ['CLBD'], 'last'),
      },
    ];
  }

  private readonly place = (): string => {
    const report = { Rpt: 'report', Stmt: 'statement', Ntfctn: 'notification' }[this.reports];
    const count = this.statement?.entryCount ?? 0;
    return `${report} ${this.statementCount} of the message${count === 0 ? '' : `, entry ${count}`}`;
  };
}

/** A statement of several days has balances of each: the earliest or the latest counts. */
function balanceOf(
  { balances }: OpenStatement,
  codes: readonly string[],
  which: 'first' | 'last',
): StatedBalance | undefined {
  for (const code of codes) {
    const stated = balances.filter((one) => one.code === code).map(({ balance }) => balance);
    const sorted = stated.toSorted((one, other) => (one.date < other.date ? -1 : one.date > other.date ? 1 : 0));
    const chosen = which === 'first' ? sorted[0] : sorted.at(-1);
    if (chosen) return chosen;
  }
  return undefined;
}

/** An entry with its elements by name. */
interface EntryParts {
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
type EntryHead = Pick<EntryRecord, 'kind' | 'place' | 'currency' | 'status' | 'isReversal' | 'bookedOn' | 'valueOn'>;

/**
 * The records of an entry.
 *
 * - One detail or none, and no larger `NbOfTxs`: the entry with its own amount.
 * - Several details whose amounts in the currency of the entry sum to it, each by its `CdtDbtInd`: each is a record.
 * - Otherwise the entry stands for several payments that the file does not give: one record with `batchCount`. Another file may give its
 *   details, as records with the same `batchReference`.
 * - An entry of zero moves no money, and `INFO` books nothing: no record.
 */
function recordsOf(parts: EntryParts): readonly EntryRecord[] {
  const { elements, details, identities, place } = parts;
  const total = readAmount(elements.get('Amt'), 'Amt', place);
  const direction = readDirection(elements.get('CdtDbtInd')?.text, 'CdtDbtInd', place);
  const status = statusOf(codeOf(elements.get('Sts')), place);
  const head: EntryHead = {
    ...{ kind: 'entry', place: place(), currency: total.currency, status: status ?? 'pending' },
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
  const own = cutText(detail?.bankReference, 100) ?? reference;
  // Another file may give one of both only.
  const references = own === reference ? { bankReference: own } : { bankReference: own, batchReference: reference };
  return [record({ ...head, direction, amount: total.amount }, detail, references, said, identities)];
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
