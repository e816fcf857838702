import type { BankRecord, StatusRecord } from './bank-records.js';
import type { MessageReader } from './message-reader.js';
import { elementAt, elementsNamed, textAt, type XmlElement, type XmlPart } from './read-xml.js';
import { referenceOf } from './entry-identity.js';
import { codeOf, cutText, type Place, refuse, requiredText } from './xml-values.js';

const IN_PARTS: ReadonlySet<string> = new Set(['OrgnlPmtInfAndSts']);

/** What a status says, beside what it is about. */
type Statement = Pick<StatusRecord, 'status' | 'reasonCode' | 'reasonText'>;

/**
 * Reads `pain.002`. The status of the group comes first, with or without one. A payment that is named without a status has that of its
 * `PmtInf`, or else that of the group, unless this is `PART`.
 */
export class StatusReportReader implements MessageReader {
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
    const stated = this.statementOf(element, 'TxSts');
    const outer = this.information?.statement.status !== undefined ? this.information.statement : this.group;
    const statement =
      stated.status !== undefined || outer.status === 'PART'
        ? stated
        : { ...outer, ...(stated.reasonCode !== undefined && stated), status: outer.status };
    return {
      kind: 'status',
      originalMessageId: this.requireOriginal(),
      endToEndId: requiredText(endToEndId, 'OrgnlEndToEndId', 100, this.place),
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
