import { bind, sqlStatement, type Database } from '@banking/postgres';
import { SERVED_HERE } from '../cells/served-here.js';
import { RETENTION } from './idempotency-key.js';

/** The bounds of how many records one database transaction deletes. */
const BATCH_MAX = 1_000;
const BATCH_MIN = 50;
/** Row-level security compares each record with each workspace. Batches become smaller beyond a thousand workspaces. */
const COMPARISONS_MAX = 1_000_000;

const WORKSPACES = sqlStatement<{ id: bigint }>(
  'list_workspace_ids',
  `select id from workspace w where ${SERVED_HERE}`,
);
/**
 * Makes the planner use `idempotency_by_age`, the only index in the order of age. The scope is every workspace, so a plan by workspace
 * would read the whole table, and it looks cheap for a small table or without statistics. A generic plan would outlive the small table.
 */
export const PLAN_SETTINGS = sqlStatement(
  'plan_expired_keys',
  `select set_config('enable_sort', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`,
);
/**
 * Deletes the oldest records. Locked records are skipped, because a posting replaces them. The lock keeps their `ctid` stable. Row-level
 * security rejects the deletion of a record that has not expired.
 */
export const DELETE_EXPIRED = sqlStatement<{ deleted: number; last: string }>(
  'delete_expired_keys',
  `with expired as (
     select ctid from idempotency
     where created_at >= $2::timestamptz and created_at <= statement_timestamp() - ${RETENTION}
     order by created_at
     limit $1
     for update skip locked
   ), deleted as (
     delete from idempotency where ctid = any(array(select ctid from expired))
     returning created_at
   )
   select count(*)::int as deleted, coalesce(max(created_at)::text, '-infinity') as last from deleted`,
);

/** How many records one database transaction deletes, by the number of workspaces. */
export function batchSize(workspaces: number): number {
  return Math.max(BATCH_MIN, Math.min(BATCH_MAX, Math.floor(COMPARISONS_MAX / workspaces)));
}

/** Deletes expired idempotency records of all workspaces, a batch at a time: a chore of the worker. */
export class ExpiredKeys {
  /** Where the last batch ended. Index entries of deleted records stay until a vacuum, and are not read again. */
  private from = '-infinity';

  constructor(private readonly database: Database) {}

  /** Deletes one batch and returns its size, 0 when no expired record is left. @throws Refusal `unavailable` */
  async deleteBatch(): Promise<number> {
    const [rows] = await this.database.pipeline({}, [bind(WORKSPACES)] as const);
    const workspaces = rows.map(({ id }) => Number(id));
    const limit = batchSize(workspaces.length);
    const statements = [bind(PLAN_SETTINGS), bind(DELETE_EXPIRED, limit, this.from)] as const;
    const [, [batch]] = await this.database.pipeline({ workspaces }, statements);
    const { deleted = 0, last = '-infinity' } = batch ?? {};
    this.from = deleted < limit ? '-infinity' : last;
    return deleted;
  }
}
