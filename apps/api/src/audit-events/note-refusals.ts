import type { FastifyRequest } from 'fastify';
import { parseId, type RefusalReason, type WorkspaceId } from '@banking/domain';
import { RefusedRequests, type RefusalStore } from '@banking/operations';

/** Refusals that an administrator of the workspace has to know of. */
const NOTED: readonly string[] = [
  'workspace_forbidden',
  'role_insufficient',
  'scope_insufficient',
  'idempotency_key_reused',
  'rate_limited',
] satisfies RefusalReason[];

const FLUSH_MS = 5_000;

export class RefusalNotes {
  private readonly requests: RefusedRequests;
  private timer: NodeJS.Timeout | undefined;

  /** @param warn receives the failure of the store, and how many requests are in no audit trail; for the log */
  constructor(
    store: RefusalStore,
    private readonly warn: (context: object, message: string) => void,
  ) {
    this.requests = new RefusedRequests(store);
  }

  readonly note = ({ operation, userId, reason = '', origin, memberOf, headers }: FastifyRequest): void => {
    if (!NOTED.includes(reason)) return;
    const named = parseId<WorkspaceId>(String(headers['workspace-id'] ?? ''));
    if (userId === undefined || operation === undefined || named === undefined) return;
    const isMember = memberOf !== undefined;
    // A request beyond the rate causes no look-up.
    const workspaceId = isMember || reason !== 'rate_limited' ? named : undefined;
    this.requests.add({ workspaceId, isMember, userId, operation, reason, origin });
  };

  start(): void {
    this.timer = setInterval(() => void this.flush(), FLUSH_MS);
    this.timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.flush(true);
  }

  private async flush(isLast = false): Promise<void> {
    await this.requests.flush({ isLast }).catch((err: unknown) => this.warn({ err }, 'refused requests not recorded'));
    for (const [userId, requests] of this.requests.takeUncounted()) {
      this.warn({ userId, requests }, 'refused requests in no audit trail');
    }
  }
}
