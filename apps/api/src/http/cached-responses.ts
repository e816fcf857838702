import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { UserId } from '@banking/domain';
import { ExpiringCache } from '@banking/process';
import type { RequestContext } from './request-context.js';

/** A change of reference data takes effect within this time. */
const TTL_MS = 1_000;
const ENTRIES_MAX = 1_000;

/** A response body with its validator. */
interface CachedResponse {
  readonly bytes: Buffer;
  /** A strong validator (RFC 9110, section 8.8.3): the same bytes have the same tag in every process. */
  readonly etag: string;
}

/**
 * Caches responses that are the same for every caller as the bytes that are sent, each with an `ETag`. A request whose
 * `If-None-Match` names the tag gets 304 and no body. Refusals are not cached.
 */
@Injectable()
export class CachedResponses {
  private readonly responses = new ExpiringCache<CachedResponse>({ ttlMs: TTL_MS, entriesMax: ENTRIES_MAX });
  /** Pending loads by caller: at a gateway a load may wait behind other requests of its caller, and must not delay other callers. */
  private readonly loads = new ExpiringCache<CachedResponse>({ ttlMs: 0, entriesMax: 1 });

  /**
   * @param key distinguishes the response from those of all other operations and parameters
   * @returns the body for the controller to send, or undefined for 304
   */
  async send(reply: FastifyReply, key: string, load: () => Promise<unknown>): Promise<Buffer | undefined> {
    const { bytes, etag } = this.responses.peek(key) ?? (await this.loadFor(actorOf(reply), key, load));
    reply.header('etag', etag).header('cache-control', 'private, no-cache');
    if (matches(reply.request.headers['if-none-match'], etag)) {
      reply.code(304);
      return undefined;
    }
    reply.header('content-type', 'application/json; charset=utf-8');
    return bytes;
  }

  private loadFor(actor: UserId | undefined, key: string, load: () => Promise<unknown>): Promise<CachedResponse> {
    const refresh = () => this.responses.refresh(key, async () => cachedResponse(await load()));
    return this.loads.get(`${actor} ${key}`, refresh);
  }
}

const actorOf = ({ request }: FastifyReply) => (request as RequestContext).caller?.actor;

function cachedResponse(value: unknown): CachedResponse {
  const bytes = Buffer.from(JSON.stringify(value));
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"` };
}

/** Weak comparison, as RFC 9110, section 13.1.2 requires: a cache between may have weakened a tag. */
function matches(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  return ifNoneMatch.trim() === '*' || ifNoneMatch.split(',').some((tag) => tag.trim().replace(/^W\//, '') === etag);
}
