import { bind, sqlStatement, type Database } from '@banking/postgres';
import { IS_OPEN_HERE } from './claims.js';
import { DUE_PER_SECOND } from './release-work.js';
import { WORK_RETRY_POLICIES } from './work-retry-policies.js';

const BATCH_SIZE = 5_000;

/** $2 pieces were woken before. Their delays begin anew, so a batch does not find them again. */
const WAKE_DELAYED = sqlStatement<{ woken: number }>(
  'wake_delayed',
  `with delayed as (
     select workspace_id, kind, subject_id from work
     where parked_at is null and due_at > statement_timestamp()
       and due_at <= statement_timestamp() + ${WORK_RETRY_POLICIES.work.maxMs} * interval '1 ms'
       and delays > 0 and reason = $1 and leased_until is null and ${IS_OPEN_HERE}
     order by due_at limit ${BATCH_SIZE} for update skip locked
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

/** Makes the work due that failed while a database was away, spread over seconds. @throws Refusal `unavailable` */
export async function wakeDelayed(database: Database): Promise<void> {
  for (let before = 0, woken = BATCH_SIZE; woken === BATCH_SIZE; before += woken) {
    const [[row]] = await database.pipeline({}, [bind(WAKE_DELAYED, 'unavailable', before)] as const);
    woken = row?.woken ?? 0;
  }
}
