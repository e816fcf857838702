import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { CalledRequest } from '../access/caller.js';
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
  private readonly answers = new Map<string, { readonly answer: ReadyMade; readonly untilMs: number }>();
  /** By caller: at a gateway a question may wait behind others of its caller, and only of its caller. */
  private readonly questions = new Remember<ReadyMade>(REMEMBERED_MS, REMEMBERED_MAX);

  /**
   * @param key what tells this answer from the others, among all operations that answer here
   * @returns what is left for the controller to send
   */
  async send(reply: FastifyReply, key: string, ask: () => Promise<unknown>): Promise<Buffer | undefined> {
    const { bytes, etag } = this.answerTo(key) ?? (await this.questions.get(`${actorOf(reply)} ${key}`, () => this.keep(key, ask))); // prettier-ignore
    reply.header('etag', etag).header('cache-control', 'private, no-cache');
    if (isKnown(reply.request.headers['if-none-match'], etag)) {
      reply.code(304);
      return undefined;
    }
    reply.header('content-type', 'application/json; charset=utf-8');
    return bytes;
  }

  private answerTo(key: string): ReadyMade | undefined {
    const kept = this.answers.get(key);
    return kept && kept.untilMs > Date.now() ? kept.answer : undefined;
  }

  private async keep(key: string, ask: () => Promise<unknown>): Promise<ReadyMade> {
    const untilMs = Date.now() + REMEMBERED_MS;
    const answer = readyMade(await ask());
    this.answers.delete(key);
    this.answers.set(key, { answer, untilMs });
    const oldest = this.answers.keys().next();
    if (this.answers.size > REMEMBERED_MAX && !oldest.done) this.answers.delete(oldest.value);
    return answer;
  }
}

const actorOf = ({ request }: FastifyReply) => (request as CalledRequest).caller?.actor;

function readyMade(answer: unknown): ReadyMade {
  const bytes = Buffer.from(JSON.stringify(answer));
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/** Weak comparison, as RFC 9110, section 13.1.2 asks for it: a cache on the way may have made a tag weak. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
