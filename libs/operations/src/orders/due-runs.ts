import { bind, statement } from '@banking/postgres';
import { ANSWERED, LOCKED, type LockedCheck, ordersWith } from './locked-check.js';
import { EXECUTION } from './order-rows.js';
import type { ReadyOrder } from './post-orders.js';

/** The claim, the order and the execution of a run, as far as the run is still to come. Sorted, so that batches lock in one order. */
const lockRuns = (name: string, wait: string) =>
  statement<{ place: number }>(
    name,
    `select (u.n - 1)::int as place
     from (select * from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) with ordinality u(w, execution, o, fence, n)
           order by w, execution offset 0) u
     cross join lateral (
       select from work k where k.workspace_id = u.w and k.kind = '${EXECUTION}' and k.subject_id = u.execution and k.fence = u.fence
         and k.leased_until > clock_timestamp() for update ${wait}) k
     cross join lateral (
       select from customer_order o where o.workspace_id = u.w and o.id = u.o and o.status = 'active' for no key update ${wait}) o
     cross join lateral (
       select from execution e where e.workspace_id = u.w and e.id = u.execution and e.status = 'scheduled' for no key update ${wait}) e`,
  );
const LOCK_RUNS = lockRuns('lock_runs', '');
const LOCK_FREE_RUNS = lockRuns('lock_free_runs', 'skip locked');
/** The same without locks: what is due and was not locked is locked by another session. */
const READ_DUE_RUNS = statement<{ place: number }>(
  'read_due_runs',
  `select (u.n - 1)::int as place
   from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) with ordinality u(w, execution, o, fence, n)
   join work k on k.workspace_id = u.w and k.kind = '${EXECUTION}' and k.subject_id = u.execution and k.fence = u.fence
   join customer_order o on o.workspace_id = u.w and o.id = u.o
   join execution e on e.workspace_id = u.w and e.id = u.execution
   where k.leased_until > clock_timestamp() and o.status = 'active' and e.status = 'scheduled'`,
);

/**
 * A run is carried out only by the holder of its claim, and only while its order is active and it is still to come. For any other there
 * is nothing to do: another worker has taken it over, or its order was cancelled.
 */
export function dueRuns(orders: readonly ReadyOrder[], waits: boolean): LockedCheck {
  const { reads, byIndex } = ordersWith(
    orders,
    ({ run }) => run,
    (runs) => {
      const claims = runs.map(({ claim }) => claim);
      const columns = [
        claims.map(({ workspaceId }) => workspaceId),
        claims.map(({ subjectId }) => subjectId),
        runs.map(({ orderId }) => orderId),
        claims.map(({ fence }) => fence),
      ];
      return [bind(waits ? LOCK_RUNS : LOCK_FREE_RUNS, ...columns), bind(READ_DUE_RUNS, ...columns)];
    },
  );
  return {
    reads,
    gate([locked, due]) {
      const [isLocked, isDue] = [byIndex(locked), byIndex(due)];
      return (index) => {
        if (orders[index]?.run === undefined || isLocked.has(index)) return undefined;
        return isDue.has(index) ? LOCKED : ANSWERED;
      };
    },
  };
}
