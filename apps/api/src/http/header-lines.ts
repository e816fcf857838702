import type { IncomingMessage } from 'node:http';

/** Headers whose lines the service counts. Node keeps only the first line of some headers and joins the lines of others. */
const COUNTED = [
  'host',
  'accept',
  'content-type',
  'content-length',
  'idempotency-key',
  'workspace-id',
  'authorization',
] as const;

export type CountedHeader = (typeof COUNTED)[number];

/** The values of the counted headers, one for each line. */
export interface HeaderLines {
  readonly values: Readonly<Partial<Record<CountedHeader, readonly string[]>>>;
  /** The headers with more than one line, in the order in which they are repeated. */
  readonly repeated: readonly CountedHeader[];
}

/** A request whose headers may have been scanned. */
type ScannedRequest = { readonly raw: Pick<IncomingMessage, 'rawHeaders'>; headerLines?: HeaderLines };

/** Most headers are told apart by the length of their name, which costs less than to fold its case. */
const BY_LENGTH: readonly (readonly CountedHeader[])[] = Array.from({ length: 16 }, (_, length) =>
  COUNTED.filter((name) => name.length === length),
);
const NONE: readonly string[] = [];

/** The values of a header, one for each line. The headers of a request are scanned once. */
export function headerLines(request: ScannedRequest, name: CountedHeader): readonly string[] {
  return linesOf(request).values[name] ?? NONE;
}

/** The first header of `names` that is repeated. */
export function repeatedHeader(request: ScannedRequest, names: ReadonlySet<CountedHeader>): CountedHeader | undefined {
  return linesOf(request).repeated.find((name) => names.has(name));
}

function linesOf(request: ScannedRequest): HeaderLines {
  return (request.headerLines ??= scan(request.raw.rawHeaders));
}

/** @param rawHeaders names and values alternate */
function scan(rawHeaders: readonly string[]): HeaderLines {
  const values: Partial<Record<CountedHeader, string[]>> = {};
  const repeated: CountedHeader[] = [];
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = countedName(rawHeaders[index]!);
    if (name === undefined) continue;
    const value = rawHeaders[index + 1]!;
    const lines = values[name];
    if (lines === undefined) values[name] = [value];
    else if (lines.push(value) === 2) repeated.push(name);
  }
  return { values, repeated };
}

function countedName(written: string): CountedHeader | undefined {
  const names = BY_LENGTH[written.length];
  if (names === undefined || names.length === 0) return undefined;
  const folded = written.toLowerCase();
  return names.find((name) => name === folded);
}
