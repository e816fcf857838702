import { bind, statement, type Database } from '@banking/postgres';
import { KEPT } from './idempotency.js';

/** How many records one database transaction deletes. */
const BATCH_MAX = 1_000;
const BATCH_MIN = 50;
/** Row-level security compares each record with each workspace: beyond a thousand workspaces, batches become smaller. */
const COMPARISONS_MAX = 1_000_000;

const WORKSPACES = statement<{ id: bigint }>('list_workspace_ids', 'select id from workspace');
/**
 * The scope is every workspace, so a plan that finds records by workspace reads the whole table. A small table or missing statistics
 * make it look cheap. Without a sort only `idempotency_by_age` has the order; a generic plan would be kept from when the table was small.
 */
export const PLAN_SETTINGS = statement(
  'plan_expired_keys',
  `select set_config('enable_sort', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`,
);
/**
 * The oldest records of `idempotency_by_age`. Locked ones are skipped: a posting replaces them. They are locked here, so their `ctid`
 * stays. The policy of the table lets nothing be deleted that has not expired.
 */
export const DELETE_EXPIRED = statement<{ deleted: number; last: string | null }>(
  'delete_expired_keys',
  `with expired as (
     select ctid from idempotency
     where created_at >= $2::timestamptz and created_at <= statement_timestamp() - ${KEPT}
     order by created_at
     limit $1
     for update skip locked
   ), deleted as (
     delete from idempotency where ctid = any(array(select ctid from expired))
     returning created_at
   )
   select count(*)::int as deleted, max(created_at)::text as last from deleted`,
);

/** Deletes idempotency records that have expired, of all workspaces: a chore of the worker, a batch at a time. */
export class ExpiredKeys {
  /** Where the last batch ended: entries of deleted records before it stay in the index until a vacuum, and are not read again. */
  private from = '-infinity';

  constructor(private readonly database: Database) {}

  /** Deletes one batch. Answers how many records there were; 0 when none is left. @throws Refusal `unavailable` */
  async deleteBatch(): Promise<number> {
    const [rows] = await this.database.flight({}, [bind(WORKSPACES)] as const);
    const workspaces = rows.map(({ id }) => Number(id));
    if (workspaces.length === 0) return 0;
    const limit = Math.max(BATCH_MIN, Math.min(BATCH_MAX, Math.floor(COMPARISONS_MAX / workspaces.length)));
    const statements = [bind(PLAN_SETTINGS), bind(DELETE_EXPIRED, limit, this.from)] as const;
    const [, [batch]] = await this.database.flight({ workspaces }, statements);
    const { deleted = 0, last = null } = batch ?? {};
    this.from = deleted < limit || last === null ? '-infinity' : last;
    return deleted;
  }
}
