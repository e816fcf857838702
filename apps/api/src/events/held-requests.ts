import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Refusal, type UserId, type WorkspaceId } from '@banking/domain';
import { Draining } from '../health/readiness.js';

/** Half of the connections of the server, so that other requests find one. */
export const HELD_MAX = 500;
export const HELD_PER_WORKSPACE_MAX = 50;
/** In all workspaces together. */
export const HELD_PER_USER_MAX = 10;

/** Who waits. */
interface Waiting {
  readonly actor: UserId;
  readonly workspaceId?: WorkspaceId | undefined;
}

/** Counts the requests that are held until there is something to send, and ends them early. */
@Injectable()
export class HeldRequests {
  private count = 0;
  private readonly ofWorkspace = new Map<WorkspaceId | undefined, number>();
  private readonly ofUser = new Map<UserId, number>();
  private readonly held = new Set<AbortController>();

  constructor(private readonly draining: Draining) {
    draining.onBegin(() => this.held.forEach((controller) => controller.abort(stopping())));
  }

  /**
   * Holds a request while `wait` is pending. Its signal is aborted when the caller disconnects, and when the service stops.
   *
   * @returns undefined if the wait ended early
   * A workspace may hold another request while it has fewer than are free, so no workspace takes the last ones.
   *
   * @throws Refusal `rate_limited` if too many requests of the user or of the workspace are held, `unavailable` if too many of the
   *   process are; the error of `wait`
   */
  async hold<T>(
    { actor, workspaceId }: Waiting,
    { raw }: Pick<FastifyReply, 'raw'>,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.draining.begun) return undefined;
    if ((this.ofUser.get(actor) ?? 0) >= HELD_PER_USER_MAX) throw limited('Too many of your requests wait already.');
    const free = HELD_MAX - this.count;
    if (free <= 0) throw new Refusal('unavailable', 'Too many requests wait already.', { retryAfterSeconds: 1 });
    if ((this.ofWorkspace.get(workspaceId) ?? 0) >= Math.min(HELD_PER_WORKSPACE_MAX, free)) {
      throw limited('Too many requests of the workspace wait already.');
    }
    const controller = new AbortController();
    const { signal } = controller;
    const leave = () => controller.abort(new Refusal('unavailable', 'The caller has disconnected.'));
    this.count += 1;
    add(this.ofWorkspace, workspaceId, 1);
    add(this.ofUser, actor, 1);
    this.held.add(controller);
    raw.once('close', leave);
    try {
      if (raw.destroyed) leave();
      const result = await wait(signal);
      return signal.aborted ? undefined : result;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    } finally {
      raw.off('close', leave);
      this.held.delete(controller);
      this.count -= 1;
      add(this.ofWorkspace, workspaceId, -1);
      add(this.ofUser, actor, -1);
    }
  }
}

function add<K>(counts: Map<K, number>, key: K, change: number): void {
  const count = (counts.get(key) ?? 0) + change;
  if (count > 0) counts.set(key, count);
  else counts.delete(key);
}

const limited = (message: string) => new Refusal('rate_limited', message, { retryAfterSeconds: 1 });
const stopping = () => new Refusal('unavailable', 'The service is stopping.', { retryAfterSeconds: 1 });
