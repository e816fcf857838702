import { BankFileError } from './bank-records.js';

/** Where an XML declaration ends at the latest, in bytes. */
const DECLARATION_BYTES = 1_024;

/** One piece of text at most, in UTF-16 units: a parser that is given more at a time has more events at a time. */
const PIECE_LENGTH = 16_384;

/** The encodings that are read, by the names of the WHATWG Encoding Standard. `latin1` is Windows-1252 there, as banks mean it. */
const DECODERS: Readonly<Record<string, string>> = {
  'utf-8': 'utf-8',
  utf8: 'utf-8',
  'us-ascii': 'utf-8',
  ascii: 'utf-8',
  'utf-16': 'utf-16',
  'utf-16le': 'utf-16le',
  'utf-16be': 'utf-16be',
  'iso-8859-1': 'latin1',
  latin1: 'latin1',
  'windows-1252': 'latin1',
  'iso-8859-15': 'iso-8859-15',
};

interface Encoding {
  readonly decoder: string;
  /** Whether bytes that are UTF-8 contradict the declaration: any bytes are some text of one byte a character. */
  readonly isOneByte: boolean;
}

/**
 * Decodes a file of XML: UTF-8, UTF-16 with its byte order mark, and the encodings of Western Europe with one byte a character, if the
 * file declares one of them. The pieces are never empty.
 *
 * @throws BankFileError for bytes that are not what the file declares, and for other encodings
 */
export async function* decodeXml(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const source = chunks[Symbol.asyncIterator]();
  try {
    const head = await readHead(source);
    const { decoder, isOneByte } = encodingOf(head);
    const text = new TextDecoder(decoder, { fatal: true });
    const utf8 = isOneByte ? new Utf8Check() : undefined;
    for (let chunk: Uint8Array | undefined = head; chunk; chunk = await nextOf(source)) {
      utf8?.add(chunk);
      yield* piecesOf(decode(() => text.decode(chunk, { stream: true }), false));
    }
    yield* piecesOf(decode(() => text.decode(), true));
    if (utf8?.isUtf8()) throw new BankFileError('The file declares an encoding of one byte a character, but is UTF-8.');
  } finally {
    await source.return?.();
  }
}

async function nextOf(source: AsyncIterator<Uint8Array>): Promise<Uint8Array | undefined> {
  const next = await source.next();
  return next.done === true ? undefined : next.value;
}

/** The first bytes, which tell the encoding. */
async function readHead(source: AsyncIterator<Uint8Array>): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  while (length < DECLARATION_BYTES) {
    const chunk = await nextOf(source);
    if (!chunk) break;
    parts.push(chunk);
    length += chunk.length;
  }
  if (length === 0) throw new BankFileError('The file is empty.', true);
  return Buffer.concat(parts, length);
}

/** XML 1.0 (fifth edition, 2008), appendix F: the byte order mark, then the declaration. */
function encodingOf(head: Uint8Array): Encoding {
  const begins = (...bytes: number[]) => bytes.every((byte, place) => head[place] === byte);
  if (begins(0x1f, 0x8b) || begins(0x50, 0x4b, 3, 4)) {
    throw new BankFileError('The file is compressed. Unpack it before it is put into the folder.');
  }
  const mark = begins(0xef, 0xbb, 0xbf)
    ? 'utf-8'
    : begins(0xff, 0xfe)
      ? 'utf-16le'
      : begins(0xfe, 0xff)
        ? 'utf-16be'
        : undefined;
  if (mark === undefined && (begins(0, 0x3c) || begins(0x3c, 0))) {
    throw new BankFileError('The file is UTF-16 without a byte order mark, which is not read. Send it as UTF-8.');
  }
  const start = new TextDecoder(mark?.startsWith('utf-16') ? mark : 'latin1').decode(
    head.subarray(0, DECLARATION_BYTES),
  );
  const declared = /^(?:\u00ef\u00bb\u00bf)?<\?xml[^>]*?\sencoding\s*=\s*["']([^"'<>]*)["']/.exec(start)?.[1];
  const decoder = declared === undefined ? (mark ?? 'utf-8') : DECODERS[declared.toLowerCase()];
  if (decoder === undefined) {
    throw new BankFileError('The file declares an encoding that is not read. Send it as UTF-8.');
  }
  const isSame = decoder === mark || (decoder === 'utf-16' && mark?.startsWith('utf-16') === true);
  if (mark !== undefined ? !isSame : decoder.startsWith('utf-16')) {
    throw new BankFileError('The file declares another encoding than its first bytes have.');
  }
  return { decoder: mark ?? decoder, isOneByte: mark === undefined && decoder !== 'utf-8' };
}

function decode(read: () => string, isEnd: boolean): string {
  try {
    return read();
  } catch {
    throw new BankFileError('The file has bytes that are not in the encoding that it declares, or UTF-8.', isEnd);
  }
}

function* piecesOf(text: string): Generator<string> {
  for (let at = 0; at < text.length; at += PIECE_LENGTH) yield text.slice(at, at + PIECE_LENGTH);
}

/** Whether bytes are UTF-8 and not all ASCII. By chance, hardly a text of one byte a character is. */
class Utf8Check {
  private readonly decoder = new TextDecoder('utf-8', { fatal: true });
  private isValid = true;
  private isAscii = true;

  add(chunk: Uint8Array): void {
    if (!this.isValid) return;
    this.isAscii &&= chunk.every((byte) => byte < 0x80);
    this.check(() => this.decoder.decode(chunk, { stream: true }));
  }

  isUtf8(): boolean {
    if (this.isValid) this.check(() => this.decoder.decode());
    return this.isValid && !this.isAscii;
  }

  private check(decodes: () => string): void {
    try {
      decodes();
    } catch {
      this.isValid = false;
    }
  }
}
