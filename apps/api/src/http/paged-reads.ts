import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify';
import { LIMIT_DEFAULT, LIMIT_MAX, type WorkspaceId } from '@banking/domain';
import { FairSlots } from '@banking/process';
import { FairQueue } from './fair-queue.js';
import { jsonBytesInTurns } from './json-bytes.js';
import { type PageLimits, PAGES } from './limits.js';
import { pageRows } from './page-rows.js';
import type { RequestContext } from './request-context.js';
import { isResponseOver, onResponseEnd } from './response-end.js';
import { UnsentBytes } from './unsent-bytes.js';

type Reply = Pick<FastifyReply, 'raw' | 'request'>;
type Request = FastifyRequest & RequestContext;

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
    server.addHook('onRoute', (route: RouteOptions) => {
      if (route.config?.pageRows === undefined) return;
      route.preHandler = [...listOf(route.preHandler), async (request: Request, reply) => this.begin(request, reply)];
      route.preSerialization = [
        ...listOf(route.preSerialization),
        async (_request, _reply, payload: unknown) =>
          Array.isArray(payload) && payload.length > LIMIT_DEFAULT ? jsonBytesInTurns(payload) : payload,
      ];
      route.onSend = [
        ...listOf(route.onSend),
        (request: Request, reply, payload, done) => {
          request.endPagedRead?.();
          if (typeof payload === 'string' || Buffer.isBuffer(payload)) {
            this.unsent.add(request.caller?.workspaceId, Buffer.byteLength(payload), reply);
          }
          done();
        },
      ];
    });
  }

  /** Reads a further page of a table. */
  async readPage<T>(workspaceId: WorkspaceId | undefined, reply: Reply, read: () => Promise<T>): Promise<T> {
    const leave = await this.enter(workspaceId, LIMIT_MAX, reply);
    try {
      return await read();
    } finally {
      leave();
    }
  }

  private async begin(request: Request, reply: FastifyReply): Promise<void> {
    const rows = pageRows(request);
    const workspaceId = request.caller?.workspaceId;
    const isLarge = rows > LIMIT_DEFAULT;
    this.unsent.check(workspaceId, isLarge);
    const leave = await this.enter(workspaceId, rows, reply);
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

  private async enter(key: WorkspaceId | undefined, count: number, reply: Reply): Promise<() => void> {
    const entry = { key, count };
    const turn = this.queue.enter(entry);
    if (turn) {
      const stopListening = onResponseEnd(reply, turn.giveUp);
      await turn.begun.finally(stopListening);
    }
    return () => this.queue.leave(entry);
  }
}

const listOf = <T>(hooks: T | T[] | undefined): T[] =>
  Array.isArray(hooks) ? hooks : hooks === undefined ? [] : [hooks];
