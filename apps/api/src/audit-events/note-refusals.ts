import type { FastifyInstance, FastifyRequest } from 'fastify';
import { parseId, type RefusalReason, type WorkspaceId } from '@banking/domain';
import { RefusedRequests, type WriteRefusals } from '@banking/operations';
import type { RequestContext } from '../http/request-context.js';

/** Refusals that an administrator of the workspace has to know of. */
const NOTED: readonly string[] = [
  'workspace_forbidden',
  'role_insufficient',
  'idempotency_key_reused',
  'rate_limited',
] satisfies RefusalReason[];

const FLUSH_MS = 5_000;

/** Counts refused requests, and writes the counts to the audit trail of their workspaces. */
export class RefusalNotes {
  private readonly requests: RefusedRequests;
  private timer: NodeJS.Timeout | undefined;
  private reported = 0;

  /** @param warn receives the failure of a write, and how many requests had no place in the count; for the log */
  constructor(
    write: WriteRefusals,
    private readonly warn: (context: object, message: string) => void,
  ) {
    this.requests = new RefusedRequests(write);
  }

  /** Adds the hook that counts. */
  readonly watch = (server: FastifyInstance): void => {
    server.addHook('onResponse', (request: FastifyRequest & RequestContext, _reply, done) => {
      const { operation, userId, reason = '', origin } = request;
      if (userId !== undefined && operation !== undefined && NOTED.includes(reason)) {
        const workspaceId = parseId<WorkspaceId>(String(request.headers['workspace-id'] ?? ''));
        if (workspaceId !== undefined) this.requests.add({ workspaceId, userId, operation, reason, origin });
      }
      done();
    });
  };

  start(): void {
    this.timer = setInterval(() => void this.flush(), FLUSH_MS);
    this.timer.unref();
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flush(true);
  }

  private async flush(isLast = false): Promise<void> {
    await this.requests.flush({ isLast }).catch((err: unknown) => this.warn({ err }, 'refused requests not recorded'));
    const { overflow } = this.requests;
    if (overflow > this.reported) this.warn({ requests: overflow - this.reported }, 'refused requests not counted');
    this.reported = overflow;
  }
}
