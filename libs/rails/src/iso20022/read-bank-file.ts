import { BankFileError, type BankRecord, type StatusRecord } from './bank-records.js';
import type { MessageReader } from './message-reader.js';
import { CashReportReader } from './read-cash-report.js';
import { readXml, type XmlElement, elementAt, elementsNamed, textAt, type XmlPart } from './read-xml.js';
import { referenceOf } from './entry-identity.js';
import { codeOf, cutText, type Place, refuse, requiredText } from './xml-values.js';

/** Messages by the element below `Document`. Versions before 2009 have their number in it. */
const MESSAGES: Readonly<Record<string, (message: string) => MessageReader>> = {
  'pain.002': (message) => new StatusReportReader(message),
  'camt.052': (message) => new CashReportReader(message, 'report', 'Rpt'),
  'camt.053': (message) => new CashReportReader(message, 'statement', 'Stmt'),
  'camt.054': (message) => new CashReportReader(message, 'notification', 'Ntfctn'),
};

const ELEMENTS: Readonly<Record<string, string>> = {
  CstmrPmtStsRpt: 'pain.002',
  'pain.002.001.02': 'pain.002',
  BkToCstmrAcctRpt: 'camt.052',
  BkToCstmrStmt: 'camt.053',
  BkToCstmrDbtCdtNtfctn: 'camt.054',
};

/**
 * The namespaces of ISO 20022 and of SWIFT before it. The middle number is the variant: `pain.002.003.03` is that of the German banks,
 * whose elements are the same.
 */
const NAMESPACE = /^urn:(?:iso:std:iso:20022:tech:xsd:|swift:xsd:\$?)((pain\.002|camt\.05[234])\.00[1-3]\.([0-9]{2}))$/;

const NOT_ONE_OF_FOUR = 'It is not a pain.002, camt.052, camt.053 or camt.054.';

/**
 * Reads a file of a bank in bounded memory: `pain.002`, `camt.052`, `camt.053` or `camt.054`, versions 02 to 13. Names and places of elements
 * differ between the versions, and all of them are read.
 *
 * @throws BankFileError for every other file, for values that are wrong, and for a file that is not complete. What was yielded before
 *   must not be kept then.
 */
export async function* readBankFile(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<BankRecord> {
  let reader: MessageReader | undefined;
  let prefix = '';
  const isInParts = (path: string, element: XmlElement) => {
    if (!path.startsWith('Document/')) return false;
    if (reader) return path.startsWith(prefix) && reader.isInParts(path.slice(prefix.length));
    reader = readerOf(element);
    prefix = `${path}/`;
    return true;
  };
  for await (const part of readXml(chunks, isInParts)) {
    if (part.path !== 'Document' && !part.path.startsWith('Document/')) throw new BankFileError(NOT_ONE_OF_FOUR);
    if (reader && part.path !== 'Document') yield* reader.read(part, part.path.slice(prefix.length));
  }
  if (!reader) throw new BankFileError(NOT_ONE_OF_FOUR);
}

function readerOf({ name, namespace }: XmlElement): MessageReader {
  const [, message, kind = '', version = ''] = NAMESPACE.exec(namespace) ?? [];
  const create = MESSAGES[kind];
  if (message === undefined || !create || ELEMENTS[name] !== kind) throw new BankFileError(NOT_ONE_OF_FOUR);
  if (version < '02' || version > '13') {
    throw new BankFileError(`It is a ${kind} of a version that is not read. Versions 02 to 13 are.`);
  }
  return create(message);
}

const IN_PARTS: ReadonlySet<string> = new Set(['OrgnlPmtInfAndSts']);

/** What a status says, beside what it is about. */
type Statement = Pick<StatusRecord, 'status' | 'reasonCode' | 'reasonText'>;

/**
 * Reads `pain.002`. The status of the group comes first, with or without one. A payment that is named without a status has that of its
 * `PmtInf`, or else that of the group, unless this is `PART`.
 */
class StatusReportReader implements MessageReader {
  private hasHeader = false;
  private originalMessageId: string | undefined;
  private group: Statement = {};
  private information: { id?: string | undefined; statement: Statement } | undefined;
  private count = 0;

  constructor(private readonly message: string) {}

  isInParts(path: string): boolean {
    return IN_PARTS.has(path);
  }

  read(part: XmlPart, path: string): readonly BankRecord[] {
    if (part.kind === 'open') {
      if (path === 'OrgnlPmtInfAndSts') this.information = { statement: {} };
      return [];
    }
    if (part.kind === 'close') return path === 'OrgnlPmtInfAndSts' ? this.closeInformation() : this.closeMessage();
    const { element } = part;
    switch (path) {
      case 'GrpHdr':
        if (this.hasHeader) refuse('GrpHdr is there twice.', () => 'the message');
        this.hasHeader = true;
        return [{ kind: 'message', message: this.message, messageId: this.messageIdOf(element) }];
      case 'OrgnlGrpInfAndSts':
        return [this.readGroup(element)];
      case 'OrgnlPmtInfAndSts/OrgnlPmtInfId':
        if (this.information) this.information.id = element.text;
        return [];
      case 'OrgnlPmtInfAndSts/PmtInfSts':
        if (this.information)
          this.information.statement = { ...this.information.statement, status: this.statusOf(element.text) };
        return [];
      case 'OrgnlPmtInfAndSts/StsRsnInf':
        if (this.information && this.information.statement.reasonCode === undefined) {
          this.information.statement = { ...this.information.statement, ...reasonOf([element]) };
        }
        return [];
      case 'OrgnlPmtInfAndSts/TxInfAndSts':
      case 'TxInfAndSts':
        return [this.readPayment(element)];
      default:
        return [];
    }
  }

  private messageIdOf(header: XmlElement): string {
    return requiredText(textAt(header, 'MsgId'), 'MsgId', 100, () => 'GrpHdr');
  }

  private readGroup(element: XmlElement): StatusRecord {
    const place = () => 'OrgnlGrpInfAndSts';
    if (this.originalMessageId !== undefined) refuse('OrgnlGrpInfAndSts is there twice.', place);
    // Version 02 of before 2009 may name a file instead.
    const named = textAt(element, 'OrgnlMsgId') ?? textAt(element, 'NtwkFileNm');
    const originalMessageId = requiredText(named, 'OrgnlMsgId', 100, place);
    this.originalMessageId = originalMessageId;
    this.group = this.statementOf(element, 'GrpSts');
    return { kind: 'status', originalMessageId, ...this.group };
  }

  private readPayment(element: XmlElement): StatusRecord {
    this.count += 1;
    const endToEndId = referenceOf(textAt(element, 'OrgnlEndToEndId')) ?? referenceOf(textAt(element, 'OrgnlInstrId'));
    const uetr = endToEndId === undefined ? referenceOf(textAt(element, 'OrgnlUETR')) : undefined;
    const stated = this.statementOf(element, 'TxSts');
    const outer = this.information?.statement.status !== undefined ? this.information.statement : this.group;
    const statement =
      stated.status !== undefined || outer.status === 'PART'
        ? stated
        : { ...outer, ...(stated.reasonCode !== undefined && stated), status: outer.status };
    return {
      kind: 'status',
      originalMessageId: this.requireOriginal(),
      ...(uetr === undefined
        ? { endToEndId: requiredText(endToEndId, 'OrgnlEndToEndId', 100, this.place) }
        : { uetr: requiredText(uetr, 'OrgnlUETR', 100, this.place) }),
      paymentInformationId: this.information?.id ?? textAt(element, 'OrgnlPmtInfId'),
      ...statement,
    };
  }

  private closeInformation(): readonly BankRecord[] {
    const { id, statement } = this.information ?? { statement: {} };
    this.information = undefined;
    const originalMessageId = this.requireOriginal();
    if (statement.status === undefined) return [];
    const paymentInformationId = requiredText(id, 'OrgnlPmtInfId', 100, () => 'OrgnlPmtInfAndSts');
    return [{ kind: 'status', originalMessageId, paymentInformationId, ...statement }];
  }

  private closeMessage(): readonly BankRecord[] {
    if (!this.hasHeader) refuse('GrpHdr is missing.', () => 'the message');
    this.requireOriginal();
    return [];
  }

  private requireOriginal(): string {
    return this.originalMessageId ?? refuse('OrgnlGrpInfAndSts is missing.', () => 'the message');
  }

  private readonly place: Place = () => `payment ${this.count} of the message`;

  private statementOf(element: XmlElement, name: 'GrpSts' | 'TxSts'): Statement {
    return { status: this.statusOf(textAt(element, name)), ...reasonOf(elementsNamed(element, 'StsRsnInf')) };
  }

  private statusOf(text: string | undefined): string | undefined {
    if (text !== undefined && !/^[A-Za-z0-9]{1,35}$/.test(text)) refuse('A status is not a code.', this.place);
    return text;
  }
}

/** Of several reasons, the first that has a code. */
function reasonOf(informations: readonly XmlElement[]): Pick<StatusRecord, 'reasonCode' | 'reasonText'> {
  const codeIn = (information: XmlElement) => codeOf(elementAt(information, 'Rsn') ?? elementAt(information, 'StsRsn'));
  const chosen = informations.find((information) => codeIn(information) !== undefined) ?? informations[0];
  if (!chosen) return {};
  const text = ['AddtlInf', 'AddtlStsRsnInf'].flatMap((name) => elementsNamed(chosen, name).map((line) => line.text));
  return {
    reasonCode: cutText(codeIn(chosen), 35),
    reasonText: cutText(text.join(' ').trim() || undefined, 500),
  };
}
