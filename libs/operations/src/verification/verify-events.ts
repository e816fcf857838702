import { EVENT_TYPES, FINAL_EVENT_TYPES } from '@banking/domain';
import { sqlStatement } from '@banking/postgres';
import type { FindingRow, RangeCheck } from './verify-ranges.js';

/** What may be missing because of its age: events up to an id. A row of `whole_from` or before may have none. */
const KEPT = `
  kept as materialized (
    select d.last_id, coalesce(d.last_row_at, '-infinity') as whole_from
    from (values (1)) one left join event_deletion d on d.workspace_id = $1)`;

/**
 * Whether no change of a resource waits for its event. Those that wait are read once for all rows, if one is suspicious. The changes of a
 * workspace that is being moved wait in the database that serves it.
 */
const isRecorded = (type: string, id: string): string =>
  `${id} not in (select u.resource_id from unrecorded_resources($1, ${type}) u)
   and not exists (select from cell_workspace c where c.workspace_id = $1 and c.state <> 'open')`;

const textArray = (texts: readonly string[]) => `array[${texts.map((text) => `'${text}'`).join(', ')}]`;
const FINAL = textArray(FINAL_EVENT_TYPES);
const CREATIONS = textArray(EVENT_TYPES.flatMap((row) => ('isCreation' in row ? [row.type] : [])));

/** Each type with each of its steps, as the query writes the step of an event. */
const STEPS = textArray(
  EVENT_TYPES.flatMap(({ type, steps }) =>
    steps.length === 0 ? [`${type} > `] : steps.map(([before, after]) => `${type} ${before ?? ''}>${after}`),
  ),
);

/** When the resource of an event was made, or a time before. Null without the resource. */
const CREATED_AT = `case e.resource_type
  when 'order' then (select r.created_at from customer_order r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'execution' then (
    select coalesce(o.created_at, '-infinity') from execution r left join customer_order o on o.workspace_id = $1 and o.id = r.order_id
    where r.workspace_id = $1 and r.id = e.resource_id)
  when 'transaction' then (select r.created_at from transaction r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'payout' then (select r.created_at from payout r where r.workspace_id = $1 and r.transaction_id = e.resource_id)
  when 'transfer' then (
    select r.created_at from transfer r where r.workspace_id = $1 and r.id = e.resource_id and r.account_version is not null)
  when 'deposit' then (select r.created_at from deposit r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'account' then (select r.created_at from account r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'approval' then (select r.created_at from approval r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'recipient' then (select r.created_at from recipient r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'quote' then (select r.created_at from quote r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'limits' then (select r.created_at from workspace r where r.id = $1 and r.id = e.resource_id)
  when 'serviceAccount' then (select r.created_at from service_account r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'key' then (select r.created_at from service_account_key r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'member' then (select r.created_at from member r where r.workspace_id = $1 and r.id = e.resource_id)
  when 'webhookEndpoint' then (select r.created_at from webhook_endpoint r where r.workspace_id = $1 and r.id = e.resource_id) end`;

/** Each event with the one before it, of the same resource. Between them, one may be missing only if it may have been deleted. */
export const EVENT_CHAIN: RangeCheck = {
  check: 'the events of every resource follow one another without a gap, by steps that it can take',
  over: {
    event: sqlStatement<FindingRow>(
      'verify_events',
      `with ${KEPT}
       select format('event %s of %s %s %s', f.id, f.resource_type, f.resource_id, f.why) as detail
       from (
         select e.id, e.resource_type, e.resource_id, case
             -- A member is deleted with its user.
             when p.id is null and r.created_at is null and e.resource_type <> 'member' then 'is of a resource that is not there'
             when p.id > e.id then format('has a smaller id than event %s, which is before it', p.id)
             when e.sequence > coalesce(p.sequence, 0) + 1
               and (k.last_id is null or p.id > k.last_id or r.created_at > k.whole_from)
               then format('has the sequence %s, and event %s is missing', e.sequence, e.sequence - 1)
             when p.id is null and exists (
                 select from event_sequence s
                 where s.workspace_id = $1 and s.resource_type = e.resource_type and s.resource_id = e.resource_id
                   and (s.sequence = e.sequence or s.sequence > e.sequence and e.id > coalesce(k.last_id, 0)))
               then format('has the sequence %s, which was given before', e.sequence)
             when c.step <> all(${STEPS}) then format('is %s, which is no step of a resource', c.step)
             when p.type = any(${FINAL}) then format('follows %s, which is final', p.type)
             when e.resource_type <> 'payout' and c.is_step and p.id is not null and c.before <> (
                 select q.changes -> 'status' ->> 'after' from event q
                 where q.workspace_id = $1 and q.resource_type = e.resource_type and q.resource_id = e.resource_id
                   and q.sequence < e.sequence and q.changes ? 'status' and (q.sequence = e.sequence - 1 or q.id > coalesce(k.last_id, 0))
                 order by q.sequence desc limit 1)
               then format('begins with %s, and the one before ended with another status', c.before)
             when p.id is null and e.sequence = 1 and e.resource_type not in ('payout', 'member')
               and (e.type <> all(${CREATIONS}) or c.before <> '')
               then format('is %s, and the resource was new', e.type)
             when e.type = 'transaction.returned' and not exists (
                 select from transaction x
                 where x.workspace_id = $1 and x.id = (e.changes ->> 'transactionId')::bigint and x.return_of = e.resource_id)
               then 'names no return' end as why
         from kept k cross join event e
           cross join lateral (
             select e.changes ? 'status' as is_step, coalesce(e.changes -> 'status' ->> 'before', '') as before,
               e.type || ' ' || coalesce(e.changes -> 'status' ->> 'before', '') || '>' || coalesce(e.changes -> 'status' ->> 'after', ' ') as step) c
           left join lateral (
             select l.id, l.type, l.sequence from event l
             where l.workspace_id = $1 and l.resource_type = e.resource_type and l.resource_id = e.resource_id and l.sequence < e.sequence
             order by l.sequence desc limit 1) p on true
           cross join lateral (
             select case when p.id is null or p.sequence < e.sequence - 1 then ${CREATED_AT} end as created_at) r
         where e.workspace_id = $1 and e.id > $2 and e.id <= $3) f
       where f.why is not null`,
    ),
    event_deletion: sqlStatement<FindingRow>(
      'verify_event_deletion',
      `select format('events up to %s were deleted, and were not a day old', d.last_id) as detail
       from event_deletion d
       where d.workspace_id = $1 and d.last_id > $2 and d.last_id <= $3 and d.last_at > statement_timestamp() - interval '23 hours'`,
    ),
  },
};

/** The events that the present state of a row requires. The row is `t`. */
interface Required {
  readonly type: string;
  readonly table: string;
  /** The column that is the id of the resource. */
  readonly id?: string;
  /** The key of the ranges. */
  readonly key?: string;
  readonly join?: string;
  /** The rows that have events. */
  readonly where?: string;
  /** Times that are not after its first and its last event. */
  readonly createdAt?: string;
  readonly changedAt?: string;
  /** The status, if its events have one. */
  readonly status?: string;
  /** Whether no event follows that of its state. */
  readonly isFinal: string;
  /** A type, and the condition under which the last event is of it, and otherwise is not. */
  readonly last?: readonly [type: string, condition: string];
  readonly more?: string;
}

/** Compares each row with its last event, in one snapshot with the changes that wait. An event behind the last one may be deleted if that may be. */
function required({
  type,
  table,
  id = 't.id',
  key = 't.id',
  join = '',
  where = 'true',
  createdAt = 't.created_at',
  changedAt = createdAt,
  status = 'null',
  isFinal,
  last: [lastType, isLast] = ['', 'null'],
  more = '',
}: Required) {
  const ofResource = `e.resource_type = '${type}' and e.resource_id = ${id}`;
  return sqlStatement<FindingRow>(
    `verify_events_of_${table}`,
    `with ${KEPT}
     select format('${type} %s %s', f.id, f.why) as detail
     from (
       select ${id} as id, case
           when l.id is null then case
             when ${changedAt} > k.whole_from or not (${isFinal}) and not exists (
                 select from event_sequence e where e.workspace_id = $1 and ${ofResource})
               then 'has no event' end
           when l.id <= k.last_id and ${createdAt} <= k.whole_from then null
           when ${status} <> (
               select e.changes -> 'status' ->> 'after' from event e
               where e.workspace_id = $1 and ${ofResource} and e.changes ? 'status' and (e.sequence = l.sequence or e.id > coalesce(k.last_id, 0))
               order by e.sequence desc limit 1)
             then format('is %s, and its events end with another status', ${status})
           when (l.type = '${lastType}') <> (${isLast}) then format('has %s as its last event', l.type)
           ${more} end as why
       from kept k cross join ${table} t ${join}
         left join lateral (select e.id, e.type, e.sequence from event e where e.workspace_id = $1 and ${ofResource} order by e.sequence desc limit 1) l on true
       where t.workspace_id = $1 and ${key} > $2 and ${key} <= $3 and ${where}) f
     where f.why is not null and ${isRecorded(`'${type}'`, 'f.id')}`,
  );
}

/** A run is not made before its order, and ends after its transaction was made. */
const OF_RUN = `left join customer_order o on o.workspace_id = $1 and o.id = t.order_id
         left join transaction x on x.workspace_id = $1 and x.id = t.transaction_id`;

/** A return is an event of the transaction that it returns. */
const RETURNED = `when t.return_of is not null and t.created_at > k.whole_from and not exists (
               select from event e
               where e.workspace_id = $1 and e.resource_type = 'transaction' and e.resource_id = t.return_of
                 and e.type = 'transaction.returned' and (e.changes ->> 'transactionId')::bigint = t.id)
             then format('returns transaction %s, which has no event of it', t.return_of)`;

const isNot = (status: string) => `t.status <> '${status}'`;

export const REQUIRED_EVENTS: RangeCheck = {
  check: 'every resource has its events, and they end at its present state',
  over: {
    account: required({
      ...{ type: 'account', table: 'account', where: `t.kind = 'customer'`, status: 't.status', isFinal: 'false' },
    }),
    transaction: required({
      ...{ type: 'transaction', table: 'transaction', status: 't.status', isFinal: 'false', more: RETURNED },
    }),
    transfer: required({
      ...{ type: 'transfer', table: 'transfer', key: 't.transaction_id', isFinal: 'true' },
    }),
    // The end of a payout is an event of its transaction.
    payout: required({
      ...{ type: 'payout', table: 'payout', id: 't.transaction_id', key: 't.transaction_id', changedAt: 't.parked_at' },
      where: `${isNot('settled')} and ${isNot('failed')}`,
      isFinal: isNot('parked'),
      last: ['payout.parked', `t.status = 'parked'`],
    }),
    customer_order: required({
      ...{ type: 'order', table: 'customer_order', status: 't.status', isFinal: isNot('active') },
      last: ['order.paused', `t.status = 'active' and t.paused_at is not null`],
    }),
    execution: required({
      ...{ type: 'execution', table: 'execution', join: OF_RUN, status: 't.status' },
      ...{ createdAt: 'o.created_at', changedAt: 'greatest(o.created_at, x.created_at)' },
      isFinal: `${isNot('awaiting_approval')} and ${isNot('scheduled')} and ${isNot('pending')}`,
    }),
    deposit: required({
      ...{ type: 'deposit', table: 'deposit', status: 't.status', changedAt: 't.updated_at' },
      isFinal: `t.status in ('assigned', 'returned')`,
    }),
    approval: required({
      ...{ type: 'approval', table: 'approval', status: 't.status', changedAt: 't.updated_at' },
      isFinal: `${isNot('required')} and (${isNot('approved')} or t.outcome is not null)`,
      last: ['approval.carried_out', `coalesce(t.outcome = 'carried_out', false)`],
    }),
    recipient: required({
      ...{ type: 'recipient', table: 'recipient', isFinal: 't.forgotten_at is not null' },
      last: ['recipient.archived', 't.forgotten_at is not null'],
    }),
    quote: required({ type: 'quote', table: 'quote', isFinal: 'true' }),
    limit_list: required({
      ...{ type: 'limits', table: 'limit_list', id: 't.workspace_id', key: 't.workspace_id' },
      ...{ createdAt: 't.changed_at', where: 't.version > 0', isFinal: 'false' },
    }),
    webhook_endpoint: required({
      ...{
        type: 'webhookEndpoint',
        table: 'webhook_endpoint',
        status: 't.status',
        isFinal: 't.deleted_at is not null',
      },
      last: ['webhookEndpoint.deleted', 't.deleted_at is not null'],
    }),
    service_account: required({
      ...{ type: 'serviceAccount', table: 'service_account', changedAt: 't.updated_at' },
      isFinal: 't.deleted_at is not null',
      last: ['serviceAccount.deleted', 't.deleted_at is not null'],
    }),
    service_account_key: required({
      ...{ type: 'key', table: 'service_account_key', isFinal: 't.revoked_at is not null' },
      last: ['key.revoked', 't.revoked_at is not null'],
    }),
  },
};

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
