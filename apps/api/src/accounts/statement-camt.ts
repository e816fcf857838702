import { createHash } from 'node:crypto';
import XMLBuilder from 'fast-xml-builder';
import {
  compareInstants,
  fromBalanceAmount,
  isDay,
  minorUnits,
  type MinorUnits,
  type Movement,
  parseInstant,
  parseTransferAmount,
  Refusal,
  type Statement,
  toDecimal,
} from '@banking/domain';
import { type PagePlace, StatementError } from './statement-file.js';

/** XML in UTF-8 (RFC 7303). */
export const XML_TYPE = 'application/xml; charset=utf-8';

/** ISO 20022, Bank to customer statement, version 8, as banks have sent it since November 2025. */
const NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:camt.053.001.08';

const xml = new XMLBuilder({
  ignoreAttributes: false,
  attributeNamePrefix: '@',
  textNodeName: '#',
  suppressEmptyNode: true,
});

/**
 * Writes a page of a statement as a part of a camt.053 message. Only the first part has the header and both balances, and only the last
 * one ends the message.
 *
 * | Element                        | Value                                                                     |
 * | ------------------------------ | ------------------------------------------------------------------------- |
 * | `Stmt/Id`                      | the same for the same account and period, once the period has ended       |
 * | `FrToDt`                       | the period; its end is exclusive                                          |
 * | `Bal` `OPBD`, `CLBD`           | opening and closing balance of the whole statement, by day or instant     |
 * | `Bal` `ITBD`                   | instead of `CLBD` while the period has not ended: the balance of now      |
 * | `NtryRef`, `AcctSvcrRef`       | ids of the transfer and of its transaction                                |
 * | `BkTxCd/Prtry/Cd`              | type of the transfer                                                      |
 * | `Refs/InstrId`                 | id of the order                                                           |
 *
 * @param createdAt RFC 3339
 * @throws StatementError for a value that the message cannot carry
 */
export function statementCamt(statement: Statement, { isFirst, isLast }: PagePlace, createdAt: string): string {
  try {
    const entries = statement.movements.map((movement) => built('Ntry', entryOf(movement, currencyOf(statement))));
    return [...(isFirst ? [headOf(statement, createdAt)] : []), ...entries, ...(isLast ? [END] : [])].join('');
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    throw new StatementError(`the statement cannot be written as camt.053: ${cause.reason}`, { cause });
  }
}

/** An element by its name: text, further elements, or a list of elements of that name. Undefined is left out. */
type Element = string | { readonly [name: string]: Element | readonly Element[] | undefined };

const built = (name: string, element: Element): string => xml.build({ [name]: element }) as string;

const END = '</Stmt></BkToCstmrStmt></Document>\n';

const currencyOf = ({ edges }: Statement): string => edges.account.edges.currency.code;

function headOf(statement: Statement, createdAt: string): string {
  const { from, to, edges } = statement;
  const { account } = edges;
  const code = account.code ?? String(account.id);
  if (code.length > 34) throw new StatementError('the code of the account is longer than camt.053 allows');
  const isEnded = compareInstants(parseInstant(instantOf(to)), parseInstant(createdAt)) <= 0;
  // A statement that is downloaded again is the same one. Until its period has ended, more may be booked.
  const id = idOf(code, from, to, ...(isEnded ? [] : [createdAt]));
  const opening = balanceOf('OPBD', fromBalanceAmount(statement.openingBalance), { from }, currencyOf(statement));
  const closing = fromBalanceAmount(statement.closingBalance);
  const balances = [
    opening,
    isEnded
      ? balanceOf('CLBD', closing, { to }, currencyOf(statement))
      : balanceOf('ITBD', closing, { to: createdAt }, currencyOf(statement)),
  ];
  const elements = {
    Id: id,
    CreDtTm: createdAt,
    FrToDt: { FrDtTm: instantOf(from), ToDtTm: instantOf(to) },
    Acct: {
      Id: { Othr: { Id: code } },
      Ccy: currencyOf(statement),
      Nm: shortened(account.alias, 70),
      Ownr: { Nm: shortened(account.name, 140) },
    },
    Bal: balances,
  };
  const header = built('GrpHdr', { MsgId: idOf(id, createdAt), CreDtTm: createdAt });
  const inside = Object.entries(elements).map(([name, element]) =>
    [element]
      .flat()
      .map((one) => built(name, one as Element))
      .join(''),
  );
  return `<?xml version="1.0" encoding="UTF-8"?>\n<Document xmlns="${NAMESPACE}"><BkToCstmrStmt>${header}<Stmt>${inside.join('')}`;
}

/** Half of a SHA-256 in hex, within the 35 characters of an id. */
const idOf = (...parts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(parts)).digest('hex').slice(0, 32);

const DAY_MS = 86_400_000;

/** A balance at the beginning of a period, or at its end, which is exclusive: of a period of days, the balance of the day before. */
function balanceOf(
  code: string,
  balance: MinorUnits,
  { from, to = '' }: { readonly from?: string; readonly to?: string },
  currency: string,
): Element {
  const dayBefore = () => new Date(Date.parse(`${to}T00:00:00Z`) - DAY_MS).toISOString().slice(0, 10);
  const dated = from ?? to;
  return {
    Tp: { CdOrPrtry: { Cd: code } },
    ...amountOf(balance, currency),
    Dt: isDay(dated) ? { Dt: from ?? dayBefore() } : { DtTm: dated },
  };
}

/** The amount without its sign, and the sign as an indicator. Zero is a credit. */
function amountOf(value: MinorUnits, currency: string) {
  const amount = minorUnits(value < 0n ? -value : value);
  if (amount >= AMOUNT_LIMIT) throw new StatementError('an amount has more digits than camt.053 allows');
  return { Amt: { '@Ccy': currency, '#': toDecimal(amount, currency) }, CdtDbtInd: value < 0n ? 'DBIT' : 'CRDT' };
}

/** An amount of camt.053 has at most 18 digits. */
const AMOUNT_LIMIT = 10n ** 18n;

function entryOf(movement: Movement, currency: string): Element {
  const { id, transactionID, orderID, direction, type, description, purpose, recipientName, valueDate, createdAt } =
    movement;
  const amount = parseTransferAmount(movement.amount);
  const signed = amountOf(direction === 'debit' ? minorUnits(-amount) : amount, currency);
  return {
    NtryRef: String(id),
    ...signed,
    Sts: { Cd: 'BOOK' },
    BookgDt: { DtTm: createdAt },
    ValDt: { Dt: valueDate },
    AcctSvcrRef: String(transactionID),
    BkTxCd: { Domn: domainOf(movement), Prtry: { Cd: shortened(type, 35) ?? 'unknown' } },
    NtryDtls: {
      TxDtls: {
        Refs: { AcctSvcrRef: String(transactionID), InstrId: orderID === undefined ? undefined : String(orderID) },
        ...signed,
        RltdPties: recipientName ? { Cdtr: { Pty: { Nm: shortened(recipientName, 140) } } } : undefined,
        Purp: purpose ? purposeOf(purpose) : undefined,
        RmtInf: description ? { Ustrd: linesOf(description) } : undefined,
      },
    },
  };
}

/** The bank transaction code: external code sets of ISO 20022, 2024. */
function domainOf({ type, direction }: Movement): Element {
  if (type === 'fee') return { Cd: 'ACMT', Fmly: { Cd: 'MDOP', SubFmlyCd: 'CHRG' } };
  const SubFmlyCd = type === 'return' ? 'RRTN' : type === 'internal' ? 'BOOK' : 'OTHR';
  return { Cd: 'PMNT', Fmly: { Cd: direction === 'debit' ? 'ICDT' : 'RCDT', SubFmlyCd } };
}

/** Codes of the external code set have up to four characters. */
const purposeOf = (purpose: string): Element =>
  /^[A-Z0-9]{4}$/.test(purpose) ? { Cd: purpose } : { Prtry: shortened(purpose, 35) };

/** Texts of 140 characters. Characters outside of the first plane count once. */
function linesOf(text: string): readonly string[] {
  const characters = [...writable(text)];
  return Array.from({ length: Math.ceil(characters.length / LINE_LENGTH) }, (_, line) =>
    characters.slice(line * LINE_LENGTH, (line + 1) * LINE_LENGTH).join(''),
  );
}

const LINE_LENGTH = 140;

/** Undefined for an empty text, which no element may have. */
const shortened = (text: string | undefined, length: number): string | undefined =>
  text ? [...writable(text)].slice(0, length).join('') : undefined;

/** What XML 1.0 cannot contain or does not keep, such as another deployment may send, becomes the replacement character. */
const writable = (text: string): string =>
  // eslint-disable-next-line no-control-regex -- the pattern searches for control characters
  text.replace(/[\u0000-\u0008\u000b-\u001f\ufffe\uffff]|\p{Cs}/gu, '\ufffd');

const instantOf = (at: string): string => (isDay(at) ? `${at}T00:00:00Z` : at);
