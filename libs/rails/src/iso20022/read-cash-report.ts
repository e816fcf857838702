import type { BankRecord, EntryRecord, StatedBalance, StatementRecord } from './bank-records.js';
import { EntryIdentities } from './entry-identity.js';
import type { MessageReader } from './message-reader.js';
import { type EntryParts, recordsOf } from './read-entry.js';
import { type EntryDetail, readDetail } from './read-detail.js';
import { elementAt, textAt, type XmlElement, type XmlPart } from './read-xml.js';
import { codeOf, readAccountId, readAmount, readDate, readDirection, refuse, requiredText } from './xml-values.js';

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
