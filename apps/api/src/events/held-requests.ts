import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Refusal, type WorkspaceId } from '@banking/domain';
import { Draining } from '../health/readiness.js';

/** Half of the connections of the server, so that other requests find one. */
export const HELD_MAX = 500;
export const HELD_PER_WORKSPACE_MAX = 50;

/** Counts the requests that are held until there is something to send, and ends them early. */
@Injectable()
export class HeldRequests {
  private count = 0;
  private readonly countOf = new Map<WorkspaceId, number>();
  private readonly held = new Set<AbortController>();

  constructor(private readonly draining: Draining) {
    draining.onBegin(() => this.held.forEach((controller) => controller.abort(stopping())));
  }

  /**
   * Holds a request while `wait` is pending. Its signal is aborted when the caller disconnects, and when the service stops.
   *
   * @returns undefined if the wait ended early
   * @throws Refusal `rate_limited` if too many requests of the workspace are held, `unavailable` if too many of the process are; the error
   *   of `wait`
   */
  async hold<T>(
    workspaceId: WorkspaceId,
    { raw }: Pick<FastifyReply, 'raw'>,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.draining.begun) return undefined;
    const ofWorkspace = this.countOf.get(workspaceId) ?? 0;
    if (ofWorkspace >= HELD_PER_WORKSPACE_MAX) {
      throw new Refusal('rate_limited', 'Too many requests of the workspace wait already.', { retryAfterSeconds: 1 });
    }
    if (this.count >= HELD_MAX) {
      throw new Refusal('unavailable', 'Too many requests wait already.', { retryAfterSeconds: 1 });
    }
    const controller = new AbortController();
    const { signal } = controller;
    const leave = () => controller.abort(new Refusal('unavailable', 'The caller has disconnected.'));
    this.count += 1;
    this.countOf.set(workspaceId, ofWorkspace + 1);
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
      this.release(workspaceId);
    }
  }

  private release(workspaceId: WorkspaceId): void {
    const left = (this.countOf.get(workspaceId) ?? 0) - 1;
    if (left > 0) this.countOf.set(workspaceId, left);
    else this.countOf.delete(workspaceId);
  }
}

const stopping = () => new Refusal('unavailable', 'The service is stopping.', { retryAfterSeconds: 1 });
