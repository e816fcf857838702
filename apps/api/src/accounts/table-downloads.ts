import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Refusal, type WorkspaceId } from '@banking/domain';

export const TABLES_PER_WORKSPACE_MAX = 2;
/** Each holds two or three pages of 500 rows that its client has not read. */
export const TABLES_MAX = 16;

/** Limits the tables that are sent at the same time, because each reads a whole statement. */
@Injectable()
export class TableDownloads {
  private count = 0;
  private readonly ofWorkspace = new Map<WorkspaceId | undefined, number>();

  /**
   * Counts a table until its response has ended, however slowly its client reads.
   *
   * @throws Refusal `rate_limited` if the workspace has too many, `unavailable` if the process has
   */
  begin(workspaceId: WorkspaceId | undefined, { raw }: Pick<FastifyReply, 'raw'>): void {
    if (raw.destroyed) return;
    const own = this.ofWorkspace.get(workspaceId) ?? 0;
    if (own >= TABLES_PER_WORKSPACE_MAX) {
      const message = `The workspace downloads ${TABLES_PER_WORKSPACE_MAX} tables already. Read them to the end first.`;
      throw new Refusal('rate_limited', message, { retryAfterSeconds: 1 });
    }
    if (this.count >= TABLES_MAX) {
      throw new Refusal('unavailable', 'Too many tables are downloaded already.', { retryAfterSeconds: 1 });
    }
    this.add(workspaceId, 1);
    raw.once('close', () => this.add(workspaceId, -1));
  }

  private add(workspaceId: WorkspaceId | undefined, change: number): void {
    this.count += change;
    const own = (this.ofWorkspace.get(workspaceId) ?? 0) + change;
    if (own > 0) this.ofWorkspace.set(workspaceId, own);
    else this.ofWorkspace.delete(workspaceId);
  }
}
