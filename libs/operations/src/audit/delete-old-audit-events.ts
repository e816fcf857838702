import { bind, isServedElsewhere, sqlStatement, type Database } from '@banking/postgres';
import { SERVED_HERE } from '../cells/served-here.js';

/** How many workspaces one step looks into, and how many entries of each it deletes. */
const WORKSPACES = 50;
const EVENTS_MAX = 200;

const NEXT_WORKSPACES = sqlStatement<{ id: bigint }>(
  'workspaces_with_old_audit_events',
  `select w.id from workspace w where w.id > $1 and ${SERVED_HERE} order by w.id limit $2`,
);
const DELETE_OLD = sqlStatement<{ deleted: number }>(
  'delete_audit_events',
  'select delete_audit_events($1, $2) as deleted',
);

/** Deletes entries of the audit trail that are older than the time for which they are kept, a batch at a time: a chore of the worker. */
export class OldAuditEvents {
  private afterId = 0;

  constructor(
    private readonly database: Database,
    private readonly keptDays: number,
  ) {}

  /** Deletes a batch and returns its size, 0 when the last workspace has none left. @throws Refusal `unavailable` */
  async deleteBatch(): Promise<number> {
    for (;;) {
      const [rows] = await this.database.pipeline({}, [bind(NEXT_WORKSPACES, this.afterId, WORKSPACES)] as const);
      const workspaces = rows.map(({ id }) => Number(id));
      const deleted = workspaces.length === 0 ? 0 : await this.deleteOf(workspaces);
      if (deleted > 0) return deleted;
      this.afterId = rows.length < WORKSPACES ? 0 : workspaces.at(-1)!;
      if (this.afterId === 0) return 0;
    }
  }

  private async deleteOf(workspaces: readonly number[]): Promise<number> {
    try {
      const row = await this.database.read({ workspaces }, bind(DELETE_OLD, this.keptDays, EVENTS_MAX));
      return row?.deleted ?? 0;
    } catch (error) {
      if (isServedElsewhere(error)) return 0;
      throw error;
    }
  }
}
