import type { BankDialect } from '../rail-config.js';
import { mistakesBy } from './schema-mistakes.js';

type Message = BankDialect['message'];

const BIC_PATTERN = {
  'pain.001.001.09': '[A-Z0-9]{4,4}[A-Z]{2,2}[A-Z0-9]{2,2}([A-Z0-9]{3,3}){0,1}',
  'pain.001.001.03': '[A-Z]{6,6}[A-Z2-9][A-NP-Z0-9]([A-Z0-9]{3,3}){0,1}',
} as const satisfies Readonly<Record<Message, string>>;

const text = (length: number) =>
  `<xs:simpleType name="Max${length}Text"><xs:restriction base="xs:string"><xs:minLength value="1"/>` +
  `<xs:maxLength value="${length}"/></xs:restriction></xs:simpleType>`;

const pattern = (name: string, value: string) =>
  `<xs:simpleType name="${name}"><xs:restriction base="xs:string"><xs:pattern value="${value}"/></xs:restriction></xs:simpleType>`;

/** @param parts each a name, a type, and `?` for an optional one or `*` for a list */
const sequence = (name: string, ...parts: readonly (readonly [element: string, type: string, times?: '?' | '*'])[]) =>
  `<xs:complexType name="${name}"><xs:sequence>${elements(parts)}</xs:sequence></xs:complexType>`;

const choice = (name: string, ...parts: readonly (readonly [element: string, type: string])[]) =>
  `<xs:complexType name="${name}"><xs:choice>${elements(parts)}</xs:choice></xs:complexType>`;

const elements = (parts: readonly (readonly [element: string, type: string, times?: '?' | '*'])[]) =>
  parts
    .map(([element, type, times]) => {
      const occurs = times === '?' ? ' minOccurs="0"' : times === '*' ? ' minOccurs="0" maxOccurs="unbounded"' : '';
      return `<xs:element name="${element}" type="${type}"${occurs}/>`;
    })
    .join('');

/**
 * The types of the official schemas of ISO 20022 (pain.001.001.09, edition of February 2019, and pain.001.001.03, April 2009) that our
 * messages use, with their elements in its order. Elements that are never written are left out, so that a message with them is refused.
 */
function pain001Schema(message: Message): string {
  const isNew = message === 'pain.001.001.09';
  const namespace = `urn:iso:std:iso:20022:tech:xsd:${message}`;
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<xs:schema xmlns="${namespace}" xmlns:xs="http://www.w3.org/2001/XMLSchema" elementFormDefault="qualified" targetNamespace="${namespace}">`,
    '<xs:element name="Document" type="Document"/>',
    sequence('Document', ['CstmrCdtTrfInitn', 'Initiation']),
    '<xs:complexType name="Initiation"><xs:sequence><xs:element name="GrpHdr" type="GroupHeader"/>',
    '<xs:element name="PmtInf" type="PaymentInstruction" maxOccurs="unbounded"/></xs:sequence></xs:complexType>',
    sequence(
      'GroupHeader',
      ['MsgId', 'Max35Text'],
      ['CreDtTm', 'xs:dateTime'],
      ['NbOfTxs', 'Max15NumericText'],
      ['CtrlSum', 'DecimalNumber', '?'],
      ['InitgPty', 'Party'],
    ),
    '<xs:complexType name="PaymentInstruction"><xs:sequence>',
    elements([
      ['PmtInfId', 'Max35Text'],
      ['PmtMtd', 'PaymentMethod'],
      ['BtchBookg', 'xs:boolean', '?'],
      ['NbOfTxs', 'Max15NumericText', '?'],
      ['CtrlSum', 'DecimalNumber', '?'],
      ['PmtTpInf', 'PaymentType', '?'],
      ['ReqdExctnDt', isNew ? 'DateAndDateTime2Choice' : 'xs:date'],
      ['Dbtr', 'Party'],
      ['DbtrAcct', 'CashAccount'],
      ['DbtrAgt', 'Agent'],
      ['ChrgBr', 'ChargeBearerType1Code', '?'],
    ]),
    '<xs:element name="CdtTrfTxInf" type="Transfer" maxOccurs="unbounded"/></xs:sequence></xs:complexType>',
    sequence(
      'Transfer',
      ['PmtId', 'PaymentIdentification'],
      ['Amt', 'AmountChoice'],
      ['CdtrAgt', 'Agent', '?'],
      ['Cdtr', 'Party', '?'],
      ['CdtrAcct', 'CashAccount', '?'],
      ['Purp', 'Purpose', '?'],
      ['RmtInf', 'Remittance', '?'],
    ),
    sequence(
      'PaymentIdentification',
      ['InstrId', 'Max35Text', '?'],
      ['EndToEndId', 'Max35Text'],
      ...(isNew ? ([['UETR', 'UUIDv4Identifier', '?']] as const) : []),
    ),
    sequence('PaymentType', ['SvcLvl', 'Code', '?']),
    sequence('Purpose', ['Cd', 'Max4Text']),
    sequence('Code', ['Cd', 'Max4Text']),
    choice('DateAndDateTime2Choice', ['Dt', 'xs:date'], ['DtTm', 'xs:dateTime']),
    sequence('Party', ['Nm', 'Max140Text', '?'], ['PstlAdr', 'PostalAddress', '?']),
    '<xs:complexType name="PostalAddress"><xs:sequence>',
    elements([
      ['StrtNm', 'Max70Text', '?'],
      ['BldgNb', 'Max16Text', '?'],
      ['PstCd', 'Max16Text', '?'],
      ['TwnNm', 'Max35Text', '?'],
      ['Ctry', 'CountryCode', '?'],
    ]),
    '<xs:element name="AdrLine" type="Max70Text" minOccurs="0" maxOccurs="7"/></xs:sequence></xs:complexType>',
    sequence('CashAccount', ['Id', 'AccountChoice'], ['Ccy', 'CurrencyCode', '?']),
    choice('AccountChoice', ['IBAN', 'IBAN2007Identifier'], ['Othr', 'GenericAccount']),
    sequence('GenericAccount', ['Id', 'Max34Text']),
    sequence('Agent', ['FinInstnId', 'Institution']),
    sequence(
      'Institution',
      [isNew ? 'BICFI' : 'BIC', 'BICIdentifier', '?'],
      ['ClrSysMmbId', 'ClearingMember', '?'],
      ['Othr', 'GenericInstitution', '?'],
    ),
    sequence('ClearingMember', ['ClrSysId', 'ClearingSystem', '?'], ['MmbId', 'Max35Text']),
    sequence('ClearingSystem', ['Cd', 'Max5Text']),
    sequence('GenericInstitution', ['Id', 'Max35Text']),
    sequence('AmountChoice', ['InstdAmt', 'Amount']),
    '<xs:complexType name="Amount"><xs:simpleContent><xs:extension base="AmountNumber">',
    '<xs:attribute name="Ccy" type="CurrencyCode" use="required"/></xs:extension></xs:simpleContent></xs:complexType>',
    sequence('Remittance', ['Ustrd', 'Max140Text', '*'], ['Strd', 'Structured', '*']),
    sequence('Structured', ['CdtrRefInf', 'CreditorReference', '?']),
    sequence('CreditorReference', ['Tp', 'CreditorReferenceType', '?'], ['Ref', 'Max35Text', '?']),
    sequence('CreditorReferenceType', ['CdOrPrtry', 'DocumentType'], ['Issr', 'Max35Text', '?']),
    sequence('DocumentType', ['Cd', 'Max4Text']),
    ...[4, 5, 16, 34, 35, 70, 140].map(text),
    pattern('Max15NumericText', '[0-9]{1,15}'),
    pattern('PaymentMethod', 'CHK|TRF|TRA'),
    pattern('ChargeBearerType1Code', 'DEBT|CRED|SHAR|SLEV'),
    pattern('CountryCode', '[A-Z]{2,2}'),
    pattern('CurrencyCode', '[A-Z]{3,3}'),
    pattern('IBAN2007Identifier', '[A-Z]{2,2}[0-9]{2,2}[a-zA-Z0-9]{1,30}'),
    pattern('BICIdentifier', BIC_PATTERN[message]),
    pattern('UUIDv4Identifier', '[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}'),
    '<xs:simpleType name="DecimalNumber"><xs:restriction base="xs:decimal"><xs:fractionDigits value="17"/>',
    '<xs:totalDigits value="18"/></xs:restriction></xs:simpleType>',
    '<xs:simpleType name="AmountNumber"><xs:restriction base="xs:decimal"><xs:minInclusive value="0"/><xs:fractionDigits value="5"/>',
    '<xs:totalDigits value="18"/></xs:restriction></xs:simpleType>',
    '</xs:schema>',
  ].join('');
}

/** What the schema refuses in each message; the empty text for a valid one. */
export const pain001Mistakes = (message: Message, messages: readonly string[]): readonly string[] =>
  mistakesBy(pain001Schema(message), messages);
