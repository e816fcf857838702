import Table from 'cli-table3';

type Cell = string | number;

/** Control characters, which a name read from the database could move the terminal's cursor with. */
// eslint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;

const NO_LINES = {
  ...{ top: '', 'top-mid': '', 'top-left': '', 'top-right': '' },
  ...{ bottom: '', 'bottom-mid': '', 'bottom-left': '', 'bottom-right': '' },
  ...{ left: '', 'left-mid': '', mid: '', 'mid-mid': '', right: '', 'right-mid': '', middle: '  ' },
};

/** Puts the answer of a command on standard output, where nothing else is written. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

/** For programs: one JSON document. */
export function printJson(answer: unknown): void {
  print(JSON.stringify(answer, null, 2));
}

/** For people: columns under headings, numbers to the right; `none` when there are no rows. */
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

/** Tells people how far things are, on standard error, so that the answer stays clean; programs are not told. */
export function tell(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${line}\n`);
}

/** The same text with its control characters spelt out. */
function visible(text: string): string {
  return text.replace(CONTROL, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
