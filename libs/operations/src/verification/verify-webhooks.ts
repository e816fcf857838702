import { sqlStatement } from '@banking/postgres';
import { isRecorded, KEPT } from './verify-events.js';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/** The event of the creation of endpoint `w`. The endpoint begins behind an event before it. Null if it was deleted because of its age. */
const CREATION = `(
         select c.id from event c
         where c.workspace_id = $1 and c.resource_type = 'webhookEndpoint' and c.resource_id = w.id and c.sequence = 1)`;

/**
 * What is kept of deliveries shows only a part: they are deleted after a day at the earliest, and the types of an endpoint are those of
 * now. A session that began with the former types ends soon after their change: an hour is longer.
 *
 * A delivery of an event behind the cursor is no finding: requests to an endpoint are made at the same time, and replays are of any event.
 * Neither is one of an event that was deleted, because an endpoint that was disabled meanwhile keeps its deliveries.
 */
export const WEBHOOK_CHECK: RangeCheck = {
  check: 'every webhook endpoint follows the events, and has a delivery of each that it passed',
  over: {
    event: sqlStatement<FindingRow>(
      'verify_passed_events',
      `with ${KEPT}
       select format('webhook endpoint %s has passed event %s, and has no delivery of it', w.id, e.id) as detail
       from kept k cross join webhook_endpoint w
         cross join lateral (select coalesce(${CREATION}, k.last_id) as begin) b
         join event e on e.workspace_id = $1 and e.id > $2 and e.id <= $3 and e.id >= b.begin and e.id <= w.cursor_event_id
       where w.workspace_id = $1 and w.deleted_at is null and e.created_at > statement_timestamp() - interval '1 day'
         -- Events are recorded in the order of their ids, after their time: a range that ends before is not read.
         and (select u.recorded_at from event u where u.workspace_id = $1 and u.id = $3) > statement_timestamp() - interval '1 day'
         and (cardinality(w.types) = 0 or e.type = any(w.types))
         and not exists (
           select from webhook_delivery d
           where d.workspace_id = $1 and d.endpoint_id = w.id and d.event_id = e.id and d.kind = 'event')
         and not exists (
           select from event c
           where c.workspace_id = $1 and c.resource_type = 'webhookEndpoint' and c.resource_id = w.id and c.type = 'webhookEndpoint.changed'
             and c.created_at > e.created_at - interval '1 hour')
         and ${isRecorded(`'webhookEndpoint'`, 'w.id')}`,
    ),
    webhook_endpoint: sqlStatement<FindingRow>(
      'verify_webhook_cursors',
      `with ${KEPT}
       select format('webhook endpoint %s has a cursor %s', w.id, case
           when w.cursor_event_id > l.id then format('behind event %s, which is the last one', l.id)
           else format('before event %s, which was deleted, and was never disabled', k.last_id) end) as detail
       from kept k cross join webhook_endpoint w
         cross join lateral (select greatest(k.last_id, 0, (
           select e.id from event e where e.workspace_id = $1 order by e.workspace_id desc, e.id desc limit 1)) as id) l
       where w.workspace_id = $1 and w.id > $2 and w.id <= $3 and (w.cursor_event_id > l.id
         or w.cursor_event_id < k.last_id and w.status <> 'disabled' and w.deleted_at is null and ${CREATION} <= k.last_id
           and (
             select count(*) = max(c.sequence) and bool_and(c.type <> 'webhookEndpoint.disabled') from event c
             where c.workspace_id = $1 and c.resource_type = 'webhookEndpoint' and c.resource_id = w.id)
           and ${isRecorded(`'webhookEndpoint'`, 'w.id')})`,
    ),
    webhook_delivery: sqlStatement<FindingRow>(
      'verify_webhook_deliveries',
      `with ${KEPT}
       select format('webhook delivery %s %s', d.id, case
           when e.id is null then format('is of event %s, which is not there', d.event_id)
           when e.type <> d.event_type then format('is of event %s, which has another type', d.event_id)
           else 'is delivered without a response of success' end) as detail
       from kept k cross join webhook_delivery d
         left join lateral (select v.id, v.type from event v where v.workspace_id = $1 and v.id = d.event_id) e on true
       where d.workspace_id = $1 and d.id > $2 and d.id <= $3
         and (e.id is null and d.event_id > coalesce(k.last_id, 0) or e.type <> d.event_type
           or d.status = 'delivered' and (d.attempts > 0 and d.last_response_status between 200 and 299) is not true)`,
    ),
  },
};
