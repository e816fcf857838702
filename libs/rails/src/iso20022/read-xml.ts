import { SaxesParser, type SaxesTagNS } from 'saxes';
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
async function* decodeXml(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
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

/** The text of one element, of an attribute or of a comment, in UTF-16 units. The longest text of ISO 20022 has 9,000. */
const TEXT_LENGTH_MAX = 100_000;
/** Elements within each other. Those of ISO 20022 have about 20. */
const DEPTH_MAX = 64;
const ATTRIBUTES_MAX = 64;
/** Elements and characters of one element that is given as a whole. */
const DESCENDANTS_MAX = 20_000;
const WHOLE_LENGTH_MAX = 1_000_000;

/** An element with all that is in it. */
export interface XmlElement {
  /** Without its prefix. */
  readonly name: string;
  readonly namespace: string;
  /** Those without a namespace. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly XmlElement[];
  /** Its own text, without white space around it. */
  readonly text: string;
}

/**
 * What a document says next. A path is the names of the elements from the root to this one, such as `Document/GrpHdr`. The name of an
 * element that is not in the namespace of the root has its namespace before it, in braces.
 *
 * - `open`, `close`: the tags of an element that is read in parts. `element` has no children and no text yet.
 * - `element`: one that is in such an element, as a whole.
 */
export type XmlPart =
  | { readonly kind: 'open'; readonly path: string; readonly element: XmlElement }
  | { readonly kind: 'close'; readonly path: string }
  | { readonly kind: 'element'; readonly path: string; readonly element: XmlElement };

/**
 * Reads a document of XML from its bytes, in bounded memory. The root and the elements that `isInParts` names by their path are read in
 * parts, and the others as a whole. Processing instructions and comments are passed over. Text beside the elements that are read in
 * parts is passed over too.
 *
 * @throws BankFileError if it is not well-formed to its end, has a document type declaration, or is beyond a limit
 */
export async function* readXml(
  chunks: AsyncIterable<Uint8Array>,
  isInParts: (path: string, element: XmlElement) => boolean,
): AsyncGenerator<XmlPart> {
  const builder = new PartBuilder(isInParts);
  for await (const text of decodeXml(chunks)) {
    builder.write(text);
    yield* builder.take();
  }
  builder.close();
  yield* builder.take();
}

interface OpenElement extends XmlElement {
  readonly children: OpenElement[];
  readonly attributes: Record<string, string>;
  text: string;
}

/** Makes parts of the events of the parser. */
class PartBuilder {
  private readonly parser = new SaxesParser({ xmlns: true });
  private parts: XmlPart[] = [];
  /** The paths of the open elements that are read in parts. */
  private readonly paths: string[] = [];
  /** The open elements of the one that is read as a whole. */
  private readonly whole: OpenElement[] = [];
  private rootNamespace = '';
  private descendants = 0;
  private wholeLength = 0;
  private lengthSinceEvent = 0;
  private isAtEnd = false;

  constructor(private readonly isInParts: (path: string, element: XmlElement) => boolean) {
    const { parser } = this;
    parser.on('error', () => {
      throw this.fault(
        this.isAtEnd ? 'The file ends before its document does.' : 'The file is not well-formed XML.',
        this.isAtEnd,
      );
    });
    parser.on('doctype', () => {
      throw this.fault('The file has a document type declaration (DOCTYPE), which is not read.');
    });
    parser.on('comment', () => (this.lengthSinceEvent = 0));
    parser.on('processinginstruction', () => (this.lengthSinceEvent = 0));
    parser.on('text', (text) => this.addText(text));
    parser.on('cdata', (text) => this.addText(text));
    parser.on('opentag', (tag) => this.open(tag));
    parser.on('closetag', () => this.closeElement());
  }

  write(text: string): void {
    this.lengthSinceEvent += text.length;
    this.parser.write(text);
    // Without an event, the parser collects a text, an attribute or a declaration.
    if (this.lengthSinceEvent > TEXT_LENGTH_MAX + text.length) throw this.tooLong();
  }

  close(): void {
    this.isAtEnd = true;
    this.parser.close();
  }

  take(): readonly XmlPart[] {
    const { parts } = this;
    this.parts = [];
    return parts;
  }

  private open({ local: name, uri: namespace, attributes: given }: SaxesTagNS): void {
    this.lengthSinceEvent = 0;
    if (this.paths.length + this.whole.length >= DEPTH_MAX) {
      throw this.fault(`The file has more than ${DEPTH_MAX} elements within each other.`);
    }
    const attributes: Record<string, string> = {};
    let count = 0;
    let length = name.length;
    for (const { uri, local, value } of Object.values(given)) {
      count += 1;
      length += value.length;
      if (uri === '') attributes[local] = value;
    }
    if (count > ATTRIBUTES_MAX) throw this.fault(`An element has more than ${ATTRIBUTES_MAX} attributes.`);
    const element: OpenElement = { name, namespace, attributes, children: [], text: '' };
    const parent = this.whole.at(-1);
    if (parent) {
      this.descendants += 1;
      this.addLength(length);
      if (this.descendants > DESCENDANTS_MAX) throw this.fault('An element has too many elements in it.');
      parent.children.push(element);
      this.whole.push(element);
      return;
    }
    const path = this.pathOf(element);
    if (this.paths.length === 0 || this.isInParts(path, element)) {
      this.paths.push(path);
      this.parts.push({ kind: 'open', path, element });
      return;
    }
    this.descendants = 0;
    this.wholeLength = length;
    this.whole.push(element);
  }

  private pathOf({ name, namespace }: XmlElement): string {
    const outer = this.paths.at(-1);
    if (outer === undefined) {
      this.rootNamespace = namespace;
      return name;
    }
    return `${outer}/${namespace === this.rootNamespace ? name : `{${namespace}}${name}`}`;
  }

  private addText(text: string): void {
    this.lengthSinceEvent = 0;
    const element = this.whole.at(-1);
    if (!element) {
      if (text.length > TEXT_LENGTH_MAX) throw this.tooLong();
      return;
    }
    if (element.text.length + text.length > TEXT_LENGTH_MAX) throw this.tooLong();
    this.addLength(text.length);
    element.text += text;
  }

  private addLength(length: number): void {
    this.wholeLength += length;
    if (this.wholeLength > WHOLE_LENGTH_MAX) throw this.fault('An element has too much text in it.');
  }

  private closeElement(): void {
    this.lengthSinceEvent = 0;
    const element = this.whole.pop();
    if (element) {
      element.text = element.text.trim();
      if (this.whole.length === 0) this.parts.push({ kind: 'element', path: this.pathOf(element), element });
      return;
    }
    const path = this.paths.pop();
    if (path !== undefined) this.parts.push({ kind: 'close', path });
  }

  private tooLong(): BankFileError {
    return this.fault(`The file has a text of more than ${TEXT_LENGTH_MAX} characters.`);
  }

  private fault(message: string, endsEarly = false): BankFileError {
    return new BankFileError(`${message} Line ${this.parser.line}, column ${this.parser.column}.`, endsEarly);
  }
}

/** The first element at a path of names below another, each in the namespace of its parent. */
export function elementAt(element: XmlElement | undefined, ...names: readonly string[]): XmlElement | undefined {
  let found = element;
  for (const name of names) {
    const parent = found;
    found = parent?.children.find((child) => child.name === name && child.namespace === parent.namespace);
  }
  return found;
}

/** All children with a name, in the namespace of their parent. */
export function elementsNamed(element: XmlElement | undefined, name: string): readonly XmlElement[] {
  return element?.children.filter((child) => child.name === name && child.namespace === element.namespace) ?? [];
}

/** The text at a path of names below an element; undefined if there is none, or it is empty. */
export function textAt(element: XmlElement | undefined, ...names: readonly string[]): string | undefined {
  const text = elementAt(element, ...names)?.text;
  return text === '' ? undefined : text;
}
