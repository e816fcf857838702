import { bind, statement, type Database } from '@banking/postgres';
import { KEPT } from './idempotency.js';

/** How many records one database transaction deletes. */
const BATCH = 1_000;

const WORKSPACES = statement<{ id: bigint }>('list_workspace_ids', 'select id from workspace');
/**
 * The oldest records of `idempotency_by_age`. Locked ones are skipped: a posting replaces them. The policy of the table lets nothing be
 * deleted that has not expired.
 */
export const DELETE_EXPIRED = statement<{ deleted: number; last: string | null }>(
  'delete_expired_keys',
  `with expired as (
     select workspace_id, operation, key from idempotency
     where created_at between $2::timestamptz and statement_timestamp() - ${KEPT}
     order by created_at
     limit $1
     for update skip locked
   ), deleted as (
     delete from idempotency i using expired e
     where (i.workspace_id, i.operation, i.key) = (e.workspace_id, e.operation, e.key)
     returning i.created_at
   )
   select count(*)::int as deleted, max(created_at)::text as last from deleted`,
);

/** Deletes idempotency records that have expired, of all workspaces: a chore of the worker, a batch at a time. */
export class ExpiredKeys {
  /** Where the last batch ended: entries of deleted records before it stay in the index until a vacuum, and are not read again. */
  private from = '-infinity';

  constructor(private readonly database: Database) {}

  /** Deletes one batch. Answers how many records there were; less than a batch when none is left. @throws Refusal `unavailable` */
  async deleteBatch(): Promise<number> {
    const [workspaces] = await this.database.flight({}, [bind(WORKSPACES)] as const);
    const scope = { workspaces: workspaces.map(({ id }) => Number(id)) };
    const [[batch]] = await this.database.flight(scope, [bind(DELETE_EXPIRED, BATCH, this.from)] as const);
    const { deleted = 0, last = null } = batch ?? {};
    this.from = deleted < BATCH || last === null ? '-infinity' : last;
    return deleted;
  }
}
