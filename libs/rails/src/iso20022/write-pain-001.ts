import XMLBuilder from 'fast-xml-builder';
import { decimalsOf, type MinorUnits, toDecimal } from '@banking/domain';
import { uetrOf } from '@banking/payouts';
import type { BankDialect } from '../rail-config.js';
import { creationTimeOf, executionDay } from './bank-days.js';
import type { Address, Agent, Party, PaymentContentInFile } from './payment-content.js';

/** A payment as a file carries it. */
export interface PaymentInFile {
  readonly key: string;
  readonly endToEndId: string;
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  readonly content: PaymentContentInFile;
  /** `PmtInfId`: the payments that have the same one have the same debtor, account and service level. */
  readonly paymentInformationId: string;
}

/** A file with its payments. */
export interface PaymentsInFile {
  readonly messageId: string;
  /** The execution days and `CreDtTm` follow from it. */
  readonly createdAtMs: number;
  /** The name of the party that sends it. */
  readonly sender: string;
  /** At least one. */
  readonly payments: readonly PaymentInFile[];
}

/** An element by its name: text, further elements, or a list of elements of that name. Undefined is left out. */
type Element = string | { readonly [name: string]: Element | readonly Element[] | undefined };

const xml = new XMLBuilder({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  textNodeName: '#',
  suppressEmptyNode: true,
});

/** With double quotes: banks have refused files with others. */
const DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n';

/** What the messages call things. */
const NAMES = {
  'pain.001.001.09': { bic: 'BICFI', hasUetr: true, hasDateChoice: true },
  'pain.001.001.03': { bic: 'BIC', hasUetr: false, hasDateChoice: false },
} as const;

/** The decimals of an amount at most (ISO 20022 ActiveOrHistoricCurrencyAndAmount). */
const DECIMALS_MAX = 5;

/** A sum has at most 18 digits (ISO 20022 DecimalNumber). */
const SUM_LIMIT = 10n ** 18n;

/** What makes payments of a file one `PmtInf`. All payments of a currency have the same execution day. */
export function groupOf({ currency, content: { debtor, serviceLevel } }: Omit<PaymentInFile, 'paymentInformationId'>) {
  const { name, account, isIban, bic, address } = debtor;
  return JSON.stringify([currency, serviceLevel, account, isIban, bic, name, address ?? null]);
}

/**
 * Writes payments as a message `pain.001` (ISO 20022, Customer credit transfer initiation): the elements of `pain.001.001.09` (edition of
 * February 2019) or `pain.001.001.03` (April 2009) in the order of their schemas.
 *
 * | Element                  | Value                                                                                      |
 * | ------------------------ | ------------------------------------------------------------------------------------------ |
 * | `PmtInf`                 | one for each debtor account, currency and service level                                    |
 * | `CtrlSum`                | the sum of the decimal amounts, whatever their currencies                                  |
 * | `SvcLvl`                 | `SEPA` in euros within the SEPA area, unless by SWIFT; else `NURG`                             |
 * | `ReqdExctnDt`            | by cut-off and bank days                                                                   |
 * | `ChrgBr`                 | `SLEV` for SEPA (EPC132-08), else `SHAR`                                                   |
 * | `InstrId`, `EndToEndId`  | the same, of the payout                                                                    |
 * | `CdtrAgt`                | BIC, member of a clearing system, or `NOTPROVIDED`                                         |
 */
export function writePain001(file: PaymentsInFile, dialect: BankDialect): string {
  const groups = new Map<string, PaymentInFile[]>();
  for (const payment of file.payments) {
    const group = groups.get(payment.paymentInformationId);
    if (group) group.push(payment);
    else groups.set(payment.paymentInformationId, [payment]);
  }
  const { message } = dialect;
  const header: Element = {
    MsgId: file.messageId,
    CreDtTm: creationTimeOf(file.createdAtMs, dialect),
    ...totalsOf(file.payments),
    InitgPty: { Nm: file.sender },
  };
  return [
    DECLARATION,
    `<Document xmlns="urn:iso:std:iso:20022:tech:xsd:${message}"><CstmrCdtTrfInitn>`,
    built('GrpHdr', header),
    ...[...groups].flatMap(([id, payments]) => [
      '<PmtInf>',
      headOfGroup(id, payments, file.createdAtMs, dialect),
      ...payments.map((payment) => built('CdtTrfTxInf', transferOf(payment, dialect))),
      '</PmtInf>',
    ]),
    '</CstmrCdtTrfInitn></Document>\n',
  ].join('');
}

/** The execution days that a file of ours asks for: ISO 8601 dates. */
export function executionDaysIn(text: string): readonly string[] {
  return [...text.matchAll(/<ReqdExctnDt>(?:<Dt>)?([0-9-]{10})</g)].map(([, day = '']) => day);
}

const built = (name: string, element: Element): string => xml.build({ [name]: element }) as string;

const builtAll = (elements: Readonly<Record<string, Element | undefined>>): string => xml.build(elements) as string;

function headOfGroup(
  id: string,
  payments: readonly PaymentInFile[],
  createdAtMs: number,
  dialect: BankDialect,
): string {
  const { content, currency } = payments[0]!;
  const { debtor, serviceLevel } = content;
  const { batchBooking, message } = dialect;
  const day = executionDay(createdAtMs, currency, dialect);
  return builtAll({
    PmtInfId: id,
    PmtMtd: 'TRF',
    BtchBookg: batchBooking?.toString(),
    ...totalsOf(payments),
    PmtTpInf: { SvcLvl: { Cd: serviceLevel } },
    ReqdExctnDt: NAMES[message].hasDateChoice ? { Dt: day } : day,
    Dbtr: { Nm: debtor.name, PstlAdr: debtor.address && addressOf(debtor.address) },
    DbtrAcct: { Id: accountOf(debtor), Ccy: currency },
    DbtrAgt: agentOf({ bic: debtor.bic }, message),
    ChrgBr: serviceLevel === 'SEPA' ? 'SLEV' : 'SHAR',
  });
}

function transferOf({ key, endToEndId, amount, currency, content }: PaymentInFile, { message }: BankDialect): Element {
  const { creditor, purpose, serviceLevel } = content;
  // In SEPA the bank is found by the IBAN.
  const agent = creditor.agent ?? (serviceLevel === 'SEPA' ? undefined : { other: 'NOTPROVIDED' });
  return {
    PmtId: {
      ...{ InstrId: endToEndId, EndToEndId: endToEndId },
      UETR: NAMES[message].hasUetr ? uetrOf(key) : undefined,
    },
    Amt: { InstdAmt: { '#': toDecimal(amount, currency), '@Ccy': currency } },
    CdtrAgt: agent && agentOf(agent, message),
    Cdtr: { Nm: creditor.name, PstlAdr: creditor.address && addressOf(creditor.address) },
    CdtrAcct: { Id: accountOf(creditor) },
    Purp: purpose === undefined ? undefined : { Cd: purpose },
    RmtInf: remittanceOf(content),
  };
}

function agentOf(agent: Agent, message: BankDialect['message']): Element {
  if ('bic' in agent) return { FinInstnId: { [NAMES[message].bic]: agent.bic } };
  if ('other' in agent) return { FinInstnId: { Othr: { Id: agent.other } } };
  return { FinInstnId: { ClrSysMmbId: { ClrSysId: { Cd: agent.clearingSystem }, MmbId: agent.member } } };
}

const accountOf = ({ account, isIban }: Party): Element => (isIban ? { IBAN: account } : { Othr: { Id: account } });

function addressOf({ street, building, postCode, town, country, lines }: Address): Element {
  return { StrtNm: street, BldgNb: building, PstCd: postCode, TwnNm: town, Ctry: country, AdrLine: lines };
}

function remittanceOf({ reference, remittance }: PaymentContentInFile): Element | undefined {
  if (reference === undefined) return remittance === undefined ? undefined : { Ustrd: remittance };
  return { Strd: { CdtrRefInf: { Tp: { CdOrPrtry: { Cd: 'SCOR' }, Issr: 'ISO' }, Ref: reference } } };
}

function totalsOf(payments: readonly PaymentInFile[]) {
  return { NbOfTxs: payments.length.toString(), CtrlSum: sumOf(payments) };
}

type Amount = Pick<PaymentInFile, 'amount' | 'currency'>;

/** The exact sum of decimal amounts, with as many decimals as the amount that has the most. */
function sumOf(payments: readonly Amount[]): string {
  let sum = NOTHING;
  for (const payment of payments) sum = sumWith(sum, payment);
  const { decimals } = sum;
  const digits = digitsOf(sum)
    .toString()
    .padStart(decimals + 1, '0');
  return decimals === 0 ? digits : `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`;
}

/** How many of these payments one file can carry: all, unless their sum has too many digits. At least the first. */
export function countWithinSum(payments: readonly Amount[]): number {
  let sum = NOTHING;
  for (const [index, payment] of payments.entries()) {
    sum = sumWith(sum, payment);
    if (index > 0 && digitsOf(sum) >= SUM_LIMIT) return index;
  }
  return payments.length;
}

interface Sum {
  /** In units of five decimals. */
  readonly units: bigint;
  readonly decimals: number;
}

const NOTHING: Sum = { units: 0n, decimals: 0 };

const sumWith = ({ units, decimals }: Sum, { amount, currency }: Amount): Sum => ({
  units: units + amount * 10n ** BigInt(DECIMALS_MAX - decimalsOf(currency)),
  decimals: Math.max(decimals, decimalsOf(currency)),
});

const digitsOf = ({ units, decimals }: Sum): bigint => units / 10n ** BigInt(DECIMALS_MAX - decimals);
