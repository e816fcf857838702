import { randomBytes } from 'node:crypto';
import {
  type Created,
  type CreateWebhookEndpointInput,
  type Page,
  type PageQuery,
  Refusal,
  type RequestOptions,
  WEBHOOK_ENDPOINTS_MAX,
  type WebhookEndpoint,
  type WebhookEndpointChange,
  type WebhookEndpointId,
  type WebhookEndpointName,
  type WebhookEndpointWithSecret,
  type WorkspaceId,
} from '@banking/domain';
import { bind, type Database, type DbTransaction, sqlStatement } from '@banking/postgres';
import { type AuditedCall, auditEntry, callerOf, entriesOf, noteAudit } from '../audit/audited-call.js';
import { createOnce } from '../idempotency/create-once.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
import { column, type Columns, type RowOf, selected, timestampOf, withoutNulls } from '../resources/columns.js';
import {
  pageOfColumns,
  type Reading,
  readWithoutReference,
  type ResourceQuery,
  type RowFacts,
} from '../resources/reading.js';

/** No secret is among them. */
const COLUMNS = {
  id: column<bigint | number>('id'),
  url: column<string>('url'),
  types: column<readonly string[]>('types'),
  description: column<string | null>('description'),
  status: column<string>('status'),
  disabledReason: column<string | null>('disabled_reason'),
  failingSince: column<string | null>('failing_since'),
  createdAt: column<string>('created_at'),
} satisfies Columns;

type WebhookEndpointRow = RowOf<typeof COLUMNS>;

/** The columns of an endpoint `t`. */
const WEBHOOK_ENDPOINT_COLUMNS = selected(COLUMNS, 't');

const composeWebhookEndpoint = (row: WebhookEndpointRow): WebhookEndpoint =>
  withoutNulls<WebhookEndpoint>({
    id: Number(row.id) as WebhookEndpointId,
    url: row.url,
    types: row.types,
    description: row.description,
    status: row.status,
    disabledReason: row.disabledReason,
    failingSince: row.failingSince === null ? null : timestampOf(row.failingSince),
    createdAt: timestampOf(row.createdAt),
  });

const WEBHOOK_ENDPOINT_PAGE = pageOfColumns(COLUMNS, composeWebhookEndpoint);

/** Encrypts the secret of an endpoint for the database. */
interface SecretSealer {
  seal(plain: Uint8Array, context: { readonly workspaceId: number; readonly endpointId: number }): Uint8Array;
}

/** What a deployment needs for webhook endpoints. */
export interface WebhookTerms {
  readonly sealer: SecretSealer;
  /** Why nothing is delivered to an address; undefined if it is allowed. */
  readonly refusedUrl: (url: string) => string | undefined;
}

/** @throws Refusal `webhooks_unavailable` if the deployment has no key */
function requireTerms(terms: WebhookTerms | undefined): WebhookTerms {
  if (terms === undefined) throw new Refusal('webhooks_unavailable');
  return terms;
}

/** The rule that an address breaks, by the reason of the policy. */
const RULES: Readonly<Record<string, string>> = {
  not_https: 'url must begin with https://.',
  has_credentials: 'url must have no user name and no password.',
  has_fragment: 'url must have no fragment.',
  address_refused: 'url must not name a private address.',
};

/** @throws Refusal for an address: `webhooks_unavailable`, `webhook_url_refused` */
export function checkUrl(terms: WebhookTerms | undefined, { url }: { readonly url?: string | undefined }): void {
  if (url === undefined) return;
  const refused = requireTerms(terms).refusedUrl(url);
  if (refused === undefined) return;
  const message = RULES[refused] ?? 'url must be an absolute URL of at most 2048 characters.';
  throw new Refusal('webhook_url_refused', message, {
    details: [{ path: '/url', reason: 'webhook_url_refused', message }],
  });
}

const SECRET_BYTES = 32;

/** A new secret of an endpoint. */
interface NewSecret {
  /** What is sealed. */
  readonly plain: Uint8Array;
  /** For the caller. */
  readonly secret: string;
}

function newSecret(): NewSecret {
  const plain = randomBytes(SECRET_BYTES);
  return { plain, secret: `whsec_${plain.toString('base64')}` };
}

const GET_WEBHOOK_ENDPOINT = sqlStatement<WebhookEndpointRow>(
  'get_webhook_endpoint',
  `select ${WEBHOOK_ENDPOINT_COLUMNS} from webhook_endpoint t where t.workspace_id = $1 and t.id = $2 and t.deleted_at is null`,
);

export const webhookEndpointQuery = (
  workspaceId: number,
  endpointId: number,
): ResourceQuery<WebhookEndpointRow, WebhookEndpoint> => ({
  bound: bind(GET_WEBHOOK_ENDPOINT, workspaceId, endpointId),
  compose: (_, row) => composeWebhookEndpoint(row),
});

/** @throws Refusal `webhook_endpoint_not_found` also for a deleted endpoint, and for one of another workspace */
export async function getWebhookEndpoint(
  reading: Reading,
  workspaceId: WorkspaceId,
  { webhookEndpointId }: WebhookEndpointName,
): Promise<WebhookEndpoint> {
  const { bound } = webhookEndpointQuery(workspaceId, webhookEndpointId);
  return readWithoutReference(reading, workspaceId, bound, composeWebhookEndpoint, 'webhook_endpoint_not_found');
}

/** No role may read the sealed secrets, so the columns are named. */
const READ = ['id', 'url', 'types', 'description', 'status', 'disabled_reason'];

const WEBHOOK_ENDPOINTS: PagedList<RowFacts, WebhookEndpoint> = {
  name: 'list_webhook_endpoints',
  table: 'webhook_endpoint',
  indexes: [{ where: 'l.deleted_at is null' }],
  classes: {},
  filters: {},
  page: ({ table, range, after, rest }) =>
    `page as materialized (
      select ${[...READ, 'failing_since', 'created_at'].map((name) => `l.${name}`).join(', ')}
      from ${table} l where ${[...range, ...after, ...rest].join(' and ')} order by l.created_at desc, l.id desc limit $2)`,
  items: WEBHOOK_ENDPOINT_PAGE,
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listWebhookEndpoints(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<WebhookEndpoint>> {
  return listPage(reading, WEBHOOK_ENDPOINTS, { workspaceId, limit, cursor, filters: {} });
}

/** Held to the end of the database transaction, so that endpoints of a workspace are counted and added one at a time. */
const LOCK_ENDPOINTS = sqlStatement(
  'lock_webhook_endpoints',
  `select pg_advisory_xact_lock(hashtextextended(jsonb_build_array('webhook endpoints', $1::bigint)::text, 0))`,
);

/** A query of its own under the lock, so that it reads what the earlier holder committed. */
const NEXT_ENDPOINT = sqlStatement<{ id: bigint; count: number }>(
  'next_webhook_endpoint',
  `select nextval('webhook_endpoint_id_seq') as id,
          (select count(*)::int from webhook_endpoint e where e.workspace_id = $1 and e.deleted_at is null) as count`,
);

/** The endpoint begins behind the last event that is recorded. */
const ADD_ENDPOINT = sqlStatement(
  'add_webhook_endpoint',
  `insert into webhook_endpoint (workspace_id, id, url, types, description, sealed_secret, created_by, cursor_event_id)
   values ($1, $2, $3, $4, $5, $6, $7,
     coalesce((select e.id from event e where e.workspace_id = $1 order by e.id desc limit 1), 0))`,
);

/**
 * Creates an endpoint with a new secret. The response that is stored for the key has no secret.
 *
 * @throws Refusal `webhooks_unavailable`, `webhook_url_refused`, `webhook_endpoint_limit`, and those of `createOnce`
 */
export async function createWebhookEndpoint(
  reading: Reading,
  caller: AuditedCall,
  { url, types = [], description }: CreateWebhookEndpointInput,
  options: RequestOptions,
  given: WebhookTerms | undefined,
): Promise<Created<WebhookEndpointWithSecret>> {
  const terms = requireTerms(given);
  checkUrl(terms, { url });
  const { workspaceId, actor } = caller;
  const content = { url, types: [...types], ...(description !== undefined && { description }) };
  const request = { workspaceId, operation: 'createWebhookEndpoint', content };
  const { plain, secret } = newSecret();
  let createdId: number | undefined;
  const created = await createOnce<WebhookEndpointRow, WebhookEndpoint>(
    reading,
    request,
    options,
    caller,
    async (tx) => {
      const endpointId = await nextEndpoint(tx, workspaceId);
      createdId = endpointId;
      const sealed = terms.sealer.seal(plain, { workspaceId, endpointId });
      const fields = [url, [...types], description, sealed, actor];
      return {
        writes: [bind(ADD_ENDPOINT, workspaceId, endpointId, ...fields)],
        audited: { type: 'webhookEndpoint', id: endpointId },
        resource: webhookEndpointQuery(workspaceId, endpointId),
      };
    },
  );
  const { resource, isReplay } = created;
  // After a lost connection, the endpoint of the key may be that of another request.
  const isOurs = !isReplay && resource.id === createdId;
  return isOurs ? { resource: { ...resource, secret }, isReplay } : created;
}

/** @throws Refusal `webhook_endpoint_limit` */
async function nextEndpoint(tx: DbTransaction, workspaceId: number): Promise<number> {
  const [, [next]] = await tx.pipeline([bind(LOCK_ENDPOINTS, workspaceId), bind(NEXT_ENDPOINT, workspaceId)] as const);
  if (next!.count >= WEBHOOK_ENDPOINTS_MAX) throw new Refusal('webhook_endpoint_limit');
  return Number(next!.id);
}

/**
 * Fields that are not given keep their value. An endpoint that is enabled keeps its cursor, is due at once, begins without failures, and
 * belongs to the caller. One that is disabled already keeps the reason.
 */
const CHANGE_WEBHOOK_ENDPOINT = sqlStatement(
  'change_webhook_endpoint',
  `with changed as (
     update webhook_endpoint set url = coalesce($3, url), types = coalesce($4::text[], types), description = coalesce($5, description),
       status = coalesce($6, status),
       disabled_reason = case when $6 = 'enabled' then null when $6 = 'disabled' then coalesce(disabled_reason, 'user') else disabled_reason end,
       created_by = case when $6 = 'enabled' and status = 'disabled' then coalesce($8, created_by) else created_by end,
       consecutive_failures = case when $6 = 'enabled' then 0 else consecutive_failures end,
       paused_until = case when $6 = 'enabled' then null else paused_until end,
       failing_since = case when $6 = 'enabled' or $6 = 'disabled' and status <> 'disabled' then null else failing_since end
     where workspace_id = $1 and id = $2 and deleted_at is null
       and (url, types, description, status)
         is distinct from (coalesce($3, url), coalesce($4::text[], types), coalesce($5, description), coalesce($6, status))
     returning id)
   insert into audit_outbox (workspace_id, entries) select $1, $7::jsonb from changed`,
);

/** @throws Refusal `webhook_endpoint_not_found`; `webhooks_unavailable`, `webhook_url_refused` for an address */
export async function changeWebhookEndpoint(
  { database }: Reading,
  caller: AuditedCall,
  { webhookEndpointId, url, types, description, status }: WebhookEndpointChange,
  terms: WebhookTerms | undefined,
): Promise<WebhookEndpoint> {
  checkUrl(terms, { url });
  const { workspaceId, actor } = caller;
  const audited = { operation: 'changeWebhookEndpoint', resource: { type: 'webhookEndpoint', id: webhookEndpointId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const fields = [url, types && [...types], description, status, entriesOf(caller, audited), actor];
  const [, [row]] = await database.write(scope, [
    bind(CHANGE_WEBHOOK_ENDPOINT, workspaceId, webhookEndpointId, ...fields),
    webhookEndpointQuery(workspaceId, webhookEndpointId).bound,
  ] as const);
  if (!row) throw new Refusal('webhook_endpoint_not_found');
  return composeWebhookEndpoint(row);
}

const LOCK_ENDPOINT = sqlStatement(
  'lock_webhook_endpoint',
  `select from webhook_endpoint where workspace_id = $1 and id = $2 and deleted_at is null for no key update`,
);

/** The function copies the former secret, which no role may read. */
const ROTATE_SECRET = sqlStatement('rotate_webhook_secret', 'select rotate_webhook_secret($1, $2)');

/** @throws Refusal `webhooks_unavailable`, `webhook_endpoint_not_found` */
export async function rotateWebhookSecret(
  { database }: Reading,
  caller: AuditedCall,
  { webhookEndpointId: endpointId }: WebhookEndpointName,
  given: WebhookTerms | undefined,
): Promise<WebhookEndpointWithSecret> {
  const { sealer } = requireTerms(given);
  const { workspaceId, actor } = caller;
  const audited = { operation: 'rotateWebhookSecret', resource: { type: 'webhookEndpoint', id: endpointId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  return database.transaction(scope, async (tx) => {
    const [[endpoint]] = await tx.pipeline([bind(LOCK_ENDPOINT, workspaceId, endpointId)] as const);
    if (!endpoint) throw new Refusal('webhook_endpoint_not_found');
    const { plain, secret } = newSecret();
    const [, , [row]] = await tx.commit([
      bind(ROTATE_SECRET, endpointId, sealer.seal(plain, { workspaceId, endpointId })),
      noteAudit([auditEntry(workspaceId, audited, callerOf(caller))]),
      webhookEndpointQuery(workspaceId, endpointId).bound,
    ] as const);
    return { ...composeWebhookEndpoint(row!), secret };
  });
}

/** The row stays for its deliveries, without its secrets. */
const DELETE_WEBHOOK_ENDPOINT = sqlStatement<{ id: bigint }>(
  'delete_webhook_endpoint',
  `with deleted as (
     update webhook_endpoint
     set deleted_at = statement_timestamp(), sealed_secret = null, previous_sealed_secret = null, previous_valid_until = null
     where workspace_id = $1 and id = $2 and deleted_at is null
     returning workspace_id, id),
   ended as (
     update webhook_delivery d set status = 'failed', next_attempt_at = null
     from deleted e where d.workspace_id = e.workspace_id and d.endpoint_id = e.id and d.status = 'pending'),
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $3::jsonb from deleted)
   select id from deleted`,
);

/** @throws Refusal `webhook_endpoint_not_found` also for a deleted endpoint */
export async function deleteWebhookEndpoint(
  database: Database,
  caller: AuditedCall,
  { webhookEndpointId }: WebhookEndpointName,
): Promise<void> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'deleteWebhookEndpoint', resource: { type: 'webhookEndpoint', id: webhookEndpointId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const [deleted] = await database.write(scope, [
    bind(DELETE_WEBHOOK_ENDPOINT, workspaceId, webhookEndpointId, entriesOf(caller, audited)),
  ] as const);
  if (deleted.length === 0) throw new Refusal('webhook_endpoint_not_found');
}
