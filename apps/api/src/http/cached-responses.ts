import { Injectable, Module } from '@nestjs/common';
import type { FastifyInstance, FastifyReply, FastifyRequest, preHandlerHookHandler } from 'fastify';
import type { UserId } from '@banking/domain';
import { ExpiringCache } from '@banking/process';
import { entityTagOf, isUnchanged } from './entity-tag.js';

/** A change of reference data takes effect within this time. */
const TTL_MS = 1_000;
const ENTRIES_MAX = 1_000;
/** A longer URL is not kept in memory. */
const URL_LENGTH_MAX = 256;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether the response is the same for every caller who may call the operation, and depends on the URL only. */
    isCached?: boolean;
  }
}

/** A response body with its validator. */
interface CachedResponse {
  readonly bytes: Buffer;
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

  /** The keys of responses by the URL of a GET request. Emptied when it is full. */
  private readonly keys = new Map<string, string>();

  /**
   * Sends stored responses without calling their controller. Call it before the first route is registered. The hook runs after the access
   * of the request was checked, as its controller would, and serves no request without the Caller of that check.
   */
  serve(server: FastifyInstance): void {
    const sendStored: preHandlerHookHandler = (request, reply, done) => {
      const response = request.method === 'GET' && request.caller ? this.storedFor(request.url) : undefined;
      if (response === undefined) return done();
      // Without `done`, no further hook and no controller is called.
      return void reply.send(bodyFor(reply, response));
    };
    server.addHook('onRoute', (route) => {
      if (route.config?.isCached) route.preHandler = [route.preHandler ?? [], sendStored].flat();
    });
  }

  private storedFor(url: string): CachedResponse | undefined {
    const key = this.keys.get(url);
    return key === undefined ? undefined : this.responses.peek(key);
  }

  /**
   * @param key distinguishes the response from those of all other operations and parameters
   * @returns the body for the controller to send, or undefined for 304
   */
  async send(reply: FastifyReply, key: string, load: () => Promise<unknown>): Promise<Buffer | undefined> {
    const response = this.responses.peek(key) ?? (await this.loadFor(reply.request.caller?.actor, key, load));
    this.keep(reply.request, key);
    return bodyFor(reply, response);
  }

  private keep({ method, url, routeOptions }: FastifyRequest, key: string): void {
    if (method !== 'GET' || !routeOptions.config.isCached || url.length > URL_LENGTH_MAX) return;
    if (this.keys.size >= ENTRIES_MAX) this.keys.clear();
    this.keys.set(url, key);
  }

  private loadFor(actor: UserId | undefined, key: string, load: () => Promise<unknown>): Promise<CachedResponse> {
    const refresh = () => this.responses.refresh(key, async () => cachedResponse(await load()));
    return this.loads.get(`${actor} ${key}`, refresh);
  }
}

/** Sets the headers. Returns the body, or undefined for 304. */
function bodyFor(reply: FastifyReply, { bytes, etag }: CachedResponse): Buffer | undefined {
  reply.header('etag', etag).header('cache-control', 'private, no-cache');
  if (isUnchanged(reply.request.headers['if-none-match'], etag)) {
    reply.code(304);
    return undefined;
  }
  reply.header('content-type', 'application/json; charset=utf-8');
  return bytes;
}

function cachedResponse(value: unknown): CachedResponse {
  const bytes = Buffer.from(JSON.stringify(value));
  return { bytes, etag: entityTagOf(bytes) };
}

/** One cache for the reference data of all resources. */
@Module({ providers: [CachedResponses], exports: [CachedResponses] })
export class CachedResponsesModule {}
