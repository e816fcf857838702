/** CSV of RFC 4180 in UTF-8, with a row of column names. */
export const CSV_TYPE = 'text/csv; charset=utf-8; header=present';

/** Spreadsheets recognize UTF-8 by it. */
const BYTE_ORDER_MARK = '\ufeff';

export const csvHead = (columns: readonly string[]): string => `${BYTE_ORDER_MARK}${columns.join(',')}\r\n`;

/** Rows of a table. @param common the values of the columns that a row leaves out */
export const csvRows = <Name extends string>(
  columns: readonly Name[],
  rows: readonly Partial<Record<Name, CsvValue>>[],
  common: Partial<Record<Name, CsvValue>> = {},
): string =>
  rows.map((row) => `${columns.map((column) => cell(row[column] ?? common[column])).join(',')}\r\n`).join('');

/** A missing value is an empty cell. */
export type CsvValue = string | number | Numeral | undefined;

/** Digits that we wrote ourselves: a leading minus sign is not escaped. */
export class Numeral {
  constructor(readonly digits: string) {}
}

function cell(value: CsvValue): string {
  if (value === undefined) return '';
  if (value instanceof Numeral) return value.digits;
  const text = typeof value === 'number' ? String(value) : escaped(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * Prevents a spreadsheet from reading text as a formula. An apostrophe goes before `=`, `+`, `-`, `@` and their wide forms at the begin
 * of a cell, and before a tab or a line break at the begin of a cell. Programs that split at `;` or at tabs ignore our quotes, so a cell
 * can also begin after these characters and after a line break.
 */
function escaped(text: string): string {
  const inside = text.replace(/(^|[;\t\r\n])(?=[ "]*[=+\-@＝＋－＠])/g, "$1'");
  return /^[\t\r\n]/.test(inside) ? `'${inside}` : inside;
}
