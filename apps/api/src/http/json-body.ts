import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import { hasRepeatedMember } from './repeated-members.js';

/** No operation takes a deeper or larger body. */
const DEPTH_MAX = 8;
const KEYS_MAX = 64;

/** With parameters as in RFC 9110, section 5.6.6. Two readers may interpret another form differently. */
const JSON_TYPE = /^application\/json[ \t]*(?:;[ \t]*[\w!#$%&'*+.^`|~-]+=(?:[\w!#$%&'*+.^`|~-]+|"[^"\\]*")[ \t]*)*$/i;
const CHARSET = /;[ \t]*charset="?([^";]*)"?/gi;

/**
 * Reads bodies as JSON in UTF-8 only. Other media types are refused, so that no proxy and no service can interpret a body in two ways.
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
}

/** @throws Refusal `unsupported_media_type`, `body_malformed` */
function parsed({ headers }: FastifyRequest, bytes: Buffer): unknown {
  const type = headers['content-type'] ?? '';
  const charsets = [...type.matchAll(CHARSET)].map(([, charset = '']) => charset.trim().toLowerCase());
  if (!JSON_TYPE.test(type) || charsets.some((charset) => charset !== 'utf-8')) {
    throw new Refusal('unsupported_media_type');
  }
  // Some clients send the type with every request. The operations that take a body refuse a missing one.
  if (bytes.length === 0) return undefined;
  const text = textOf(bytes);
  const value = valueOf(text);
  if (!isWithin(value, DEPTH_MAX, { left: KEYS_MAX })) {
    throw new Refusal(
      'body_malformed',
      `The body is nested deeper than ${DEPTH_MAX} levels or has more than ${KEYS_MAX} fields.`,
    );
  }
  if (hasRepeatedMember(text, value)) {
    throw new Refusal('body_malformed', 'The body gives a member of an object twice. Send each name once.');
  }
  return value;
}

function textOf(bytes: Buffer): string {
  try {
    // A byte order mark is not removed, and is no JSON (RFC 8259, section 8.1).
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
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

function isWithin(value: unknown, depth: number, keys: { left: number }): boolean {
  if (typeof value !== 'object' || value === null) return true;
  if (depth === 0) return false;
  const members = Object.values(value);
  keys.left -= members.length;
  return keys.left >= 0 && members.every((member) => isWithin(member, depth - 1, keys));
}
