import { fromBalanceAmount, minorUnits, parseTransferAmount, Refusal, toDecimal, type MinorUnits, type Movement, type Statement } from '@banking/domain'; // prettier-ignore

/** RFC 4180, in UTF-8, with a first row of names. */
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

/** Without it a spreadsheet takes UTF-8 for the code page of the country. */
const BYTE_ORDER_MARK = '\ufeff';

const COLUMNS = [
  'line',
  'accountCode',
  'accountAlias',
  'currency',
  'id',
  'transactionID',
  'createdAt',
  'valueDate',
  'type',
  'direction',
  'description',
  'purpose',
  'recipientName',
  'amount',
  'amountMinorUnits',
  'feeAmount',
  'feeAmountMinorUnits',
  'balance',
  'balanceMinorUnits',
  'orderID',
  'returnOf',
  'returnedBy',
] as const;

/** A text, a number, or an amount with the sign of its direction; what is missing is an empty cell. */
type Row = Partial<Record<(typeof COLUMNS)[number], string | number | Numeral>>;

/** Which page of its statement it is. */
interface PagePlace {
  readonly isFirst: boolean;
  readonly isLast: boolean;
}

/** A statement whose numbers no table can show. That is never the fault of whoever asked for it. */
export class StatementError extends Error {
  override readonly name = 'StatementError';
}

/**
 * A statement as a table: a row that opens it, one for each movement, a row that closes it. `amount` is signed and in whole units with
 * the decimals of the currency; in the row that opens it is the opening balance, in the one that closes it is empty. So the column adds up
 * to the closing balance, which stands in the column `balance`. Of a statement in pages each page has the names, the first alone opens and
 * the last alone closes: the pages without the repeated names are the table of the whole statement.
 *
 * @throws StatementError for a currency without known decimals, or an amount that no books of ours could hold
 */
export function statementCsv(statement: Statement, page: PagePlace = { isFirst: true, isLast: true }): string {
  try {
    return tableOf(statement, page);
  } catch (cause) {
    if (!(cause instanceof Refusal)) throw cause;
    throw new StatementError(`the statement cannot be written as a table: ${cause.reason}`, { cause });
  }
}

function tableOf(statement: Statement, { isFirst, isLast }: PagePlace): string {
  const { account } = statement.edges;
  const { code: currency } = account.edges.currency;
  const dated = (end: string): Row => (statement.basis === 'booking' ? { createdAt: end } : { valueDate: end });
  const amounts = <T extends 'amount' | 'feeAmount' | 'balance'>(name: T, value: MinorUnits): Row => ({
    [name]: new Numeral(toDecimal(value, currency)),
    [`${name}MinorUnits`]: new Numeral(value.toString()),
  });
  const opening = fromBalanceAmount(statement.openingBalance);
  const first: Row = { line: 'opening', ...dated(statement.from), ...amounts('amount', opening), ...amounts('balance', opening) }; // prettier-ignore
  const last: Row = { line: 'closing', ...dated(statement.to), ...amounts('balance', fromBalanceAmount(statement.closingBalance)) }; // prettier-ignore
  const rows: Row[] = [
    ...(isFirst ? [first] : []),
    ...statement.movements.map((movement) => ({
      line: 'movement',
      ...textsOf(movement),
      ...amounts('amount', signed(movement)),
      ...(movement.feeAmount !== undefined && amounts('feeAmount', parseTransferAmount(movement.feeAmount))),
      ...amounts('balance', fromBalanceAmount(movement.balanceAfter)),
    })),
    ...(isLast ? [last] : []),
  ];
  const common = { accountCode: account.code ?? '', accountAlias: account.alias ?? '', currency };
  const lines = rows.map((row) => COLUMNS.map((column) => cell({ ...common, ...row }[column])).join(','));
  return `${BYTE_ORDER_MARK}${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}

/** What a movement says beside its amounts. What else it may hold, from whoever answers, is no column. */
function textsOf({
  id,
  transactionID,
  createdAt,
  valueDate,
  type,
  direction,
  description,
  purpose,
  recipientName,
  orderID,
  returnOf,
  returnedBy,
}: Movement) {
  const texts = Object.entries({ description, purpose, recipientName }).filter(([, text]) => text !== undefined);
  const links = Object.entries({ orderID, returnOf, returnedBy }).filter(([, link]) => typeof link === 'number');
  const said = [...texts, ...links];
  return { id, transactionID, createdAt, valueDate, type, direction, ...(Object.fromEntries(said) as Row) };
}

/** Longer names are refused by file systems and, in a header, by clients. */
const CODE_SHOWN_MAX = 64;

/** What to save it as: letters that every file system takes. */
export function statementFileName({ from, to, edges: { account } }: Statement): string {
  const code = account.code?.slice(0, CODE_SHOWN_MAX) ?? account.id;
  return `statement-${code}-${from}-${to}.csv`.replaceAll(':', '').replace(/[^A-Za-z0-9.+-]/g, '_');
}

/** Digits of our own, which stay a number also below zero. */
class Numeral {
  constructor(readonly digits: string) {}
}

function signed({ direction, amount }: Movement): MinorUnits {
  const value = parseTransferAmount(amount);
  return direction === 'credit' ? value : minorUnits(-value);
}

function cell(value: string | number | Numeral | undefined): string {
  if (value === undefined) return '';
  if (value instanceof Numeral) return value.digits;
  const text = typeof value === 'number' ? String(value) : harmless(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * A text that a spreadsheet takes for no formula, whoever wrote it: an apostrophe goes before `=`, `+`, `-`, `@` and their wide forms where
 * they begin a cell, and before a tab or a line break that begins one. A program that splits at `;` or at tabs, as those of many countries
 * do, does not see our quotes: there, and behind a line break, a cell may begin too.
 */
function harmless(text: string): string {
  const inside = text.replace(/(^|[;\t\r\n])(?=[ "]*[=+\-@＝＋－＠])/g, "$1'");
  return /^[\t\r\n]/.test(inside) ? `'${inside}` : inside;
}
