import { Refusal, WEBHOOK_REPLAY_MAX, type WebhookReplay, type WebhookReplayInput } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import { entriesOf } from '../audit/note-audit.js';
import { PLAN_BY_ORDER } from '../lists/plan-by-order.js';
import { checkPeriod } from '../lists/period.js';
import { counting, IS_REPLAYING, reserveReplays, verdictOn } from './delivery-limits.js';

interface ReplayRow {
  readonly status: string;
  /** Events of the period, one more than the limit at most. */
  readonly found: number;
  readonly added: number;
  readonly exceeds: boolean;
}

/** Reads one more event than the limit, whatever the types of the endpoint are, so that it ends soon. */
const REPLAY_WEBHOOK_EVENTS = sqlStatement<ReplayRow>(
  'replay_webhook_events',
  `with endpoint as (
     select workspace_id, id, status, types from webhook_endpoint
     where workspace_id = $1 and id = $2 and deleted_at is null for key share),
   found as materialized (
     select e.id, e.type, e.created_at from event e
     where e.workspace_id = $1 and e.created_at >= $3::timestamptz and e.created_at < $4::timestamptz
     order by e.created_at, e.id limit ${WEBHOOK_REPLAY_MAX} + 1),
   chosen as materialized (
     select f.* from endpoint p cross join found f
     where p.status <> 'disabled' and (cardinality(p.types) = 0 or f.type = any(p.types))
       and (select count(*) from found) <= ${WEBHOOK_REPLAY_MAX}),
   ${verdictOn('(select count(*) from chosen)', IS_REPLAYING)},
   added as (
     insert into webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, next_attempt_at)
     select p.workspace_id, p.id, f.id, f.type, 'replay', statement_timestamp()
     from endpoint p cross join chosen f where not (select exceeds from verdict)
     order by f.created_at, f.id
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
  const [, , [row]] = await database.write(scope, [
    PLAN_BY_ORDER,
    reserveReplays(workspaceId),
    bind(REPLAY_WEBHOOK_EVENTS, workspaceId, webhookEndpointId, createdFrom, createdTo, entriesOf(caller, audited)),
  ] as const);
  if (!row) throw new Refusal('webhook_endpoint_not_found');
  if (row.status === 'disabled') throw new Refusal('webhook_endpoint_disabled');
  if (row.found > WEBHOOK_REPLAY_MAX) throw new Refusal('webhook_replay_limit');
  if (row.exceeds) throw new Refusal('webhook_delivery_limit');
  return { deliveries: row.added };
}
