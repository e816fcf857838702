import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { EXECUTION } from './order-statements.js';
import type { PreparedRun } from './prepared-order.js';

/** A row for each run that is due. `place` is its index. */
type Row = { readonly place: number };

/** Locks the claim, the order and the execution of each due run. Sorted, so that two batches cannot deadlock. */
const lockRuns = (name: string, wait: string) =>
  sqlStatement<Row>(
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
/** The same without locks. Another session has locked a run that is due and that `LOCK_FREE_RUNS` did not return. */
const READ_DUE_RUNS = sqlStatement<Row>(
  'read_due_runs',
  `select (u.n - 1)::int as place
   from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[]) with ordinality u(w, execution, o, fence, n)
   join work k on k.workspace_id = u.w and k.kind = '${EXECUTION}' and k.subject_id = u.execution and k.fence = u.fence
   join customer_order o on o.workspace_id = u.w and o.id = u.o
   join execution e on e.workspace_id = u.w and e.id = u.execution
   where k.leased_until > clock_timestamp() and o.status = 'active' and e.status = 'scheduled'`,
);

/** @param waitsForLocks whether to wait for rows that another session has locked, or to leave them out */
export const lockDueRuns = (runs: readonly PreparedRun[], waitsForLocks: boolean): BoundStatement<Row> =>
  bind(waitsForLocks ? LOCK_RUNS : LOCK_FREE_RUNS, ...columnsOf(runs));

export const readDueRuns = (runs: readonly PreparedRun[]): BoundStatement<Row> =>
  bind(READ_DUE_RUNS, ...columnsOf(runs));

const columnsOf = (runs: readonly PreparedRun[]) => [
  runs.map(({ claim }) => claim.workspaceId),
  runs.map(({ claim }) => claim.subjectId),
  runs.map(({ run }) => run.orderId),
  runs.map(({ claim }) => claim.fence),
];
