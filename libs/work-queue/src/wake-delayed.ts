import { bind, sqlStatement, type Database } from '@banking/postgres';
import { CLAIM_BY_INDEX, IS_OPEN_HERE } from './claims.js';
import { DUE_PER_SECOND } from './release-work.js';
import { WORK_RETRY_POLICIES } from './work-retry-policies.js';

const BATCH_SIZE = 5_000;

/**
 * One range of `work_by_claim` for each kind, as `CLAIM_WORK` reads. $2 pieces were woken before. Their delays begin anew, so a batch does
 * not find them again.
 */
const WAKE_DELAYED = sqlStatement<{ woken: number }>(
  'wake_delayed',
  `with delayed as (
     select w.* from unnest($3::text[]) k(kind) cross join lateral (
       select workspace_id, kind, subject_id from work
       where kind = k.kind and parked_at is null and greatest(due_at, leased_until) > statement_timestamp()
         and greatest(due_at, leased_until) <= statement_timestamp() + ${WORK_RETRY_POLICIES.work.maxMs} * interval '1 ms'
         and delays > 0 and reason = $1 and leased_until is null and ${IS_OPEN_HERE}
       order by greatest(due_at, leased_until) limit ${BATCH_SIZE} for update skip locked
     ) w
   ), spread as (
     select d.*, ($2::int + row_number() over () - 1) / ${DUE_PER_SECOND} as second from delayed d
   ), woken as (
     update work w set delays = 0, due_at = least(w.due_at, statement_timestamp() + s.second * interval '1 s')
     from spread s
     where (w.workspace_id, w.kind, w.subject_id) = (s.workspace_id, s.kind, s.subject_id)
     returning 1
   )
   select count(*)::int as woken from woken`,
);

/** Makes the work of these kinds due that failed while a database was away, spread over seconds. @throws Refusal `unavailable` */
export async function wakeDelayed(database: Database, kinds: readonly string[]): Promise<void> {
  for (let before = 0, woken = BATCH_SIZE; woken >= BATCH_SIZE; before += woken) {
    const [, [row]] = await database.pipeline({}, [
      CLAIM_BY_INDEX,
      bind(WAKE_DELAYED, 'unavailable', before, kinds),
    ] as const);
    woken = row?.woken ?? 0;
  }
}
