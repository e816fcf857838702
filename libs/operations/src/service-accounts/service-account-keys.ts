import { hash, randomBytes } from 'node:crypto';
import {
  type CreateServiceAccountKeyInput,
  type Created,
  isInstant,
  KEY_NETWORKS_MAX,
  KEY_OVERLAP_S,
  keyText,
  type Page,
  Refusal,
  type RequestOptions,
  SERVICE_ACCOUNT_KEYS_MAX,
  type ServiceAccountId,
  type ServiceAccountKey,
  type ServiceAccountKeyId,
  type ServiceAccountKeyName,
  type ServiceAccountKeyQuery,
  type ServiceAccountKeyRotation,
  type ServiceAccountKeyWithSecret,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { bind, type BoundStatement, type Database, type DbTransaction, sqlStatement } from '@banking/postgres';
import { parseNetwork } from '@banking/process';
import { type AuditedCall, entriesOf } from '../audit/audited-call.js';
import { createOnce, type Creation } from '../idempotency/create-once.js';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
import { column, type Columns, type RowOf, selected, sqlOf, timestampOf, withoutNulls } from '../resources/columns.js';
import {
  pageOfColumns,
  type Reading,
  readWithoutReference,
  type ResourceQuery,
  type RowFacts,
} from '../resources/reading.js';
import { actingOperator, getServiceAccount, refusedByRule } from './service-accounts.js';

/** The hash is not among them: no role may read it. */
const COLUMNS = {
  id: column<bigint | number>('id'),
  serviceAccountId: column<bigint | number>('service_account_id'),
  networks: sqlOf<readonly string[]>((t) => `${t}.networks::text[]`),
  expiresAt: column<string | null>('expires_at'),
  lastUsedAt: column<string | null>('last_used_at'),
  createdBy: sqlOf<number | null>((t) => `${t}.created_by::float8`),
  createdAt: column<string>('created_at'),
} satisfies Columns;

type KeyRow = RowOf<typeof COLUMNS>;

const composeKey = (row: KeyRow): ServiceAccountKey =>
  withoutNulls<ServiceAccountKey>({
    id: Number(row.id) as ServiceAccountKeyId,
    serviceAccountID: Number(row.serviceAccountId) as ServiceAccountId,
    networks: row.networks,
    expiresAt: row.expiresAt === null ? null : timestampOf(row.expiresAt),
    lastUsedAt: row.lastUsedAt === null ? null : timestampOf(row.lastUsedAt),
    createdBy: row.createdBy === null ? null : (row.createdBy as UserId),
    createdAt: timestampOf(row.createdAt),
  });

const GET_KEY = sqlStatement<KeyRow>(
  'get_service_account_key',
  `select ${selected(COLUMNS, 't')} from service_account_key t
   where t.workspace_id = $1 and t.service_account_id = $2 and t.id = $3 and t.revoked_at is null`,
);

const keyQuery = (workspaceId: number, accountId: number, keyId: number): ResourceQuery<KeyRow, ServiceAccountKey> => ({
  bound: bind(GET_KEY, workspaceId, accountId, keyId),
  compose: (_, row) => composeKey(row),
});

/** No role may read the hash, so the columns are named. */
const READ = ['id', 'service_account_id', 'networks', 'expires_at', 'last_used_at', 'created_by', 'created_at'];

const KEYS: PagedList<RowFacts, ServiceAccountKey> = {
  name: 'list_service_account_keys',
  table: 'service_account_key',
  indexes: [{ filter: 'serviceAccountId', where: 'l.revoked_at is null' }, { where: 'l.revoked_at is null' }],
  classes: {},
  filters: { serviceAccountId: (id) => `l.service_account_id = ${id}::bigint` },
  page: ({ table, range, after, rest }) =>
    `page as materialized (
      select ${READ.map((name) => `l.${name}`).join(', ')}
      from ${table} l where ${[...range, ...after, ...rest].join(' and ')} order by l.created_at desc, l.id desc limit $2)`,
  items: pageOfColumns(COLUMNS, composeKey),
};

/** @throws Refusal `service_account_not_found`, `limit_invalid`, `cursor_invalid` */
export async function listServiceAccountKeys(
  reading: Reading,
  workspaceId: WorkspaceId,
  { serviceAccountId, limit, cursor }: ServiceAccountKeyQuery,
): Promise<Page<ServiceAccountKey>> {
  await getServiceAccount(reading, workspaceId, { serviceAccountId });
  return listPage(reading, KEYS, { workspaceId, limit, cursor, filters: { serviceAccountId } });
}

/** @throws Refusal `key_not_found` also for a revoked one, and for one of another service account */
export async function getServiceAccountKey(
  reading: Reading,
  workspaceId: WorkspaceId,
  { serviceAccountId, keyId }: ServiceAccountKeyName,
): Promise<ServiceAccountKey> {
  const { bound } = keyQuery(workspaceId, serviceAccountId, keyId);
  return readWithoutReference(reading, workspaceId, bound, composeKey, 'key_not_found');
}

/**
 * Locks the service account against a deletion, a change of its roles, and other new keys. Its id is drawn with it, because the text of a key
 * has it.
 */
const LOCK_ACCOUNT_OF_KEY = sqlStatement(
  'lock_account_of_key',
  `select pg_advisory_xact_lock(hashtextextended(jsonb_build_array('keys', $1::bigint, $2::bigint)::text, 0))`,
);

/** A query of its own under the lock, so that it reads what the earlier holder committed. */
const NEXT_KEY = sqlStatement<{ id: bigint; count: number; hasRole: boolean; isInTime: boolean }>(
  'next_service_account_key',
  `select nextval('service_account_key_id_seq') as id,
     (select count(*)::int from service_account_key k
      where k.workspace_id = $1 and k.service_account_id = $2 and k.revoked_at is null
        and coalesce(k.expires_at, 'infinity') > statement_timestamp()) as count,
     exists (select from workspace_role r where r.workspace_id = $1 and r.user_id = $2) as "hasRole",
     coalesce($3::timestamptz, 'infinity') > statement_timestamp() as "isInTime"
   from service_account s where s.workspace_id = $1 and s.id = $2 and s.deleted_at is null`,
);

/** The hosts of a network are cut off, as `cidr` requires it. */
const ADD_KEY = sqlStatement(
  'add_service_account_key',
  `insert into service_account_key (workspace_id, id, service_account_id, hash, networks, expires_at, created_by)
   values ($1, $2, $3, $4, coalesce((select array_agg(network(n::inet)) from unnest($5::text[]) n), '{}'), $6, $7)`,
);

/** A key that is being made, and how many keys of its account there may be beside it. */
interface NewKey {
  readonly serviceAccountId: number;
  readonly networks: readonly string[];
  readonly expiresAt: string | undefined;
  readonly othersMax: number;
}

/**
 * Makes keys at most once for an idempotency key. The response that is stored for it has no secret.
 *
 * @param prepare reads and locks in the database transaction what the key is made of; it may refuse
 */
async function createKey(
  reading: Reading,
  caller: AuditedCall,
  request: { readonly operation: string; readonly content: object },
  options: RequestOptions,
  prepare: (tx: DbTransaction) => Promise<NewKey & { readonly also?: readonly BoundStatement<unknown>[] }>,
): Promise<Created<ServiceAccountKeyWithSecret>> {
  const { workspaceId, actor } = caller;
  const random = randomBytes(32);
  let secret: string | undefined;
  let createdId: number | undefined;
  const create = async (tx: DbTransaction): Promise<Creation<KeyRow, ServiceAccountKey>> => {
    const { serviceAccountId, networks, expiresAt, othersMax, also = [] } = await prepare(tx);
    const [, [next]] = await tx.pipeline([
      bind(LOCK_ACCOUNT_OF_KEY, workspaceId, serviceAccountId),
      bind(NEXT_KEY, workspaceId, serviceAccountId, expiresAt),
    ] as const);
    if (!next) throw new Refusal('service_account_not_found');
    if (!next.isInTime) throw expiryRefusal();
    if (!next.hasRole) throw new Refusal('service_account_without_role');
    if (next.count > othersMax) throw new Refusal('key_limit');
    createdId = Number(next.id);
    secret = keyText(createdId, random);
    const fields = [hash('sha256', secret, 'buffer'), [...networks], expiresAt, actor];
    return {
      writes: [...actingOperator(caller), bind(ADD_KEY, workspaceId, createdId, serviceAccountId, ...fields), ...also],
      audited: { type: 'key', id: createdId },
      resource: keyQuery(workspaceId, serviceAccountId, createdId),
    };
  };
  const created = await createOnce(reading, { workspaceId, ...request }, options, caller, create).catch(refusedByRule);
  const { resource, isReplay } = created;
  // After a lost connection, the key of the request may be that of another one.
  const isOurs = !isReplay && resource.id === createdId && secret !== undefined;
  return isOurs ? { resource: { ...resource, secret: secret! }, isReplay } : created;
}

/** @throws Refusal `network_invalid` */
function checkNetworks(networks: readonly string[]): void {
  if (networks.length > KEY_NETWORKS_MAX) throw networkRefusal('/networks');
  networks.forEach((text, index) => {
    if (parseNetwork(text) === undefined) throw networkRefusal(`/networks/${index}`);
  });
}

function networkRefusal(path: string): Refusal {
  const { message } = new Refusal('network_invalid');
  return new Refusal('network_invalid', message, { details: [{ path, reason: 'network_invalid', message }] });
}

/** @throws Refusal `timestamp_invalid` for a text that is no instant */
export function checkKeyRotation({ expiresAt }: Pick<ServiceAccountKeyRotation, 'expiresAt'>): void {
  if (expiresAt !== undefined && !isInstant(expiresAt)) throw expiryRefusal();
}

function expiryRefusal(): Refusal {
  const message = 'expiresAt must be an instant of the future.';
  return new Refusal('timestamp_invalid', message, {
    details: [{ path: '/expiresAt', reason: 'timestamp_invalid', message }],
  });
}

/** @throws Refusal `network_invalid`, `timestamp_invalid` */
export function checkNewKey({ networks = [], ...times }: CreateServiceAccountKeyInput): void {
  checkNetworks(networks);
  checkKeyRotation(times);
}

/** @throws Refusal as the port's `createServiceAccountKey` states */
export async function createServiceAccountKey(
  reading: Reading,
  caller: AuditedCall,
  { serviceAccountId, networks = [], expiresAt }: CreateServiceAccountKeyInput,
  options: RequestOptions,
): Promise<Created<ServiceAccountKeyWithSecret>> {
  checkNewKey({ serviceAccountId, networks, expiresAt });
  const content = { networks: [...networks], ...(expiresAt !== undefined && { expiresAt }) };
  const request = { operation: `createServiceAccountKey/${serviceAccountId}`, content };
  return createKey(reading, caller, request, options, async () => ({
    ...{ serviceAccountId, networks, expiresAt },
    othersMax: SERVICE_ACCOUNT_KEYS_MAX - 1,
  }));
}

const LOCK_KEY = sqlStatement<{ networks: readonly string[] }>(
  'lock_service_account_key',
  `select k.networks::text[] as networks from service_account_key k
   where k.workspace_id = $1 and k.service_account_id = $2 and k.id = $3 and k.revoked_at is null
     and coalesce(k.expires_at, 'infinity') > statement_timestamp()
   for no key update`,
);

const END_KEY = sqlStatement(
  'end_service_account_key',
  `update service_account_key
   set expires_at = least(coalesce(expires_at, 'infinity'), statement_timestamp() + make_interval(secs => $4))
   where workspace_id = $1 and service_account_id = $2 and id = $3`,
);

/**
 * The former key counts for the limit no more, because it ends.
 *
 * @throws Refusal as the port's `rotateServiceAccountKey` states
 */
export async function rotateServiceAccountKey(
  reading: Reading,
  caller: AuditedCall,
  { serviceAccountId, keyId, overlapSeconds = KEY_OVERLAP_S.default, expiresAt }: ServiceAccountKeyRotation,
  options: RequestOptions,
): Promise<Created<ServiceAccountKeyWithSecret>> {
  checkKeyRotation({ expiresAt });
  const { workspaceId } = caller;
  const content = { overlapSeconds, ...(expiresAt !== undefined && { expiresAt }) };
  const request = { operation: `rotateServiceAccountKey/${serviceAccountId}/${keyId}`, content };
  return createKey(reading, caller, request, options, async (tx) => {
    const [[former]] = await tx.pipeline([bind(LOCK_KEY, workspaceId, serviceAccountId, keyId)] as const);
    if (!former) throw new Refusal('key_not_found');
    return {
      ...{ serviceAccountId, networks: former.networks, expiresAt },
      othersMax: SERVICE_ACCOUNT_KEYS_MAX,
      also: [bind(END_KEY, workspaceId, serviceAccountId, keyId, overlapSeconds)],
    };
  });
}

const REVOKE_KEY = sqlStatement<{ id: bigint }>(
  'revoke_service_account_key',
  `with revoked as (
     update service_account_key set revoked_at = statement_timestamp()
     where workspace_id = $1 and service_account_id = $2 and id = $3 and revoked_at is null
     returning workspace_id, id),
   noted as (insert into audit_outbox (workspace_id, entries) select $1, $4::jsonb from revoked)
   select id from revoked`,
);

/** @throws Refusal `key_not_found` also for a revoked key */
export async function revokeServiceAccountKey(
  database: Database,
  caller: AuditedCall,
  { serviceAccountId, keyId }: ServiceAccountKeyName,
): Promise<void> {
  const { workspaceId, actor } = caller;
  const audited = { operation: 'revokeServiceAccountKey', resource: { type: 'key', id: keyId } };
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const revoke = bind(REVOKE_KEY, workspaceId, serviceAccountId, keyId, entriesOf(caller, audited));
  const rows = await database.write(scope, [...actingOperator(caller), revoke]);
  if (rows.at(-1)!.length === 0) throw new Refusal('key_not_found');
}
