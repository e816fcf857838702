import { existsSync } from 'node:fs';
import { type FileHandle, link, open, unlink } from 'node:fs/promises';
import stringWidth from 'string-width';
import {
  EVENT_TYPES,
  FORBIDDEN_CLASSES,
  isAmountCurrency,
  type MinorUnits,
  minorUnits,
  toDecimal,
} from '@banking/domain';
import type { RangeProgress } from '@banking/ledger';

/** A request that a command refuses. The message states the fault and the next step. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** The width of a column of types of events. */
export const TYPE_WIDTH = Math.max(...EVENT_TYPES.map(({ type }) => type.length));

/** A value of a table. */
export type Cell = string | number;

/** What free text must not contain, because a name in the database could steer the terminal or turn the text around it. */
const FORBIDDEN = new RegExp(`[${FORBIDDEN_CLASSES}]`, 'gu');

/** Writes a line of the result to standard output, which carries nothing else. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

export function printJson(result: unknown): void {
  print(JSON.stringify(result, null, 2));
}

/** Prints columns below headings, with numbers aligned to the right. Without rows, prints `none`. */
export function printTable(head: readonly string[], rows: readonly (readonly Cell[])[], none: string): void {
  if (rows.length === 0) return print(none);
  const lines = [head, ...rows].map((row) => row.map((cell) => visible(String(cell))));
  const pads = head.map((_, column) => {
    const width = lines.reduce((widest, line) => Math.max(widest, stringWidth(line[column] ?? '')), 0);
    const isNumeric = rows.every((row) => typeof row[column] === 'number');
    return (text: string) => {
      const space = ' '.repeat(width - stringWidth(text));
      return isNumeric ? space + text : text + space;
    };
  });
  print(
    lines
      .map((line) =>
        pads
          .map((pad, column) => pad(line[column] ?? ''))
          .join('  ')
          .trimEnd(),
      )
      .join('\n'),
  );
}

/** Writes a line of progress to standard error if that is a terminal, so that standard output holds the result only. */
export function reportProgress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${line}\n`);
}

function visible(text: string): string {
  return text.replace(FORBIDDEN, (character) => {
    const digits = character.codePointAt(0)!.toString(16);
    return digits.length > 2 ? `\\u{${digits}}` : `\\x${digits.padStart(2, '0')}`;
  });
}

/** Resolves when the reader has taken the text. */
export function toStandardOutput(text: string): Promise<void> {
  return new Promise((done, fail) => {
    process.stdout.write(text, (error) => (error ? fail(error) : done()));
  });
}

/**
 * Resolves when the reader has taken what was printed. A message on standard error would otherwise be within a line of it where both lead
 * to one pipe. The listener of the stream reports an error.
 */
export const printed = (): Promise<void> => toStandardOutput('').catch(() => undefined);

/** The report of a command whose reader closed the pipe. @throws any other error */
export function unlessPipeClosed(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'EPIPE') return 'The reader closed the pipe. The output is incomplete.';
  throw error;
}

/**
 * Creates a file that only its owner can read. It has a temporary name until the work is done, so that it is complete or absent.
 * An existing file is never replaced, also if it was created meanwhile.
 *
 * @throws Refused if a file of that name exists, or the file cannot be written
 */
export async function createFile<T>(
  path: string,
  work: (write: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  if (existsSync(path)) throw alreadyExists(path);
  const part = `${path}.${process.pid}.part`;
  const file = await done(path, open(part, 'wx', 0o600));
  try {
    const result = await work((text) => done(path, file.appendFile(text)));
    await done(path, closed(file));
    // Unlike a rename, a link does not replace an existing file.
    await done(path, link(part, path));
    return result;
  } finally {
    // After a failure, the first error is the one to report.
    await file.close().catch(() => undefined);
    await unlink(part);
  }
}

async function closed(file: FileHandle): Promise<void> {
  await file.sync();
  await file.close();
}

async function done<T>(path: string, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw alreadyExists(path);
    throw new Refused(`The file ${path} cannot be written: ${(error as Error).message}.`);
  }
}

function alreadyExists(path: string): Refused {
  return new Refused(`The file ${path} exists already and is not replaced. Choose another name.`);
}

/** Rows between two lines of progress. */
const ROWS_PER_REPORT = 20_000;

/** Reports the progress of a reading in ranges. A reading in a single range is not reported. */
export function reportRanges(): (progress: RangeProgress) => void {
  let current = '';
  let reported = 0;
  return ({ workspaceId, reading, done }) => {
    const name = `${workspaceId}/${reading}`;
    if (name !== current) [current, reported] = [name, 0];
    if (done - reported < ROWS_PER_REPORT) return;
    reported = done;
    const where = workspaceId === 0 ? 'all workspaces' : `workspace ${workspaceId}`;
    reportProgress(`Read ${done} ${reading} of ${where}.`);
  };
}

/** An amount with the decimals of its currency, or in minor units if the currency defines no decimals. */
export function shownAmount(amount: MinorUnits, currencyCode: string): string {
  const hasDecimals = isAmountCurrency(currencyCode);
  return hasDecimals ? toDecimal(amount, currencyCode) : amount.toString();
}

/** An amount in minor units, as digits, with its currency. */
export const shownMoney = (amount: string, currencyCode: string): string =>
  `${shownAmount(minorUnits(BigInt(amount)), currencyCode)} ${currencyCode}`;
