import {
  type CreateServiceAccountInput,
  type Created,
  type Page,
  type PageQuery,
  Refusal,
  type RequestOptions,
  SERVICE_ACCOUNTS_MAX,
  type ServiceAccount,
  type ServiceAccountChange,
  type ServiceAccountId,
  type ServiceAccountName,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import {
  bind,
  type BoundStatement,
  type Database,
  DatabaseError,
  type DbTransaction,
  RULE_VIOLATION,
  sqlStatement,
} from '@banking/postgres';
import { type AuditedCall, auditEntry, callerOf, noteAudit } from '../audit/audited-call.js';
import { createOnce } from '../idempotency/create-once.js';
import { listPage } from '../lists/list-page.js';
import { pageOfAll, type PagedList } from '../lists/paged-list.js';
import {
  column,
  type Columns,
  packed,
  type RowOf,
  selected,
  sqlOf,
  timestampOf,
  unpacking,
  withoutNulls,
} from '../resources/columns.js';
import { pageOfRows, type Reading, type ResourceQuery, type RowFacts } from '../resources/reading.js';

const COLUMNS = {
  id: column<bigint | number>('id'),
  name: column<string>('name'),
  roles: sqlOf<readonly string[]>(
    (t) => `(select coalesce(json_agg(r.role order by r.role desc), '[]') from workspace_role r
             where r.workspace_id = ${t}.workspace_id and r.user_id = ${t}.id)`,
  ),
  scopes: column<ServiceAccount['scopes'] | null>('scopes'),
  createdBy: sqlOf<number | null>((t) => `${t}.created_by::float8`),
  createdAt: column<string>('created_at'),
  updatedAt: column<string>('updated_at'),
} satisfies Columns;

type ServiceAccountRow = RowOf<typeof COLUMNS>;

const composeServiceAccount = (row: ServiceAccountRow): ServiceAccount =>
  withoutNulls<ServiceAccount>({
    id: Number(row.id) as ServiceAccountId,
    name: row.name,
    roles: row.roles,
    scopes: row.scopes ?? null,
    createdBy: row.createdBy === null ? null : (row.createdBy as UserId),
    createdAt: timestampOf(row.createdAt),
    updatedAt: timestampOf(row.updatedAt),
  });

const GET_SERVICE_ACCOUNT = sqlStatement<ServiceAccountRow>(
  'get_service_account',
  `select ${selected(COLUMNS, 't')} from service_account t where t.workspace_id = $1 and t.id = $2 and t.deleted_at is null`,
);

const serviceAccountQuery = (
  workspaceId: number,
  accountId: number,
): ResourceQuery<ServiceAccountRow, ServiceAccount> => ({
  bound: bind(GET_SERVICE_ACCOUNT, workspaceId, accountId),
  compose: (_, row) => composeServiceAccount(row),
});

const SERVICE_ACCOUNTS: PagedList<RowFacts, ServiceAccount> = {
  name: 'list_service_accounts',
  table: 'service_account',
  indexes: [{ where: 'l.deleted_at is null' }],
  classes: {},
  filters: {},
  page: pageOfAll,
  items: pageOfRows({ packed: packed(COLUMNS, 't'), joins: '', rowOf: unpacking(COLUMNS) }, (_, row) =>
    composeServiceAccount(row),
  ),
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listServiceAccounts(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<ServiceAccount>> {
  return listPage(reading, SERVICE_ACCOUNTS, { workspaceId, limit, cursor, filters: {} });
}

/** @throws Refusal `service_account_not_found` also for a deleted one, and for one of another workspace */
export async function getServiceAccount(
  { database }: Reading,
  workspaceId: WorkspaceId,
  { serviceAccountId }: ServiceAccountName,
): Promise<ServiceAccount> {
  const { bound } = serviceAccountQuery(workspaceId, serviceAccountId);
  const row = await database.readCoalesced({ workspaces: [workspaceId] }, bound);
  if (!row) throw new Refusal('service_account_not_found');
  return composeServiceAccount(row);
}

/** Held to the end of the database transaction, so that service accounts of a workspace are counted and added one at a time. */
const LOCK_SERVICE_ACCOUNTS = sqlStatement(
  'lock_service_accounts',
  `select pg_advisory_xact_lock(hashtextextended(jsonb_build_array('service accounts', $1::bigint)::text, 0))`,
);

/** A query of its own under the lock, so that it reads what the earlier holder committed. */
const COUNT_SERVICE_ACCOUNTS = sqlStatement<{ count: number }>(
  'count_service_accounts',
  'select count(*)::int as count from service_account s where s.workspace_id = $1 and s.deleted_at is null',
);

const ADD_SERVICE_ACCOUNT = sqlStatement<{ id: bigint }>(
  'add_service_account',
  `select add_service_account($1, $2, $3, nullif($4::text[], '{}')) as id`,
);

const ACT_AS_OPERATOR = sqlStatement('act_as_operator', `select set_config('app.actor_type', 'operator', true)`);

/** Names the operator of a call in the trails that triggers write. Without one, the scope has the user. */
export const actingOperator = ({ origin }: AuditedCall): readonly BoundStatement<unknown>[] =>
  origin?.isOperator ? [bind(ACT_AS_OPERATOR)] : [];

/** What the database refuses at the commit: the caller has lost the role since, or this is not the home database. */
const REFUSED: Readonly<Record<string, () => Refusal>> = {
  [RULE_VIOLATION.wrongServiceAccount]: () => new Refusal('role_insufficient'),
  [RULE_VIOLATION.directoryCopy]: () => new Refusal('service_accounts_unavailable'),
};

/** @throws Refusal of the rule that the database enforces, and any other error as it is */
export function refusedByRule(error: unknown): never {
  const refused = error instanceof DatabaseError ? REFUSED[error.code ?? ''] : undefined;
  throw refused === undefined ? error : refused();
}

/** @throws Refusal `service_account_limit`, `service_accounts_unavailable`, `role_insufficient`, and those of `createOnce` */
export function createServiceAccount(
  reading: Reading,
  caller: AuditedCall,
  { name, roles, scopes = [] }: CreateServiceAccountInput,
  options: RequestOptions,
): Promise<Created<ServiceAccount>> {
  const { workspaceId } = caller;
  const content = { name, roles: [...roles], scopes: [...scopes] };
  const request = { workspaceId, operation: 'createServiceAccount', content };
  return createOnce<ServiceAccountRow, ServiceAccount>(reading, request, options, caller, async (tx) => {
    const [, [counted]] = await tx.pipeline([
      bind(LOCK_SERVICE_ACCOUNTS, workspaceId),
      bind(COUNT_SERVICE_ACCOUNTS, workspaceId),
    ] as const);
    if (counted!.count >= SERVICE_ACCOUNTS_MAX) throw new Refusal('service_account_limit');
    const statements = [
      ...actingOperator(caller),
      bind(ADD_SERVICE_ACCOUNT, workspaceId, name, [...roles], [...scopes]),
    ];
    const rows = await tx.pipeline(statements).catch(refusedByRule);
    const accountId = Number((rows.at(-1)![0] as { readonly id: bigint }).id);
    return {
      writes: [],
      audited: { type: 'serviceAccount', id: accountId },
      resource: serviceAccountQuery(workspaceId, accountId),
    };
  });
}

const CHANGE_SERVICE_ACCOUNT = sqlStatement<{ found: boolean }>(
  'change_service_account',
  'select change_service_account($1, $2, $3, $4, $5) as found',
);

/** @throws Refusal `service_account_not_found`, `service_accounts_unavailable`, `role_insufficient` */
export async function changeServiceAccount(
  { database }: Reading,
  caller: AuditedCall,
  { serviceAccountId, name, roles, scopes }: ServiceAccountChange,
): Promise<ServiceAccount> {
  const { workspaceId } = caller;
  const fields = [name, roles && [...roles], scopes && [...scopes]];
  return changing(database, caller, 'changeServiceAccount', serviceAccountId, async (tx, note) => {
    await found(tx, caller, bind(CHANGE_SERVICE_ACCOUNT, workspaceId, serviceAccountId, ...fields));
    const [, [row]] = await tx.commit([note, serviceAccountQuery(workspaceId, serviceAccountId).bound] as const);
    return composeServiceAccount(row!);
  });
}

const DELETE_SERVICE_ACCOUNT = sqlStatement<{ found: boolean }>(
  'delete_service_account',
  'select delete_service_account($1, $2) as found',
);

/** @throws Refusal `service_account_not_found`, `service_accounts_unavailable`, `role_insufficient` */
export async function deleteServiceAccount(
  database: Database,
  caller: AuditedCall,
  { serviceAccountId }: ServiceAccountName,
): Promise<void> {
  await changing(database, caller, 'deleteServiceAccount', serviceAccountId, async (tx, note) => {
    await found(tx, caller, bind(DELETE_SERVICE_ACCOUNT, caller.workspaceId, serviceAccountId));
    await tx.commit([note]);
  });
}

/** @throws Refusal `service_account_not_found` */
async function found(
  tx: DbTransaction,
  caller: AuditedCall,
  change: BoundStatement<{ found: boolean }>,
): Promise<void> {
  const rows = await tx.pipeline([...actingOperator(caller), change]);
  if (!(rows.at(-1)![0] as { readonly found: boolean }).found) throw new Refusal('service_account_not_found');
}

/** A change in a database transaction, with its entry of the audit trail. */
function changing<T>(
  database: Database,
  caller: AuditedCall,
  operation: string,
  id: number,
  change: (tx: DbTransaction, note: BoundStatement<unknown>) => Promise<T>,
): Promise<T> {
  const { workspaceId, actor } = caller;
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const audited = { operation, resource: { type: 'serviceAccount', id } };
  const note = noteAudit([auditEntry(workspaceId, audited, callerOf(caller))]);
  return database.transaction(scope, (tx) => change(tx, note)).catch(refusedByRule);
}
