import { createReadStream } from 'node:fs';
import { BankFileError } from '../bank-records.js';
import { elementAt, elementsNamed, readXml, textAt, type XmlElement } from '../read-xml.js';

/** The versions of `pain.001` that the bank takes, by their namespaces. */
const PAYMENT_VERSIONS: Readonly<Record<string, Version>> = {
  'urn:iso:std:iso:20022:tech:xsd:pain.001.001.03': '03',
  'urn:iso:std:iso:20022:tech:xsd:pain.001.001.09': '09',
};

type Version = '03' | '09';

interface Part {
  readonly name: string;
  readonly type: string;
  readonly isRequired: boolean;
  readonly isRepeated: boolean;
}

/**
 * The elements of each type in their order (message definition reports of ISO 20022, 2009 and 2019). `!` is required, `*` is repeated, and
 * a type is named behind a colon where it has another name. What a payment of ours does not have is of any form.
 */
const TYPES: Readonly<Record<string, string | Readonly<Record<Version, string>>>> = {
  Document: 'CstmrCdtTrfInitn!',
  CstmrCdtTrfInitn: 'GrpHdr! PmtInf!*',
  GrpHdr: 'MsgId!:Id CreDtTm!:DateTime Authstn*:Any NbOfTxs!:Count CtrlSum:Decimal InitgPty!:Party FwdgAgt:Agent',
  PmtInf:
    'PmtInfId!:Id PmtMtd!:Code3 BtchBookg:Flag NbOfTxs:Count CtrlSum:Decimal PmtTpInf ReqdExctnDt! PoolgAdjstmntDt:Date Dbtr!:Party ' +
    'DbtrAcct!:Account DbtrAgt!:Agent DbtrAgtAcct:Account InstrForDbtrAgt:Max140 UltmtDbtr:Party ChrgBr:Code4 ChrgsAcct:Account ' +
    'ChrgsAcctAgt:Agent CdtTrfTxInf!*',
  PmtTpInf: {
    '03': 'InstrPrty:Code4 SvcLvl:Coded LclInstrm:Coded CtgyPurp:Coded',
    '09': 'InstrPrty:Code4 SvcLvl*:Coded LclInstrm:Coded CtgyPurp:Coded',
  },
  ReqdExctnDt: { '03': '', '09': 'Dt:Date DtTm:DateTime' },
  CdtTrfTxInf: {
    '03':
      'PmtId! PmtTpInf Amt! XchgRateInf:Any ChrgBr:Code4 ChqInstr:Any UltmtDbtr:Party IntrmyAgt1:Agent IntrmyAgt1Acct:Account ' +
      'IntrmyAgt2:Agent IntrmyAgt2Acct:Account IntrmyAgt3:Agent IntrmyAgt3Acct:Account CdtrAgt:Agent CdtrAgtAcct:Account Cdtr:Party ' +
      'CdtrAcct:Account UltmtCdtr:Party InstrForCdtrAgt*:Any InstrForDbtrAgt:Max140 Purp:Coded RgltryRptg*:Any Tax:Any RltdRmtInf*:Any RmtInf',
    '09':
      'PmtId! PmtTpInf Amt! XchgRateInf:Any ChrgBr:Code4 MndtRltdInf:Any ChqInstr:Any UltmtDbtr:Party IntrmyAgt1:Agent ' +
      'IntrmyAgt1Acct:Account IntrmyAgt2:Agent IntrmyAgt2Acct:Account IntrmyAgt3:Agent IntrmyAgt3Acct:Account CdtrAgt:Agent ' +
      'CdtrAgtAcct:Account Cdtr:Party CdtrAcct:Account UltmtCdtr:Party InstrForCdtrAgt*:Any InstrForDbtrAgt:Any Purp:Coded ' +
      'RgltryRptg*:Any Tax:Any RltdRmtInf*:Any RmtInf SplmtryData*:Any',
  },
  PmtId: { '03': 'InstrId:Id EndToEndId!:Id', '09': 'InstrId:Id EndToEndId!:Id UETR:Uetr' },
  Amt: 'InstdAmt!:Amount',
  Party: 'Nm:Max140 PstlAdr:Address Id:Any CtryOfRes:Country CtctDtls:Any',
  Address: {
    '03': 'AdrTp:Code4 Dept:Max70 SubDept:Max70 StrtNm:Max70 BldgNb:Max16 PstCd:Max16 TwnNm:Max35 CtrySubDvsn:Max35 Ctry:Country AdrLine*:Max70',
    '09':
      // eslint-disable-next-line house/plain-words -- ISO 20022 has an element of this name
      'AdrTp:Any Dept:Max70 SubDept:Max70 StrtNm:Max70 BldgNb:Max16 BldgNm:Max35 Flr:Max70 PstBx:Max16 Room:Max70 PstCd:Max16 TwnNm:Max35 ' +
      'TwnLctnNm:Max35 DstrctNm:Max35 CtrySubDvsn:Max35 Ctry:Country AdrLine*:Max70',
  },
  Account: {
    '03': 'Id!:AccountId Tp:Any Ccy:Currency Nm:Max70',
    '09': 'Id!:AccountId Tp:Any Ccy:Currency Nm:Max70 Prxy:Any',
  },
  AccountId: 'IBAN:Iban Othr:Other',
  Other: 'Id!:Max34 SchmeNm:Any Issr:Max35',
  Agent: 'FinInstnId!:Institution BrnchId:Any',
  Institution: {
    '03': 'BIC:Bic ClrSysMmbId:Member Nm:Max140 PstlAdr:Address Othr:Other',
    '09': 'BICFI:Bic ClrSysMmbId:Member LEI:Any Nm:Max140 PstlAdr:Address Othr:Other',
  },
  Member: 'ClrSysId:Coded MmbId!:Max35',
  Coded: 'Cd:Max35 Prtry:Max35',
  RmtInf: 'Ustrd*:Max140 Strd*',
  Strd: 'RfrdDocInf*:Any RfrdDocAmt:Any CdtrRefInf Invcr:Any Invcee:Any TaxRmt:Any GrnshmtRmt:Any AddtlRmtInf*:Max140',
  CdtrRefInf: 'Tp:Any Ref:Max35',
};

const text = (max: number): RegExp => new RegExp(`^.{1,${max}}$`, 'su');

/** The forms of texts. */
const TEXTS: Readonly<Record<string, RegExp>> = {
  Id: text(35),
  Max16: text(16),
  Max34: text(34),
  Max35: text(35),
  Max70: text(70),
  Max140: text(140),
  Code3: /^[A-Z]{3}$/,
  Code4: /^[A-Z]{4}$/,
  Count: /^[0-9]{1,15}$/,
  Decimal: /^[0-9]{1,18}(?:\.[0-9]{1,17})?$/,
  Amount: /^[0-9]{1,18}(?:\.[0-9]{1,5})?$/,
  Flag: /^(?:true|false|0|1)$/,
  Date: /^\d{4}-\d\d-\d\d$/,
  DateTime: /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?$/,
  Currency: /^[A-Z]{3}$/,
  Country: /^[A-Z]{2}$/,
  Iban: /^[A-Z]{2}[0-9]{2}[A-Za-z0-9]{1,30}$/,
  Bic: /^[A-Z0-9]{4}[A-Z]{2}[A-Z0-9]{2}(?:[A-Z0-9]{3})?$/,
  Uetr: /^[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}$/,
};

/** Of these, an element has exactly one part. */
const CHOICES: readonly string[] = ['AccountId', 'Coded'];

const parsed = new Map<string, readonly Part[]>();

function partsOf(type: string, version: Version): readonly Part[] | undefined {
  const key = `${type} ${version}`;
  const known = parsed.get(key);
  if (known) return known;
  const row = Object.hasOwn(TYPES, type) ? TYPES[type] : undefined;
  if (row === undefined) return undefined;
  const list = typeof row === 'string' ? row : row[version];
  const parts = list.split(' ').filter((part) => part !== '');
  const made = parts.map((part): Part => {
    const [named = '', ofType] = part.split(':');
    const name = named.replace(/[!*]/g, '');
    return { name, type: ofType ?? name, isRequired: named.includes('!'), isRepeated: named.includes('*') };
  });
  parsed.set(key, made);
  return made;
}

/**
 * What of the structure of a `pain.001` is wrong, as its schema says: undefined if nothing is. The text names elements, and quotes no value.
 *
 * @param document the root
 */
export function structureFault(document: XmlElement): string | undefined {
  const version = PAYMENT_VERSIONS[document.namespace];
  if (version === undefined || document.name !== 'Document') return 'The message is no pain.001.001.03 or .09.';
  return faultIn(document, 'Document', version, 'Document');
}

function faultIn(element: XmlElement, type: string, version: Version, path: string): string | undefined {
  if (type === 'Any') return undefined;
  const parts = partsOf(type, version);
  if (!parts || parts.length === 0) return faultOfText(element, type === 'ReqdExctnDt' ? 'Date' : type, path);

  let at = 0;
  for (const child of element.children) {
    const place = parts.findIndex(({ name }) => name === child.name);
    if (place === -1 || child.namespace !== element.namespace)
      return `${path} must not have the element ${child.name}.`;
    if (place < at) return `${path}/${child.name} is not in the order of the schema.`;
    const { isRepeated, type: childType } = parts[place]!;
    at = isRepeated ? place : place + 1;
    const fault = faultIn(child, childType, version, `${path}/${child.name}`);
    if (fault !== undefined) return fault;
  }
  const missing = parts.find(({ name, isRequired }) => isRequired && elementsNamed(element, name).length === 0);
  if (missing) return `${path} lacks the element ${missing.name}.`;
  if (CHOICES.includes(type) && element.children.length !== 1) return `${path} must have exactly one element.`;
  return element.children.length === 0 ? `${path} is empty.` : undefined;
}

function faultOfText(element: XmlElement, type: string, path: string): string | undefined {
  if (element.children.length > 0) return `${path} must have a text only.`;
  if (!TEXTS[type]!.test(element.text)) return `${path} has not the form of the schema.`;
  if (type === 'Amount' && !/^[A-Z]{3}$/.test(element.attributes['Ccy'] ?? '')) return `${path} lacks its currency.`;
  return undefined;
}

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
