import type { FastifyReply } from 'fastify';
import { Refusal, type WorkspaceId } from '@banking/domain';
import { FairSlots } from '@banking/process';
import type { PageLimits } from './limits.js';
import { isResponseOver, onResponseEnd } from './response-end.js';

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
