import type { Event, EventChanges } from '@banking/domain';
import { bind, type Database, isServedElsewhere, sqlStatement } from '@banking/postgres';
import type { AttemptResult } from './outbound-request.js';

/** An endpoint that this worker delivers to for the time of its lease. */
export interface ClaimedEndpoint {
  readonly workspaceId: bigint;
  readonly id: bigint;
  /** Higher than that of every claim before. */
  readonly token: bigint;
  readonly url: string;
  /** The types of events to deliver; empty for all. */
  readonly types: readonly string[];
  readonly status: string;
  readonly sealedSecret: Uint8Array;
  /** Signs too. */
  readonly previousSealedSecret: Uint8Array | null;
  readonly previousValidUntil: string | null;
  /** The last event that was taken for it. */
  readonly cursor: bigint;
  readonly consecutiveFailures: number;
  /** Whether its address has answered with a status 2xx. Otherwise it gets one request. */
  readonly hasAnswered: boolean;
}

/** An event as it is stored. */
export interface StoredEvent {
  readonly id: bigint;
  readonly type: string;
  readonly resourceType: string;
  readonly resourceId: bigint;
  readonly sequence: number;
  readonly changes: Omit<EventChanges, 'status'> & {
    readonly status?: { readonly before: string | null; readonly after: string };
  };
  readonly actor: Event['actor'];
  readonly createdAt: string;
}

/** A delivery that is due again, a test, or a replay. */
interface DueDelivery {
  readonly deliveryId: bigint;
  readonly kind: string;
  readonly attempts: number;
  readonly deliveryCreatedAt: string;
}

type Missing<Row> = { readonly [Key in keyof Row]: null };
export type DueRow = DueDelivery & (StoredEvent | Missing<StoredEvent>);

/** What became of one item. */
export interface Outcome {
  /** Undefined for the first attempt of an event. */
  readonly deliveryId?: bigint | undefined;
  readonly eventId?: bigint | undefined;
  readonly eventType?: string | undefined;
  /** `probe` for an event that stays behind the cursor of a failing endpoint, `missing` for one that was deleted. */
  readonly outcome: 'delivered' | 'failed' | 'probe' | 'missing';
  /** When the attempt began, by `performance.now()`. */
  readonly startedMs: number;
  readonly result?: AttemptResult;
  /** Undefined if it was the last attempt. */
  readonly retryAfterMs?: number | undefined;
}

/** The state of an endpoint after results were recorded. */
export interface EndpointState {
  readonly status: string;
  readonly url: string;
  readonly types: readonly string[];
  readonly previousValidUntil: string | null;
  readonly consecutiveFailures: number;
}

const EVENT_COLUMNS = `e.id, e.type, e.resource_type as "resourceType", e.resource_id as "resourceId", e.sequence, e.changes, e.actor,
  e.created_at as "createdAt"`;

const ENDPOINTS_DUE = sqlStatement<{ workspaceId: bigint; id: bigint }>(
  'webhook_endpoints_due',
  'select workspace_id as "workspaceId", id from webhook_endpoints_due($1)',
);
const WAKE_MISSED = sqlStatement('wake_webhook_endpoints', 'select wake_webhook_endpoints()');
const CLAIM = sqlStatement<Omit<ClaimedEndpoint, 'hasAnswered'>>(
  'claim_webhook_endpoints',
  `select workspace_id as "workspaceId", id, token, url, types, status, sealed_secret as "sealedSecret",
     previous_sealed_secret as "previousSealedSecret", previous_valid_until as "previousValidUntil", cursor_event_id as cursor,
     consecutive_failures as "consecutiveFailures"
   from claim_webhook_endpoints($1, $2, $3)`,
);
/** Of these endpoints. */
const UNANSWERED = sqlStatement<{ id: bigint }>(
  'unanswered_webhook_endpoints',
  `select e.id from unnest($1::bigint[], $2::bigint[]) u (workspace_id, id)
   join webhook_endpoint e on e.workspace_id = u.workspace_id and e.id = u.id where e.answered_url is distinct from e.url`,
);
/** Unless another worker has the lease. */
const NOTE_ANSWER = sqlStatement(
  'note_webhook_answer',
  `update webhook_endpoint set answered_url = $4
   where workspace_id = $1 and id = $2 and lease_token = $3 and answered_url is distinct from $4`,
);
/** Disables those of these endpoints whose owner is no administrator any more, as orders are paused. An endpoint of the deployment has no owner. */
const DISABLE_WITHOUT_OWNER = sqlStatement(
  'disable_webhooks_without_owner',
  `with disabled as (
     update webhook_endpoint e set status = 'disabled', disabled_reason = 'owner_without_role', failing_since = null
     from unnest($1::bigint[], $2::bigint[]) u (workspace_id, id)
     where e.workspace_id = u.workspace_id and e.id = u.id and e.deleted_at is null and e.status <> 'disabled' and e.created_by is not null
       and not has_role(e.created_by, e.workspace_id, 'admin')
     returning e.workspace_id, e.id)
   insert into audit_outbox (workspace_id, entries)
   select workspace_id, jsonb_agg(jsonb_build_object('operation', 'disableWebhookEndpoint', 'outcome', 'done',
     'resourceType', 'webhookEndpoint', 'resourceId', id, 'actor', jsonb_build_object('type', 'system')))
   from disabled group by workspace_id`,
);
/** Events of any type that are read at a time for an endpoint with types, so that it passes the others in few queries. */
const SCANNED_MAX = 10_000;

/**
 * The next events, in one snapshot with the last id that was read. What an earlier worker has delivered behind the cursor has a row.
 */
const NEXT_EVENTS = sqlStatement<(StoredEvent | Missing<StoredEvent>) & { readTo: bigint | null; isCut: boolean }>(
  'next_events_of_webhook',
  `with wanted as materialized (
     select n.* from (select * from event where workspace_id = $1 and id > $3 order by workspace_id, id limit $6) n
     where (cardinality($4::text[]) = 0 or n.type = any($4))
       and (select d.id from webhook_delivery d
            where d.workspace_id = $1 and d.endpoint_id = $2 and d.event_id = n.id and d.kind = 'event' limit 1) is null
     order by n.workspace_id, n.id limit $5
   )
   select case when w.is_full then w.read_to else s.read_to end as "readTo", w.is_full or s.events = $6 as "isCut", ${EVENT_COLUMNS}
   from (select max(id) as read_to, count(*) = $5 as is_full from wanted) w
   left join lateral (
     select max(k.id) as read_to, count(*) as events
     from (select id from event where workspace_id = $1 and id > $3 order by workspace_id, id limit $6) k
     where not w.is_full) s on true
   left join wanted e on true order by e.id`,
);
const DUE_DELIVERIES = sqlStatement<DueRow>(
  'due_webhook_deliveries',
  `select d.id as "deliveryId", d.kind, d.attempts, d.created_at as "deliveryCreatedAt", ${EVENT_COLUMNS}
   from (select * from webhook_delivery
         where workspace_id = $1 and endpoint_id = $2 and status = 'pending' and next_attempt_at <= statement_timestamp()
         order by next_attempt_at, id limit $3) d
   left join lateral (select * from event v where v.workspace_id = $1 and v.id = d.event_id) e on true
   order by d.next_attempt_at, d.id`,
);
const RECORD = sqlStatement<EndpointState>(
  'record_webhook_attempts',
  `select status, url, types, previous_valid_until as "previousValidUntil", consecutive_failures as "consecutiveFailures"
   from record_webhook_attempts($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)`,
);

/** The secrets of an endpoint that other keys than the first one sealed. */
interface FormerlySealed extends EndpointName {
  readonly sealedSecrets: readonly Uint8Array[];
}

const SECRETS_OF_KEYS = sqlStatement<FormerlySealed>(
  'webhook_secrets_of_keys',
  `select workspace_id as "workspaceId", endpoint_id as id, sealed_secrets as "sealedSecrets" from webhook_secrets_of_keys($1, $2, $3, $4)`,
);
const RESEAL = sqlStatement('reseal_webhook_secret', 'select reseal_webhook_secret($1, $2, $3, $4)');

type EndpointName = Pick<ClaimedEndpoint, 'workspaceId' | 'id'>;
const scopeOf = ({ workspaceId }: EndpointName) => ({ workspaces: [Number(workspaceId)] });

/** Makes endpoints due that should be and are not. Reads every endpoint. @throws Refusal `unavailable` */
export async function wakeMissed(database: Database): Promise<void> {
  await database.pipeline({}, [bind(WAKE_MISSED)] as const);
}

/** Takes the leases of endpoints that have something to deliver, at most so many. @throws Refusal `unavailable` */
export async function claimEndpoints(
  database: Database,
  endpointsMax: number,
  leaseMs: number,
): Promise<readonly ClaimedEndpoint[]> {
  const [found] = await database.pipeline({}, [bind(ENDPOINTS_DUE, endpointsMax)] as const);
  if (found.length === 0) return [];
  // The order in which the recorder locks them.
  const due = found.toSorted((left, right) => Number(left.workspaceId - right.workspaceId || left.id - right.id));
  const workspaces = [...new Set(due.map(({ workspaceId }) => Number(workspaceId)))];
  const names = [due.map(({ workspaceId }) => workspaceId), due.map(({ id }) => id)];
  try {
    const [, claimed, unanswered] = await database.pipeline({ workspaces }, [
      bind(DISABLE_WITHOUT_OWNER, ...names),
      bind(CLAIM, ...names, leaseMs),
      bind(UNANSWERED, ...names),
    ] as const);
    const without = new Set(unanswered.map(({ id }) => id));
    return claimed.map((endpoint) => ({ ...endpoint, hasAnswered: !without.has(endpoint.id) }));
  } catch (error) {
    // A workspace has left this database meanwhile. The next run leaves it out.
    if (isServedElsewhere(error)) return [];
    throw error;
  }
}

/** The next events after an id, of the types of the endpoint; `isCut` if more may follow. @throws Refusal `unavailable` */
export async function readNextEvents(
  database: Database,
  endpoint: ClaimedEndpoint,
  after: bigint,
  eventsMax: number,
): Promise<{ readonly readTo: bigint; readonly isCut: boolean; readonly wanted: readonly StoredEvent[] }> {
  const { workspaceId, id, types } = endpoint;
  const [rows] = await database.pipeline(scopeOf(endpoint), [
    bind(NEXT_EVENTS, workspaceId, id, after, types, eventsMax, types.length > 0 ? SCANNED_MAX : eventsMax),
  ] as const);
  const wanted = rows.flatMap((row) => (row.id === null ? [] : [row]));
  return { readTo: rows[0]?.readTo ?? after, isCut: rows[0]?.isCut ?? false, wanted };
}

/** @throws Refusal `unavailable` */
export async function readDueDeliveries(
  database: Database,
  endpoint: EndpointName,
  rowsMax: number,
): Promise<readonly DueRow[]> {
  const { workspaceId, id } = endpoint;
  const [rows] = await database.pipeline(scopeOf(endpoint), [bind(DUE_DELIVERIES, workspaceId, id, rowsMax)] as const);
  return rows;
}

/** What is recorded with the results. */
interface RecordedState {
  readonly cursor: bigint;
  /** From now; 0 gives the lease back. */
  readonly leaseMs: number;
  /** Failed attempts since the last success, and how many make an endpoint fail. */
  readonly failures: number;
  readonly failuresMax: number;
}

/** Undefined if another worker has the lease or the endpoint was deleted: then nothing was recorded. @throws Refusal `unavailable` */
export async function recordOutcomes(
  database: Database,
  endpoint: ClaimedEndpoint,
  outcomes: readonly Outcome[],
  { cursor, leaseMs, failures, failuresMax }: RecordedState,
): Promise<EndpointState | undefined> {
  const nowMs = performance.now();
  const column = <T>(read: (outcome: Outcome) => T | undefined) => outcomes.map((outcome) => read(outcome) ?? null);
  const { workspaceId, id, token } = endpoint;
  const isAnswer = outcomes.some(({ outcome }) => outcome === 'delivered');
  const [, rows] = await database.pipeline(scopeOf(endpoint), [
    bind(DISABLE_WITHOUT_OWNER, [workspaceId], [id]),
    bind(
      RECORD,
      ...[workspaceId, id, token, cursor, leaseMs, failures, failuresMax],
      column(({ deliveryId }) => deliveryId),
      column(({ eventId }) => eventId),
      column(({ eventType }) => eventType),
      column(({ outcome }) => outcome),
      column(({ startedMs }) => Math.round(nowMs - startedMs)),
      column(({ result }) => result?.durationMs ?? 0),
      column(({ result }) => result?.responseStatus),
      column(({ result }) => result?.response),
      column(({ result }) => result?.error),
      column(({ retryAfterMs }) => retryAfterMs),
    ),
    ...(isAnswer ? [bind(NOTE_ANSWER, workspaceId, id, token, endpoint.url)] : []),
  ] as const);
  return rows[0];
}

/** Of all workspaces, in the order of their ids, behind an endpoint. @throws Refusal `unavailable` */
export async function readFormerlySealed(
  database: Database,
  keys: readonly string[],
  after: EndpointName,
  endpointsMax: number,
): Promise<readonly FormerlySealed[]> {
  const [rows] = await database.pipeline({}, [
    bind(SECRETS_OF_KEYS, keys, after.workspaceId, after.id, endpointsMax),
  ] as const);
  return rows;
}

/** Replaces a sealed secret by the same one under another key, unless it was replaced meanwhile. @throws Refusal `unavailable` */
export async function storeResealed(
  database: Database,
  endpoint: EndpointName,
  former: Uint8Array,
  sealed: Uint8Array,
): Promise<void> {
  const { workspaceId, id } = endpoint;
  await database.pipeline(scopeOf(endpoint), [bind(RESEAL, workspaceId, id, former, sealed)] as const);
}
