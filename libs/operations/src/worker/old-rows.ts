import { bind, type BoundStatement, type Database, isServedElsewhere, sqlStatement } from '@banking/postgres';

/** How many workspaces one step looks into. */
const WORKSPACES = 50;

const NEXT_WORKSPACES = sqlStatement<{ id: bigint }>(
  'workspaces_with_old_rows',
  `select w.id from workspace w where w.id > $1 and is_served_here(w.id) order by w.id limit $2`,
);

/** Deletes old rows of all workspaces, a batch at a time: a chore of the worker. */
export class OldRows {
  private afterId = 0;

  /** @param deletion deletes rows of the workspaces of its scope, and returns how many */
  constructor(
    private readonly database: Database,
    private readonly deletion: BoundStatement<{ deleted: number }>,
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
      const row = await this.database.read({ workspaces }, this.deletion);
      return row?.deleted ?? 0;
    } catch (error) {
      if (isServedElsewhere(error)) return 0;
      throw error;
    }
  }
}
