import {
  type EventId,
  type Page,
  Refusal,
  WEBHOOK_PENDING_MAX,
  WEBHOOK_REPLAY_MAX,
  WEBHOOK_REQUESTED_MAX,
  type WebhookAttempt,
  type WebhookDelivery,
  type WebhookDeliveryId,
  type WebhookDeliveryName,
  type WebhookDeliveryQuery,
  type WebhookEndpointName,
  type WebhookReplay,
  type WebhookReplayInput,
  type WorkspaceId,
} from '@banking/domain';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { type AuditedCall, entriesOf } from '../audit/audited-call.js';
import { listPage } from '../lists/list-page.js';
import { positionAt } from '../events/events.js';
import { checkPeriod, pageByClass, type PagedList, PLAN_BY_ORDER } from '../lists/paged-list.js';
import { column, type Columns, type RowOf, selected, timestampOf, withoutNulls } from '../resources/columns.js';
import { pageOfColumns, type Reading, type RowFacts } from '../resources/reading.js';
import { webhookEndpointQuery } from './webhook-endpoints.js';

const COLUMNS = {
  id: column<bigint | number>('id'),
  eventId: column<bigint | number | null>('event_id'),
  eventType: column<string>('event_type'),
  kind: column<string>('kind'),
  status: column<string>('status'),
  attempts: column<number>('attempts'),
  nextAttemptAt: column<string | null>('next_attempt_at'),
  lastAttemptAt: column<string | null>('last_attempt_at'),
  lastDurationMs: column<number | null>('last_duration_ms'),
  lastResponseStatus: column<number | null>('last_response_status'),
  lastResponse: column<string | null>('last_response'),
  lastError: column<string | null>('last_error'),
  createdAt: column<string>('created_at'),
} satisfies Columns;

type WebhookDeliveryRow = RowOf<typeof COLUMNS>;

/** The columns of a delivery `t`. */
const WEBHOOK_DELIVERY_COLUMNS = selected(COLUMNS, 't');

const composeWebhookDelivery = (row: WebhookDeliveryRow): WebhookDelivery =>
  withoutNulls<WebhookDelivery>({
    id: Number(row.id) as WebhookDeliveryId,
    eventID: row.eventId === null ? null : (Number(row.eventId) as EventId),
    eventType: row.eventType,
    kind: row.kind,
    status: row.status,
    attempts: row.attempts,
    nextAttemptAt: row.nextAttemptAt === null ? null : timestampOf(row.nextAttemptAt),
    lastAttempt: lastAttemptOf(row),
    createdAt: timestampOf(row.createdAt),
  });

function lastAttemptOf({ lastAttemptAt, ...row }: WebhookDeliveryRow): WebhookAttempt | null {
  if (lastAttemptAt === null) return null;
  return withoutNulls<WebhookAttempt>({
    at: timestampOf(lastAttemptAt),
    durationMs: row.lastDurationMs!,
    responseStatus: row.lastResponseStatus,
    response: row.lastResponse,
    error: row.lastError,
  });
}

const WEBHOOK_DELIVERY_PAGE = pageOfColumns(COLUMNS, composeWebhookDelivery);

const TODAY = `(statement_timestamp() at time zone 'UTC')::date`;

/**
 * Reserves the replays of a workspace for this database transaction, for `IS_REPLAYING`: a query of its own, so that the next one reads
 * what the last holder committed.
 */
const RESERVE_REPLAYS = sqlStatement(
  'reserve_webhook_replays',
  `select set_config('app.replays',
     pg_try_advisory_xact_lock(hashtextextended(jsonb_build_array('webhook replays', $1::bigint)::text, 0))::text, true)`,
);

const reserveReplays = (workspaceId: number) => bind(RESERVE_REPLAYS, workspaceId);

/** Whether another replay of workspace `$1` has deliveries without an attempt. Those of a disabled endpoint wait for nothing. */
const IS_REPLAYING = `current_setting('app.replays') = 'false' or exists (
  select from webhook_delivery d join webhook_endpoint e on e.workspace_id = d.workspace_id and e.id = d.endpoint_id
  where d.workspace_id = $1 and d.status = 'pending' and d.kind = 'replay' and d.attempts = 0 and e.status <> 'disabled')`;

/**
 * The common table `verdict` for so many deliveries that are requested in workspace `$1`: whether they exceed a limit.
 *
 * @param deliveries their number, as SQL
 * @param isReplaying whether a replay must wait, as SQL
 */
const verdictOn = (deliveries: string, isReplaying = 'false'): string => `verdict as materialized (
  select ${isReplaying}
    or ${deliveries} + (select count(*) from (
      select from webhook_delivery d where d.workspace_id = $1 and d.status = 'pending' limit ${WEBHOOK_PENDING_MAX}) p
    ) > ${WEBHOOK_PENDING_MAX}
    or ${deliveries} + (select coalesce(sum(q.requested_deliveries), 0) from webhook_endpoint q
      where q.workspace_id = $1 and q.requested_on = ${TODAY}) > ${WEBHOOK_REQUESTED_MAX} as exceeds)`;

/** The common table that counts so many deliveries as requested for endpoint `$2`, and makes it due at once. */
const counting = (deliveries: string): string => `counted as (
  update webhook_endpoint q
  set requested_on = ${TODAY}, paused_until = null,
    requested_deliveries = ${deliveries} + case when q.requested_on = ${TODAY} then q.requested_deliveries else 0 end
  where q.workspace_id = $1 and q.id = $2 and ${deliveries} > 0)`;

const WEBHOOK_DELIVERIES: PagedList<RowFacts, WebhookDelivery> = {
  name: 'list_webhook_deliveries',
  table: 'webhook_delivery',
  indexes: [{ filter: 'endpointId', where: 'l.id >= 1' }, { where: 'l.id >= 1' }],
  classes: { status: 'text' },
  filters: { endpointId: (id) => `l.endpoint_id = ${id}::bigint` },
  page: pageByClass,
  items: WEBHOOK_DELIVERY_PAGE,
};

/** @throws Refusal `webhook_endpoint_not_found`, `limit_invalid`, `cursor_invalid` */
export function listWebhookDeliveries(
  reading: Reading,
  workspaceId: WorkspaceId,
  { webhookEndpointId: endpointId, status, limit, cursor }: WebhookDeliveryQuery,
): Promise<Page<WebhookDelivery>> {
  const { bound } = webhookEndpointQuery(workspaceId, endpointId);
  return listPage(reading, WEBHOOK_DELIVERIES, {
    workspaceId,
    limit,
    cursor,
    filters: { endpointId, status },
    named: [{ bound, refusal: new Refusal('webhook_endpoint_not_found') }],
  });
}

interface ReplayRow {
  readonly status: string;
  /** Events of the period, one more than the limit at most. */
  readonly found: number;
  readonly added: number;
  readonly exceeds: boolean;
}

/** How many events are read for those of a period, whatever the types of the endpoint are. */
const REPLAY_SCANNED_MAX = 10 * WEBHOOK_REPLAY_MAX;

/**
 * Reads the events behind a position in the order of their ids, which is that of their times but for a minute. If that does not reach the
 * end of the period, there are too many.
 */
const REPLAY_WEBHOOK_EVENTS = sqlStatement<ReplayRow>(
  'replay_webhook_events',
  `with endpoint as (
     select workspace_id, id, status, types from webhook_endpoint
     where workspace_id = $1 and id = $2 and deleted_at is null for key share),
   behind as materialized (
     select s.n from (
       select e.id, e.created_at, row_number() over (order by e.id) as n from event e
       where e.workspace_id = $1 and e.id > $6 order by e.id limit ${REPLAY_SCANNED_MAX}) s
     where s.created_at >= $4::timestamptz + interval '1 minute' order by s.id limit 1),
   scanned as materialized (
     select e.id, e.type, e.created_at from event e
     where e.workspace_id = $1 and e.id > $6 order by e.id limit coalesce((select n from behind), ${REPLAY_SCANNED_MAX})),
   found as materialized (
     select s.id, s.type from scanned s
     where s.created_at >= $3::timestamptz and s.created_at < $4::timestamptz
       or not exists (select from behind) and (select count(*) from scanned) = ${REPLAY_SCANNED_MAX}
     order by s.id limit ${WEBHOOK_REPLAY_MAX} + 1),
   chosen as materialized (
     select f.* from endpoint p cross join found f
     where p.status <> 'disabled' and (cardinality(p.types) = 0 or f.type = any(p.types))
       and (select count(*) from found) <= ${WEBHOOK_REPLAY_MAX}),
   ${verdictOn('(select count(*) from chosen)', IS_REPLAYING)},
   added as (
     insert into webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, next_attempt_at)
     select p.workspace_id, p.id, f.id, f.type, 'replay', statement_timestamp()
     from endpoint p cross join chosen f where not (select exceeds from verdict)
     order by f.id
     returning id),
   ${counting('(select count(*) from added)')},
   noted as (
     insert into audit_outbox (workspace_id, entries)
     select $1, $5::jsonb from endpoint p, verdict v
     where p.status <> 'disabled' and not v.exceeds and (select count(*) from found) <= ${WEBHOOK_REPLAY_MAX})
   select p.status, (select count(*)::int from found) as found, (select count(*)::int from added) as added, v.exceeds
   from endpoint p cross join verdict v`,
);

/** @throws Refusal `timestamp_invalid`, `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `webhook_replay_limit`, `webhook_delivery_limit` */
export async function replayWebhookEvents(
  database: Database,
  caller: AuditedCall,
  { webhookEndpointId, createdFrom, createdTo }: WebhookReplayInput,
): Promise<WebhookReplay> {
  checkPeriod({ createdFrom, createdTo }, ['/createdFrom', '/createdTo']);
  const { workspaceId, actor } = caller;
  const audited = { operation: 'replayWebhookEvents', resource: { type: 'webhookEndpoint', id: webhookEndpointId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const after = await positionAt(database, workspaceId, createdFrom);
  const entries = entriesOf(caller, audited);
  const [, , [row]] = await database.write(scope, [
    PLAN_BY_ORDER,
    reserveReplays(workspaceId),
    bind(REPLAY_WEBHOOK_EVENTS, workspaceId, webhookEndpointId, createdFrom, createdTo, entries, after),
  ] as const);
  if (!row) throw new Refusal('webhook_endpoint_not_found');
  if (row.status === 'disabled') throw new Refusal('webhook_endpoint_disabled');
  if (row.found > WEBHOOK_REPLAY_MAX) throw new Refusal('webhook_replay_limit');
  if (row.exceeds) throw new Refusal('webhook_delivery_limit');
  return { deliveries: row.added };
}

interface RetryFacts {
  readonly endpointStatus: string;
  readonly exceeds: boolean;
  /** Null if the endpoint has no such delivery. */
  readonly deliveryStatus: string | null;
}

/** No row without the endpoint, and an `id` of null if the delivery is not retried. */
const RETRY_WEBHOOK_DELIVERY = sqlStatement<RetryFacts & (WebhookDeliveryRow | { readonly id: null })>(
  'retry_webhook_delivery',
  `with endpoint as (
     select workspace_id, id, status from webhook_endpoint where workspace_id = $1 and id = $2 and deleted_at is null for key share),
   delivery as (
     select d.workspace_id, d.id, d.status, d.event_id from endpoint p
     join webhook_delivery d on d.workspace_id = p.workspace_id and d.endpoint_id = p.id and d.id = $3),
   ${verdictOn('1')},
   retried as (
     update webhook_delivery r set status = 'pending', next_attempt_at = statement_timestamp()
     from endpoint p, delivery d, verdict v
     where not v.exceeds and r.workspace_id = d.workspace_id and r.id = d.id and r.status <> 'delivered' and p.status <> 'disabled'
       and (d.event_id is null or exists (select from event e where e.workspace_id = d.workspace_id and e.id = d.event_id))
     returning r.*),
   ${counting('(select count(*) from retried)')},
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $4::jsonb from retried)
   select p.status as "endpointStatus", d.status as "deliveryStatus", v.exceeds, ${WEBHOOK_DELIVERY_COLUMNS}
   from endpoint p cross join verdict v left join delivery d on true left join retried t on true`,
);

/**
 * @throws Refusal `webhook_endpoint_not_found`, `webhook_delivery_not_found`, `webhook_endpoint_disabled`, `webhook_delivered`,
 *   `webhook_delivery_limit`, and
 *   `event_not_found` if the event was deleted because of its age
 */
export async function retryWebhookDelivery(
  database: Database,
  caller: AuditedCall,
  { webhookEndpointId, webhookDeliveryId }: WebhookDeliveryName,
): Promise<WebhookDelivery> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'retryWebhookDelivery', resource: { type: 'webhookDelivery', id: webhookDeliveryId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [[row]] = await database.write(scope, [
    bind(RETRY_WEBHOOK_DELIVERY, workspaceId, webhookEndpointId, webhookDeliveryId, entriesOf(caller, audited)),
  ] as const);
  if (!row) throw new Refusal('webhook_endpoint_not_found');
  if (row.id !== null) return composeWebhookDelivery(row);
  if (row.exceeds) throw new Refusal('webhook_delivery_limit');
  if (row.endpointStatus === 'disabled') throw new Refusal('webhook_endpoint_disabled');
  if (row.deliveryStatus === null) throw new Refusal('webhook_delivery_not_found');
  throw new Refusal(row.deliveryStatus === 'delivered' ? 'webhook_delivered' : 'event_not_found');
}

/** No row without the endpoint, and an `id` of null if it is disabled or a limit is exceeded. */
const TEST_WEBHOOK_ENDPOINT = sqlStatement<
  { readonly exceeds: boolean } & (WebhookDeliveryRow | { readonly id: null })
>(
  'test_webhook_endpoint',
  `with endpoint as (
     select workspace_id, id, status from webhook_endpoint where workspace_id = $1 and id = $2 and deleted_at is null for key share),
   ${verdictOn('1')},
   added as (
     insert into webhook_delivery (workspace_id, endpoint_id, event_type, kind, next_attempt_at)
     select workspace_id, id, 'webhook.test', 'test', statement_timestamp() from endpoint, verdict where status <> 'disabled' and not exceeds
     returning *),
   ${counting('(select count(*) from added)')},
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $3::jsonb from added)
   select v.exceeds, ${WEBHOOK_DELIVERY_COLUMNS} from endpoint e cross join verdict v left join added t on true`,
);

/** @throws Refusal `webhook_endpoint_not_found`, `webhook_endpoint_disabled`, `webhook_delivery_limit` */
export async function testWebhookEndpoint(
  database: Database,
  caller: AuditedCall,
  { webhookEndpointId }: WebhookEndpointName,
): Promise<WebhookDelivery> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'testWebhookEndpoint', resource: { type: 'webhookEndpoint', id: webhookEndpointId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [[row]] = await database.write(scope, [
    bind(TEST_WEBHOOK_ENDPOINT, workspaceId, webhookEndpointId, entriesOf(caller, audited)),
  ] as const);
  if (!row) throw new Refusal('webhook_endpoint_not_found');
  if (row.id !== null) return composeWebhookDelivery(row);
  if (row.exceeds) throw new Refusal('webhook_delivery_limit');
  throw new Refusal('webhook_endpoint_disabled');
}
