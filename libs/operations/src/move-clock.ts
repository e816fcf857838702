import {
  isInstant,
  Refusal,
  type ClockChange,
  type SandboxClock,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';
import { EXECUTION } from './orders/order-rows.js';

/** No row where it would go back, or further ahead than an order can be placed. */
const MOVE_CLOCK = statement<{ resource: SandboxClock }>(
  'move_clock',
  `insert into sandbox_clock as c (workspace_id, now, moved_by)
   select $1::bigint, $2::timestamptz, $3::bigint
   where $2::timestamptz between statement_timestamp() and statement_timestamp() + interval '100 years'
   on conflict (workspace_id) do update
     set now = excluded.now, moved_by = excluded.moved_by, moved_at = statement_timestamp() where c.now <= excluded.now
   returning json_build_object('now', rfc3339(now)) as resource`,
);
/**
 * Behind the row of the clock, by what it shows: what is due by it is due. An order that is being placed at this very moment may be
 * missed, and is found when the clock is moved again, also to where it is. Never waits for a row: one that is locked is being run or
 * cancelled, by somebody who may have locked others in another order.
 */
const MAKE_RUNS_DUE = statement(
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
export async function moveClock(
  database: Database,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  { now }: ClockChange,
): Promise<SandboxClock> {
  if (!isInstant(now)) throw new Refusal('timestamp_invalid');
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [[moved]] = await database.write(scope, [
    bind(MOVE_CLOCK, workspaceId, now, actor ?? null),
    bind(MAKE_RUNS_DUE, workspaceId),
  ] as const);
  if (!moved) throw new Refusal('clock_invalid');
  return moved.resource;
}
