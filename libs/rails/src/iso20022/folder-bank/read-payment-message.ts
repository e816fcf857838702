import { createReadStream } from 'node:fs';
import { BankFileError } from '../bank-records.js';
import { elementAt, elementsNamed, readXml, textAt, type XmlElement } from '../read-xml.js';
import { structureFault } from './payment-structure.js';

/** A message of payments as its sender wrote it: the structure is that of the schema, and nothing more is checked. */
export interface PaymentMessage {
  /** Such as `pain.001.001.09`. */
  readonly name: string;
  readonly id: string;
  readonly count: string;
  readonly sum?: string | undefined;
  readonly groups: readonly PaymentGroup[];
}

/** A `PmtInf`. */
export interface PaymentGroup {
  readonly id: string;
  readonly method: string;
  /** Whether its payments are booked as one entry. */
  readonly isBatch: boolean;
  readonly count?: string | undefined;
  readonly sum?: string | undefined;
  /** ISO 8601 date, or a time. */
  readonly executeOn: string;
  readonly serviceLevel?: string | undefined;
  readonly debtor: Party;
  readonly debtorBank: Institution;
  readonly debtorCurrency?: string | undefined;
  readonly payments: readonly InstructedPayment[];
}

export interface InstructedPayment {
  readonly endToEndId: string;
  readonly instructionId?: string | undefined;
  readonly uetr?: string | undefined;
  /** A decimal. */
  readonly amount: string;
  readonly currency: string;
  readonly serviceLevel?: string | undefined;
  readonly creditor: Party;
  readonly creditorBank?: Institution | undefined;
  readonly remittance: readonly string[];
  readonly creditorReference?: string | undefined;
}

export interface Party {
  readonly name?: string | undefined;
  /** Undefined if the message has none. */
  readonly account?: { readonly id: string; readonly isIban: boolean } | undefined;
  readonly address?:
    | { readonly town?: string | undefined; readonly country?: string | undefined; readonly lines: readonly string[] }
    | undefined;
}

export interface Institution {
  readonly bic?: string | undefined;
  readonly member?: string | undefined;
}

/** What makes a file refused as a whole. `messageId` where it could be read. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';

  constructor(
    message: string,
    readonly messageId?: string,
    readonly messageName?: string,
  ) {
    super(message);
  }
}

/** A `PmtInf` may have very many payments. */
const IN_PARTS: readonly string[] = ['Document/CstmrCdtTrfInitn', 'Document/CstmrCdtTrfInitn/PmtInf'];

/**
 * Reads a file of `pain.001` as a whole.
 *
 * @throws UnreadableMessage if it is not well-formed, or not of the schema
 */
export async function readPaymentMessage(path: string): Promise<PaymentMessage> {
  const document = await treeOf(path);
  const body = elementAt(document, 'CstmrCdtTrfInitn');
  const id = textAt(body, 'GrpHdr', 'MsgId');
  const name = document.namespace.split(':').at(-1);
  const fault = structureFault(document);
  if (fault !== undefined) throw new UnreadableMessage(fault, id, name);
  const header = elementAt(body, 'GrpHdr');
  return {
    name: name!,
    id: id!,
    count: textAt(header, 'NbOfTxs')!,
    sum: textAt(header, 'CtrlSum'),
    groups: elementsNamed(body, 'PmtInf').map(groupOf),
  };
}

async function treeOf(path: string): Promise<XmlElement> {
  const open: { element: XmlElement; children: XmlElement[] }[] = [];
  let root: XmlElement | undefined;
  try {
    for await (const part of readXml(createReadStream(path), (at) => IN_PARTS.includes(at))) {
      if (part.kind === 'close') {
        open.pop();
        continue;
      }
      const children: XmlElement[] = part.kind === 'open' ? [] : [...part.element.children];
      const element = { ...part.element, children };
      open.at(-1)?.children.push(element);
      root ??= element;
      if (part.kind === 'open') open.push({ element, children });
    }
  } catch (error) {
    if (!(error instanceof BankFileError)) throw error;
    throw new UnreadableMessage(error.message, textAt(root, 'CstmrCdtTrfInitn', 'GrpHdr', 'MsgId'));
  }
  if (!root) throw new UnreadableMessage('The file has no element.');
  return root;
}

function groupOf(element: XmlElement): PaymentGroup {
  const level = serviceLevelOf(element);
  return {
    id: textAt(element, 'PmtInfId')!,
    method: textAt(element, 'PmtMtd')!,
    isBatch: ['true', '1'].includes(textAt(element, 'BtchBookg') ?? ''),
    count: textAt(element, 'NbOfTxs'),
    sum: textAt(element, 'CtrlSum'),
    executeOn:
      textAt(element, 'ReqdExctnDt') ??
      textAt(element, 'ReqdExctnDt', 'Dt') ??
      textAt(element, 'ReqdExctnDt', 'DtTm') ??
      '',
    serviceLevel: level,
    debtor: partyOf(element, 'Dbtr'),
    debtorBank: institutionOf(elementAt(element, 'DbtrAgt')) ?? {},
    debtorCurrency: textAt(element, 'DbtrAcct', 'Ccy'),
    payments: elementsNamed(element, 'CdtTrfTxInf').map((payment) => paymentOf(payment, level)),
  };
}

function paymentOf(element: XmlElement, level: string | undefined): InstructedPayment {
  const amount = elementAt(element, 'Amt', 'InstdAmt');
  const remittance = elementAt(element, 'RmtInf');
  return {
    endToEndId: textAt(element, 'PmtId', 'EndToEndId')!,
    instructionId: textAt(element, 'PmtId', 'InstrId'),
    uetr: textAt(element, 'PmtId', 'UETR'),
    amount: amount?.text ?? '',
    currency: amount?.attributes['Ccy'] ?? '',
    serviceLevel: serviceLevelOf(element) ?? level,
    creditor: partyOf(element, 'Cdtr'),
    creditorBank: institutionOf(elementAt(element, 'CdtrAgt')),
    remittance: elementsNamed(remittance, 'Ustrd').map(({ text }) => text),
    creditorReference: textAt(remittance, 'Strd', 'CdtrRefInf', 'Ref'),
  };
}

const serviceLevelOf = (element: XmlElement): string | undefined => textAt(element, 'PmtTpInf', 'SvcLvl', 'Cd');

function partyOf(element: XmlElement, name: 'Dbtr' | 'Cdtr'): Party {
  const id = elementAt(element, `${name}Acct`, 'Id');
  const [iban, other] = [textAt(id, 'IBAN'), textAt(id, 'Othr', 'Id')];
  const address = elementAt(element, name, 'PstlAdr');
  return {
    name: textAt(element, name, 'Nm'),
    account:
      iban !== undefined ? { id: iban, isIban: true } : other === undefined ? undefined : { id: other, isIban: false },
    address: address && {
      town: textAt(address, 'TwnNm'),
      country: textAt(address, 'Ctry'),
      lines: elementsNamed(address, 'AdrLine').map(({ text }) => text),
    },
  };
}

function institutionOf(agent: XmlElement | undefined): Institution | undefined {
  const institution = elementAt(agent, 'FinInstnId');
  if (!institution) return undefined;
  return {
    bic: textAt(institution, 'BICFI') ?? textAt(institution, 'BIC'),
    member: textAt(institution, 'ClrSysMmbId', 'MmbId'),
  };
}
