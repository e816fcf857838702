import { isInstant, Refusal, type ClockChange, type SandboxClock } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';
import { EXECUTION } from '../orders/order-statements.js';

/** Returns no row if the clock would move back, or beyond the latest time of an order. */
const MOVE_CLOCK = sqlStatement<{ resource: SandboxClock }>(
  'move_clock',
  `with moved as (
     insert into sandbox_clock as c (workspace_id, now, moved_by)
     select $1::bigint, $2::timestamptz, $3::bigint
     where $2::timestamptz between statement_timestamp() and statement_timestamp() + interval '100 years'
     on conflict (workspace_id) do update
       set now = excluded.now, moved_by = excluded.moved_by, moved_at = statement_timestamp() where c.now <= excluded.now
     returning json_build_object('now', rfc3339(now)) as resource),
   noted as (insert into audit_outbox (workspace_id, entries) select $1::bigint, $4::jsonb from moved)
   select resource from moved`,
);
/**
 * Makes runs due that are due by the clock, under the lock of the clock's row. A concurrently placed order may be missed until the clock
 * is set again, even to the same time. Skips locked rows: waiting for a session that locks in another order could deadlock.
 */
const MAKE_RUNS_DUE = sqlStatement(
  'make_runs_due',
  `with next as (
     select w.workspace_id, w.kind, w.subject_id
     from sandbox_clock c join work w on w.workspace_id = c.workspace_id
     where c.workspace_id = $1 and w.kind = '${EXECUTION}'
       and w.due_at > statement_timestamp() and w.due_at <= c.now and w.parked_at is null
     for update of w skip locked
   )
   update work w set due_at = clock_timestamp()
   from next n
   where (w.workspace_id, w.kind, w.subject_id) = (n.workspace_id, n.kind, n.subject_id)`,
);

/** @throws Refusal `timestamp_invalid`, `clock_invalid` */
export async function moveClock(database: Database, caller: AuditedCall, { now }: ClockChange): Promise<SandboxClock> {
  if (!isInstant(now)) throw new Refusal('timestamp_invalid');
  const { workspaceId, actor } = caller;
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [[moved]] = await database.write(scope, [
    bind(MOVE_CLOCK, workspaceId, now, actor ?? null, entriesOf(caller, { operation: 'moveClock' })),
    bind(MAKE_RUNS_DUE, workspaceId),
  ] as const);
  if (!moved) throw new Refusal('clock_invalid');
  return moved.resource;
}
