import { fromBalanceAmount, minorUnits, parseTransferAmount, toDecimal, type MinorUnits, type Movement, type Statement } from '@banking/domain'; // prettier-ignore

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
] as const;

/** A text, a number, or an amount with the sign of its direction; what is missing is an empty cell. */
type Row = Partial<Record<(typeof COLUMNS)[number], string | number | Numeral>>;

/**
 * A statement as a table: a row that opens it, one for each movement, a row that closes it. `amount` is signed and in whole units with
 * the decimals of the currency; in the row that opens it is the opening balance, in the one that closes it is empty. So the column adds up
 * to the closing balance, which stands in the column `balance`.
 */
export function statementCsv(statement: Statement): string {
  const { account } = statement.edges;
  const { code: currency } = account.edges.currency;
  const dated = (end: string): Row => (statement.basis === 'booking' ? { createdAt: end } : { valueDate: end });
  const amounts = <T extends 'amount' | 'feeAmount' | 'balance'>(name: T, value: MinorUnits): Row => ({
    [name]: new Numeral(toDecimal(value, currency)),
    [`${name}MinorUnits`]: new Numeral(value.toString()),
  });
  const opening = fromBalanceAmount(statement.openingBalance);
  const rows: Row[] = [
    { line: 'opening', ...dated(statement.from), ...amounts('amount', opening), ...amounts('balance', opening) },
    ...statement.movements.map(({ balanceAfter, feeAmount, amount: _, ...movement }, index) => ({
      line: 'movement',
      ...movement,
      ...amounts('amount', signed(statement.movements[index] as Movement)),
      ...(feeAmount !== undefined && amounts('feeAmount', parseTransferAmount(feeAmount))),
      ...amounts('balance', fromBalanceAmount(balanceAfter)),
    })),
    { line: 'closing', ...dated(statement.to), ...amounts('balance', fromBalanceAmount(statement.closingBalance)) },
  ];
  const common = { accountCode: account.code ?? '', accountAlias: account.alias ?? '', currency };
  const lines = rows.map((row) => COLUMNS.map((column) => cell({ ...common, ...row }[column])).join(','));
  return `${BYTE_ORDER_MARK}${[COLUMNS.join(','), ...lines].join('\r\n')}\r\n`;
}

/** What to save it as: letters that every file system takes. */
export function statementFileName({ from, to, edges: { account } }: Statement): string {
  return `statement-${account.code ?? account.id}-${from}-${to}.csv`
    .replaceAll(':', '')
    .replace(/[^A-Za-z0-9.+-]/g, '_');
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
