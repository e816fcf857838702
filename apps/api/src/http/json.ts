import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import { hasRepeatedMember } from '@banking/process';
import { hasBody } from './connections.js';

/** No operation takes a deeper body, an object with more fields or a list with more items. */
const DEPTH_MAX = 8;
const FIELDS_MAX = 64;
const ITEMS_MAX = 1_000;

/** With parameters as in RFC 9110, section 5.6.6. Two readers may interpret another form differently. */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[^"\\]*")[ \t]*)*$/i;
const CHARSET = /;[ \t]*charset="?([^";]*)"?/gi;

/**
 * Reads bodies as JSON in UTF-8 only. Other media types are refused, so that no proxy and no service can interpret a body in two ways.
 * Some clients send a type with every request: without a body, it means nothing.
 */
export function readJsonBodies(server: FastifyInstance): void {
  server.removeAllContentTypeParsers();
  server.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, bytes, done) => {
    try {
      done(null, parsed(request, bytes));
    } catch (refusal) {
      done(refusal as Refusal);
    }
  });
  server.addContentTypeParser('*', (request, _payload, done) => {
    done(hasBody(request) ? new Refusal('unsupported_media_type') : null);
  });
}

/** @throws Refusal `unsupported_media_type`, `body_malformed` */
function parsed({ headers }: FastifyRequest, bytes: Buffer): unknown {
  const type = headers['content-type'] ?? '';
  const charsets = [...type.matchAll(CHARSET)].map(([, charset = '']) => charset.trim().toLowerCase());
  if (!JSON_TYPE.test(type) || charsets.some((charset) => charset !== 'utf-8')) {
    throw new Refusal('unsupported_media_type');
  }
  // The operations that take a body refuse a missing one.
  if (bytes.length === 0) return undefined;
  const text = textOf(bytes);
  const value = valueOf(text);
  if (!isWithin(value, DEPTH_MAX)) {
    const sizes = `an object with more than ${FIELDS_MAX} fields or a list with more than ${ITEMS_MAX} items`;
    throw new Refusal('body_malformed', `The body is nested deeper than ${DEPTH_MAX} levels, or has ${sizes}.`);
  }
  if (hasRepeatedMember(text, value)) {
    throw new Refusal('body_malformed', 'The body gives a member of an object twice. Send each name once.');
  }
  return value;
}

/** A byte order mark is not removed, and is no JSON (RFC 8259, section 8.1). */
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function textOf(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw notJson();
  }
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw notJson();
  }
}

/** The parser's error is not its cause, because that error quotes the body. */
function notJson(): Refusal {
  return new Refusal('body_malformed', 'The body is not JSON in UTF-8.');
}

function isWithin(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  const members: unknown[] = Object.values(value);
  const most = Array.isArray(value) ? ITEMS_MAX : FIELDS_MAX;
  return members.length <= most && members.every((member) => isWithin(member, depth - 1));
}

/** At first; enough for a page of 25 transfers. */
const BYTES_MIN = 256 * 1024;
/** A larger buffer is not kept for the next response. */
const BYTES_KEPT_MAX = 4 * 1024 * 1024;
/** About three milliseconds. */
const ITEMS_PER_TURN = 50;
/** The most bytes that a UTF-16 code unit takes in UTF-8. */
const BYTES_PER_UNIT = 3;

interface Range {
  readonly from: number;
  readonly to: number;
}

/**
 * Writes responses as JSON in UTF-8, with the bytes of `JSON.stringify`.
 *
 * The resources of a page share objects, such as their account. An object with edges that was written before is copied within the buffer.
 * `JSON.stringify` would write each again, in two bytes a character because of the symbols of currencies, and converting these took as long
 * as writing them.
 */
class JsonBytes {
  private buffer = Buffer.allocUnsafeSlow(BYTES_MIN);
  private end = 0;
  private readonly written = new Map<object, Range>();

  of(payload: unknown): Buffer {
    try {
      this.value(payload);
      return this.bytes();
    } finally {
      this.clear();
    }
  }

  /** Writes the items of a page, few in each turn of the event loop. */
  async ofItems(items: readonly unknown[]): Promise<Buffer> {
    const hasShared = repeats(items[0], new Set());
    try {
      for (const [index, item] of items.entries()) {
        if (index > 0 && index % ITEMS_PER_TURN === 0) await nextTurn();
        this.text(index === 0 ? '[' : ',');
        if (hasShared) this.value(item ?? null);
        else this.text(JSON.stringify(item ?? null));
      }
      this.text(items.length === 0 ? '[]' : ']');
      return this.bytes();
    } finally {
      this.clear();
    }
  }

  private bytes(): Buffer {
    return Buffer.from(this.buffer.subarray(0, this.end));
  }

  private clear(): void {
    this.end = 0;
    this.written.clear();
    if (this.buffer.length > BYTES_KEPT_MAX) this.buffer = Buffer.allocUnsafeSlow(BYTES_MIN);
  }

  private value(value: unknown): void {
    if (Array.isArray(value)) this.array(value);
    else if (hasEdges(value)) this.resource(value);
    else this.text(JSON.stringify(value));
  }

  private array(values: readonly unknown[]): void {
    if (!values.some(hasEdges)) return this.text(JSON.stringify(values));
    values.forEach((value, index) => {
      this.text(index === 0 ? '[' : ',');
      this.value(value ?? null);
    });
    this.text(']');
  }

  private resource(resource: WithEdges): void {
    const range = this.written.get(resource);
    if (range) return this.copy(range);
    const from = this.end;
    const own: Record<string, unknown> = {};
    let isLast = false;
    for (const name in resource) {
      isLast = name === 'edges';
      if (!isLast) own[name] = resource[name];
    }
    if (isLast) this.withEdges(JSON.stringify(own), resource.edges);
    else this.text(JSON.stringify(resource));
    this.written.set(resource, { from, to: this.end });
  }

  private withEdges(own: string, edges: Readonly<Record<string, unknown>>): void {
    let before = `${own.slice(0, -1)}${own === '{}' ? '' : ','}"edges":{`;
    for (const name in edges) {
      if (edges[name] === undefined) continue;
      this.text(`${before}${JSON.stringify(name)}:`);
      this.value(edges[name]);
      before = ',';
    }
    this.text(before === ',' ? '}}' : `${before}}}`);
  }

  private text(text: string): void {
    this.reserve(text.length * BYTES_PER_UNIT);
    this.end += this.buffer.write(text, this.end);
  }

  private copy({ from, to }: Range): void {
    this.reserve(to - from);
    this.buffer.copyWithin(this.end, from, to);
    this.end += to - from;
  }

  private reserve(bytes: number): void {
    if (this.end + bytes <= this.buffer.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.end + bytes));
    this.buffer.copy(larger, 0, 0, this.end);
    this.buffer = larger;
  }
}

interface WithEdges {
  readonly [name: string]: unknown;
  readonly edges: Readonly<Record<string, unknown>>;
}

function hasEdges(value: unknown): value is WithEdges {
  if (typeof value !== 'object' || value === null || !('edges' in value) || 'toJSON' in value) return false;
  const { edges } = value;
  return typeof edges === 'object' && edges !== null && !Array.isArray(edges);
}

const writer = new JsonBytes();

/** A payload as JSON in UTF-8. A payload without shared objects, such as that of an upstream, is written faster by `JSON.stringify`. */
export const jsonBytes = (payload: unknown): Buffer =>
  Array.isArray(payload) && repeats(payload[0], new Set()) ? writer.of(payload) : Buffer.from(JSON.stringify(payload));

/** Writers of large pages that write none now. */
const idleWriters: JsonBytes[] = [];

/** A large page as JSON in UTF-8. Other requests are handled while it is written. */
export async function jsonBytesInTurns(items: readonly unknown[]): Promise<Buffer> {
  const own = idleWriters.pop() ?? new JsonBytes();
  try {
    return await own.ofItems(items);
  } finally {
    idleWriters.push(own);
  }
}

/** Whether a resource contains another one twice, as a transfer contains its account: the first item of a page shows it for all. */
function repeats(value: unknown, seen: Set<object>): boolean {
  if (Array.isArray(value)) return value.some((item) => repeats(item, seen));
  if (!hasEdges(value)) return false;
  if (seen.has(value)) return true;
  seen.add(value);
  return Object.values(value.edges).some((edge) => repeats(edge, seen));
}
