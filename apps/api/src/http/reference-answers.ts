import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Remember } from '../access/remember.js';

/** A change of reference data is seen at most this much later. */
const REMEMBERED_MS = 1_000;
const REMEMBERED_MAX = 1_000;

/** An answer as it goes out. */
interface ReadyMade {
  readonly bytes: Buffer;
  /** A strong validator (RFC 9110, section 8.8.3): the same bytes, the same tag, in every process. */
  readonly etag: string;
}

/**
 * Answers that are the same for every caller, kept for a moment as the bytes they are sent as, each with an `ETag`. A request
 * whose `If-None-Match` names it gets 304 and no body. Refusals are not kept.
 */
@Injectable()
export class ReferenceAnswers {
  private readonly answers = new Remember<ReadyMade>(REMEMBERED_MS, REMEMBERED_MAX);

  /**
   * @param key what tells this answer from the others, among all operations that answer here
   * @returns what is left for the controller to send
   */
  async send(reply: FastifyReply, key: string, ask: () => Promise<unknown>): Promise<Buffer | undefined> {
    const { bytes, etag } = await this.answers.get(key, async () => readyMade(await ask()));
    reply.header('etag', etag).header('cache-control', 'private, no-cache');
    if (isKnown(reply.request.headers['if-none-match'], etag)) {
      reply.code(304);
      return undefined;
    }
    reply.header('content-type', 'application/json; charset=utf-8');
    return bytes;
  }
}

function readyMade(answer: unknown): ReadyMade {
  const bytes = Buffer.from(JSON.stringify(answer));
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/** Weak comparison, as RFC 9110, section 13.1.2 asks for it: a cache on the way may have made a tag weak. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
