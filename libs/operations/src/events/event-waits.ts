import type { WorkspaceId } from '@banking/domain';
import { bind, type Database, isServedElsewhere, sqlStatement } from '@banking/postgres';

const POLL_EVERY_MS = 200;

/** The last events of workspaces. A workspace without events has no row. */
const LAST_EVENTS = sqlStatement<{ workspaceId: bigint; last: bigint }>(
  'last_events',
  `select u.workspace_id as "workspaceId", l.id as last
   from unnest($1::bigint[]) u(workspace_id)
   cross join lateral (
     select e.id from event e where e.workspace_id = u.workspace_id order by e.id desc limit 1) l`,
);

interface Waiter {
  readonly after: bigint;
  readonly end: (isNew: boolean) => void;
  readonly fail: (error: unknown) => void;
}

/**
 * Waits for events of a database. While callers wait, one query for all of their workspaces is sent every 200 ms. A caller who waits
 * holds no connection.
 */
export class EventWaits {
  private readonly waiting = new Map<WorkspaceId, Set<Waiter>>();
  private isPolling = false;

  constructor(private readonly database: Database) {}

  /**
   * Waits until the workspace has an event with a greater id.
   *
   * @param signal ends the wait
   * @returns false if the time is over or the signal is aborted
   * @throws Refusal `unavailable`, and other errors of the query
   */
  async until(workspaceId: WorkspaceId, after: bigint, ms: number, signal?: AbortSignal): Promise<boolean> {
    if (ms <= 0 || signal?.aborted) return false;
    let stop = () => {};
    try {
      return await new Promise<boolean>((resolve, reject) => {
        const waiter: Waiter = { after, end: resolve, fail: reject };
        const timer = setTimeout(() => resolve(false), ms);
        const abort = () => resolve(false);
        signal?.addEventListener('abort', abort);
        stop = () => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', abort);
          this.remove(workspaceId, waiter);
        };
        this.waiting.set(workspaceId, (this.waiting.get(workspaceId) ?? new Set()).add(waiter));
        void this.poll();
      });
    } finally {
      stop();
    }
  }

  private remove(workspaceId: WorkspaceId, waiter: Waiter): void {
    const waiters = this.waiting.get(workspaceId);
    waiters?.delete(waiter);
    if (waiters?.size === 0) this.waiting.delete(workspaceId);
  }

  /** One loop for all waiters. It ends with the last of them. */
  private async poll(): Promise<void> {
    if (this.isPolling) return;
    this.isPolling = true;
    while (this.waiting.size > 0) {
      await new Promise((resolve) => setTimeout(resolve, POLL_EVERY_MS));
      await this.check([...this.waiting.keys()]);
    }
    this.isPolling = false;
  }

  private async check(workspaces: readonly WorkspaceId[]): Promise<void> {
    if (workspaces.length === 0) return;
    try {
      const [rows] = await this.database.pipeline({ workspaces }, [bind(LAST_EVENTS, workspaces)]);
      for (const { workspaceId, last } of rows) {
        for (const waiter of this.waitersOf(Number(workspaceId) as WorkspaceId))
          if (last > waiter.after) waiter.end(true);
      }
    } catch (error) {
      // The query fails for all if this database no longer serves one of them.
      if (workspaces.length > 1 && isServedElsewhere(error)) {
        for (const workspaceId of workspaces) await this.check([workspaceId]);
        return;
      }
      for (const workspaceId of workspaces) for (const waiter of this.waitersOf(workspaceId)) waiter.fail(error);
    }
  }

  private waitersOf(workspaceId: WorkspaceId): readonly Waiter[] {
    return [...(this.waiting.get(workspaceId) ?? [])];
  }
}
