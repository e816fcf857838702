import { Module } from '@nestjs/common';
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onSendHookHandler,
  preHandlerAsyncHookHandler,
  preSerializationAsyncHookHandler,
} from 'fastify';
import { LIMIT_DEFAULT, LIMIT_MAX, parseId, Refusal, type WorkspaceId } from '@banking/domain';
import { FairSlots } from '@banking/process';
import { ApiConfig } from '../config.js';
import { preferredType } from './request-head.js';
import { FairQueue, takeTurn } from './fair-queue.js';
import { jsonBytesInTurns } from './json.js';
import { type PageLimits, PAGES, PAGES_OF_GATEWAY } from './limits.js';
import { isResponseOver, onResponseEnd } from './connections.js';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** How many rows a page without `limit` has, if the operation has pages. */
    pageRows?: number;
    /** The media types of responses that are the whole list. They are read in pages of the maximum. */
    wholeTypes?: readonly string[];
  }
}

/** How many rows a request may read at once: the `limit` of its page. None if the operation has no pages. */
export function pageRows({ routeOptions, query, headers }: Pick<FastifyRequest, 'routeOptions' | 'query' | 'headers'>) {
  const { pageRows: usual, wholeTypes, mediaTypes = [] } = routeOptions.config;
  if (usual === undefined) return 0;
  if (wholeTypes?.includes(preferredType(headers.accept, mediaTypes) ?? '')) return LIMIT_MAX;
  const { limit } = query as Readonly<Record<string, unknown>>;
  const rows = typeof limit === 'string' ? parseId(limit) : undefined;
  // The operation refuses any other limit.
  return rows !== undefined && rows <= LIMIT_MAX ? rows : usual;
}

/**
 * Counts the bytes of responses that the operating system has not taken yet, because their clients do not read. The memory for them is
 * bounded: a workspace reads nothing more at its bound, and no workspace reads large pages at that of the process.
 */
export class UnsentBytes {
  private readonly slots: FairSlots<WorkspaceId | undefined>;

  constructor({ unsentBytes, unsentBytesPerWorkspace }: Pick<PageLimits, 'unsentBytes' | 'unsentBytesPerWorkspace'>) {
    this.slots = new FairSlots(unsentBytes, unsentBytesPerWorkspace);
  }

  /** @throws Refusal `rate_limited` if too much of the workspace is unsent; `unavailable` for a large page, if too much of all is */
  check(workspaceId: WorkspaceId | undefined, isLarge: boolean): void {
    if (this.slots.mayTake(workspaceId)) return;
    if (!this.slots.isFull) {
      const message = 'The clients of the workspace do not read their responses. Read or close them first.';
      throw new Refusal('rate_limited', message, { retryAfterSeconds: 1 });
    }
    if (isLarge) {
      const message = 'Too many responses are not read by their clients. Request fewer rows, or try again later.';
      throw new Refusal('unavailable', message, { retryAfterSeconds: 1 });
    }
  }

  /** Counts a body until its response has been sent, or its connection is closed. */
  add(workspaceId: WorkspaceId | undefined, bytes: number, reply: Pick<FastifyReply, 'raw' | 'request'>): void {
    if (isResponseOver(reply)) return;
    this.slots.take(workspaceId, bytes);
    onResponseEnd(reply, () => this.slots.release(workspaceId, bytes));
  }
}

type Reply = Pick<FastifyReply, 'raw' | 'request'>;

/**
 * Reads the pages of lists few at a time, before they take a database connection: a workspace reads the rows of one large page, or of
 * several small ones. Workspaces take turns. Each page counts its rows while it is read and composed. Then its bytes count until they
 * are sent, see {@link UnsentBytes}.
 */
export class PagedReads {
  private readonly queue: FairQueue<WorkspaceId | undefined>;
  private readonly unsent: UnsentBytes;

  constructor(limits: PageLimits = PAGES) {
    const { rows, rowsPerWorkspace, waiting, waitMaxMs } = limits;
    this.queue = new FairQueue({
      running: new FairSlots(rows, rowsPerWorkspace),
      waiting: new FairSlots(waiting),
      waitMaxMs,
      waitsFor: 'the reads before it',
      ofOneKey: 'requests of the workspace',
    });
    this.unsent = new UnsentBytes(limits);
  }

  /** Adds hooks to every operation with pages. Call it before the routes are registered. */
  serve(server: FastifyInstance): void {
    const begin: preHandlerAsyncHookHandler = (request, reply) => this.begin(request, reply);
    const serialize: preSerializationAsyncHookHandler<unknown> = async (_request, _reply, payload) =>
      Array.isArray(payload) && payload.length > LIMIT_DEFAULT ? jsonBytesInTurns(payload) : payload;
    const end: onSendHookHandler<unknown> = (request, reply, payload, done) => {
      request.endPagedRead?.();
      if (typeof payload === 'string' || Buffer.isBuffer(payload)) {
        this.unsent.add(request.caller?.workspaceId, Buffer.byteLength(payload), reply);
      }
      done();
    };
    server.addHook('onRoute', (route) => {
      if (route.config?.pageRows === undefined) return;
      route.preHandler = [route.preHandler ?? [], begin].flat();
      route.preSerialization = [route.preSerialization ?? [], serialize].flat();
      route.onSend = [route.onSend ?? [], end].flat();
    });
  }

  /** Reads a further page of a table. */
  async readPage<T>(workspaceId: WorkspaceId | undefined, reply: Reply, read: () => Promise<T>): Promise<T> {
    const leave = await takeTurn(this.queue, { key: workspaceId, count: LIMIT_MAX }, reply);
    try {
      return await read();
    } finally {
      leave();
    }
  }

  private async begin(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const rows = pageRows(request);
    const workspaceId = request.caller?.workspaceId;
    const isLarge = rows > LIMIT_DEFAULT;
    this.unsent.check(workspaceId, isLarge);
    const leave = await takeTurn(this.queue, { key: workspaceId, count: rows }, reply);
    try {
      // Those before it may have become unread while it waited.
      this.unsent.check(workspaceId, isLarge);
    } catch (error) {
      leave();
      throw error;
    }
    // The handler of a request without a client is not called.
    if (isResponseOver(reply)) return leave();
    // Not when the client disconnects: the query goes on. Otherwise a client could start any number of them.
    request.endPagedRead = () => {
      delete request.endPagedRead;
      leave();
    };
  }
}

/** One queue for the pages of all resources. */
@Module({
  providers: [
    {
      provide: PagedReads,
      inject: [ApiConfig],
      useFactory: ({ upstream }: ApiConfig) => new PagedReads(upstream ? PAGES_OF_GATEWAY : PAGES),
    },
  ],
  exports: [PagedReads],
})
export class PagedReadsModule {}
