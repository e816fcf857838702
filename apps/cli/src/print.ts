import Table from 'cli-table3';

type Cell = string | number;

/** Control characters, because a name in the database could contain codes that steer the terminal. */
// eslint-disable-next-line no-control-regex -- the pattern searches for control characters
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

const NO_LINES = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
};

/** Writes a line of the result to standard output, which carries nothing else. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** Prints the result as one JSON document, for programs. */
export function printJson(result: unknown): void {
  print(JSON.stringify(result, null, 2));
}

/** Prints columns below headings, with numbers aligned to the right. Without rows, prints `none`. */
export function printTable(head: readonly string[], rows: readonly (readonly Cell[])[], none: string): void {
  if (rows.length === 0) return print(none);
  const isNumeric = head.map((_, column) => rows.every((row) => typeof row[column] === 'number'));
  const table = new Table({
    head: [...head],
    chars: NO_LINES,
    colAligns: isNumeric.map((numeric) => (numeric ? 'right' : 'left')),
    style: { head: [], border: [], 'padding-left': 0, 'padding-right': 0 },
  });
  table.push(...rows.map((row) => row.map((cell) => visible(String(cell)))));
  print(table.toString().replace(/ +$/gm, ''));
}

/** Writes a line of progress to standard error if that is a terminal, so that standard output holds the result only. */
export function reportProgress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${line}\n`);
}

/** The text with its control characters escaped. */
function visible(text: string): string {
  return text.replace(CONTROL, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
