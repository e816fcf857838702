import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Refusal, type WorkspaceId } from '@banking/domain';
import { FairSlots } from '@banking/process';
import { isResponseOver, onResponseEnd } from '../http/response-end.js';

export const TABLES_PER_WORKSPACE_MAX = 2;
/** Each holds two or three pages of 500 rows that its client has not read. */
export const TABLES_MAX = 16;

/** Limits the tables that are sent at the same time, because each reads a whole statement. */
@Injectable()
export class TableDownloads {
  private readonly slots = new FairSlots<WorkspaceId | undefined>(TABLES_MAX, TABLES_PER_WORKSPACE_MAX);

  /**
   * Counts a table until its response has ended, however slowly its client reads.
   *
   * @throws Refusal `rate_limited` if the workspace has too many, `unavailable` if the process has
   */
  begin(workspaceId: WorkspaceId | undefined, reply: Pick<FastifyReply, 'raw' | 'request'>): void {
    if (isResponseOver(reply)) return;
    if (this.slots.isFull) {
      throw new Refusal('unavailable', 'Too many tables are downloaded already.', { retryAfterSeconds: 1 });
    }
    if (!this.slots.mayTake(workspaceId)) {
      const message = 'The workspace downloads other tables already. Read them to the end first.';
      throw new Refusal('rate_limited', message, { retryAfterSeconds: 1 });
    }
    this.slots.take(workspaceId);
    onResponseEnd(reply, () => this.slots.release(workspaceId));
  }
}
