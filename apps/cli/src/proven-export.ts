import { createReadStream } from 'node:fs';
import { ExportFault, type ExportProof, linesOf, proveExport, type ProveOptions } from '@banking/domain/proof';
import { reportProgress } from './print.js';
import { Refused } from './refused.js';

/** Lines between two reports of progress. */
const LINES_PER_REPORT = 20_000;

/** Proves an export file. @throws Refused if a line is wrong, or the file cannot be read */
export async function provenExport(file: string, options: ProveOptions = {}): Promise<ExportProof> {
  try {
    return await readLines(file, (lines) => proveExport(counted(lines), options));
  } catch (error) {
    if (error instanceof ExportFault) throw new Refused(`The file ${file} is not a valid export: ${error.message}.`);
    throw error;
  }
}

/** Reads the lines of a file. @throws Refused if the file cannot be read */
export async function readLines<T>(file: string, read: (lines: AsyncIterable<string>) => Promise<T>): Promise<T> {
  try {
    return await read(linesOf(createReadStream(file)));
  } catch (error) {
    const { code, syscall, message } = error as NodeJS.ErrnoException;
    if (code !== undefined && syscall !== undefined) throw new Refused(`The file ${file} cannot be read: ${message}.`);
    throw error;
  }
}

async function* counted(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let count = 0;
  for await (const line of lines) {
    yield line;
    count += 1;
    if (count % LINES_PER_REPORT === 0) reportProgress(`Proved ${count} lines.`);
  }
}
