import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Refusal, type UserId, type WorkspaceId } from '@banking/domain';
import { FairSlots } from '@banking/process';
import { Draining } from '../health/readiness.js';
import { isResponseOver, onResponseEnd } from '../http/response-end.js';

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
  private readonly ofWorkspaces = new FairSlots<WorkspaceId | undefined>(HELD_MAX, HELD_PER_WORKSPACE_MAX);
  private readonly ofUsers = new FairSlots<UserId>(Infinity, HELD_PER_USER_MAX);
  private readonly held = new Set<AbortController>();

  constructor(private readonly draining: Draining) {
    draining.onBegin(() => this.held.forEach((controller) => controller.abort(stopping())));
  }

  /**
   * Holds a request while `wait` is pending. Its signal is aborted when the caller disconnects, and when the service stops.
   *
   * @returns undefined if the wait ended early
   * @throws Refusal `rate_limited` if too many requests of the user or of the workspace are held, `unavailable` if too many of the
   *   process are; the error of `wait`
   */
  async hold<T>(
    { actor, workspaceId }: Waiting,
    reply: Pick<FastifyReply, 'raw' | 'request'>,
    wait: (signal: AbortSignal) => Promise<T>,
  ): Promise<T | undefined> {
    if (this.draining.begun) return undefined;
    if (!this.ofUsers.mayTake(actor)) throw limited('Too many of your requests wait already.');
    if (this.ofWorkspaces.isFull) {
      throw new Refusal('unavailable', 'Too many requests wait already.', { retryAfterSeconds: 1 });
    }
    if (!this.ofWorkspaces.mayTake(workspaceId)) {
      throw limited('Too many requests of the workspace wait already.');
    }
    const controller = new AbortController();
    const { signal } = controller;
    const leave = () => controller.abort(new Refusal('unavailable', 'The caller has disconnected.'));
    this.ofWorkspaces.take(workspaceId);
    this.ofUsers.take(actor);
    this.held.add(controller);
    const stopListening = onResponseEnd(reply, leave);
    try {
      if (isResponseOver(reply)) leave();
      const result = await wait(signal);
      return signal.aborted ? undefined : result;
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    } finally {
      stopListening();
      this.held.delete(controller);
      this.ofWorkspaces.release(workspaceId);
      this.ofUsers.release(actor);
    }
  }
}

const limited = (message: string) => new Refusal('rate_limited', message, { retryAfterSeconds: 1 });
const stopping = () => new Refusal('unavailable', 'The service is stopping.', { retryAfterSeconds: 1 });
