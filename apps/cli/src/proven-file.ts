import { createReadStream } from 'node:fs';
import { AuditTrailFault, type AuditTrailProof, isAuditLine, proveAuditTrail } from '@banking/books-proof';
import { ExportFault, type ExportProof, linesOf, proveExport, type ProveOptions } from '@banking/domain/proof';
import { reportProgress } from './print.js';
import { Refused } from './refused.js';

/** Lines between two reports of progress. */
const LINES_PER_REPORT = 20_000;

/** What a file of `banking export` or of `banking audit export` has proved. */
export type ProvenFile =
  { readonly kind: 'books'; readonly proof: ExportProof } | { readonly kind: 'audit'; readonly proof: AuditTrailProof };

interface ProveFileOptions extends ProveOptions {
  readonly onEntry?: Parameters<typeof proveAuditTrail>[1];
}

/** Proves an export of books, or of an audit trail: the first line says which. @throws Refused if a line is wrong, or the file cannot be read */
export async function provenFile(file: string, { onEntry, ...options }: ProveFileOptions = {}): Promise<ProvenFile> {
  try {
    return await readLines(file, async (lines): Promise<ProvenFile> => {
      const [first, all] = await peeked(counted(lines));
      return first !== undefined && isAuditLine(first)
        ? { kind: 'audit', proof: await proveAuditTrail(all, onEntry) }
        : { kind: 'books', proof: await proveExport(all, options) };
    });
  } catch (error) {
    if (error instanceof ExportFault) throw new Refused(`The file ${file} is not a valid export: ${error.message}.`);
    if (error instanceof AuditTrailFault) {
      throw new Refused(`The file ${file} is not a valid export of an audit trail: ${error.message}.`);
    }
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

/** The first line, and all lines with it. A file may be a pipe, which is read once. */
async function peeked(lines: AsyncGenerator<string, void, undefined>) {
  const { value: first } = await lines.next();
  async function* all() {
    if (first !== undefined) yield first;
    yield* lines;
  }
  return [first ?? undefined, all()] as const;
}

async function* counted(lines: AsyncIterable<string>): AsyncGenerator<string, void, undefined> {
  let count = 0;
  for await (const line of lines) {
    yield line;
    count += 1;
    if (count % LINES_PER_REPORT === 0) reportProgress(`Proved ${count} lines.`);
  }
}
