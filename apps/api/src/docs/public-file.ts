import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Refusal } from '@banking/domain';
import { entityTagOf, isMatched, isUnchanged } from '../http/entity-tag.js';

/** A smaller file fits into one packet. */
const COMPRESSED_MIN_BYTES = 1_000;

const ENCODINGS = {
  br: (bytes: Buffer) => promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (bytes: Buffer) => promisify(gzip)(bytes, { level: 9 }),
  identity: async (bytes: Buffer) => bytes,
};
type Encoding = keyof typeof ENCODINGS;

interface Representation {
  readonly bytes: Buffer;
  readonly etag: string;
}

/**
 * A file that everybody may read, in the encodings that the requests ask for. Each is made once, so clients that do not
 * read the response hold no copy of their own.
 */
export class PublicFile {
  private readonly made = new Map<Encoding, Promise<Representation>>();

  /** @param read called once, at the first request */
  constructor(
    private readonly type: string,
    private readonly read: () => Buffer | string | Promise<string>,
  ) {}

  /** Responds with the file, or with 304 if the client has it (RFC 9110, section 15.4.5). */
  async send(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const plain = await this.representation('identity');
    const isSmall = plain.bytes.length < COMPRESSED_MIN_BYTES;
    const encoding = isSmall ? 'identity' : encodingFor(request.headers['accept-encoding']);
    const { bytes, etag } = encoding === 'identity' ? plain : await this.representation(encoding);
    reply.header('etag', etag).header('cache-control', 'no-cache').header('vary', 'accept-encoding');
    if (!isMatched(request.headers['if-match'], etag)) throw new Refusal('precondition_failed');
    if (isUnchanged(request.headers['if-none-match'], etag)) return reply.code(304).send();
    if (encoding !== 'identity') reply.header('content-encoding', encoding);
    return reply.type(this.type).send(bytes);
  }

  private representation(encoding: Encoding): Promise<Representation> {
    let made = this.made.get(encoding);
    if (made === undefined) {
      made = this.make(encoding);
      this.made.set(encoding, made);
      // The next request tries again.
      made.catch(() => this.made.delete(encoding));
    }
    return made;
  }

  private async make(encoding: Encoding): Promise<Representation> {
    const plain =
      encoding === 'identity' ? Buffer.from(await this.read()) : (await this.representation('identity')).bytes;
    const bytes = await ENCODINGS[encoding](plain);
    return { bytes, etag: entityTagOf(bytes) };
  }
}

/** The best encoding that an `Accept-Encoding` (RFC 9110, section 12.5.3) names, and does not exclude with a weight of 0. */
export function encodingFor(header: string | undefined): Encoding {
  const accepted = (header ?? '')
    .toLowerCase()
    .split(',')
    .map((coding) => coding.split(';').map((part) => part.trim()))
    .filter(([, ...parameters]) => !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter)))
    .map(([name]) => name);
  return (['br', 'gzip'] as const).find((encoding) => accepted.includes(encoding)) ?? 'identity';
}
