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
  DatabaseError,
  type DbTransaction,
  RULE_VIOLATION,
  sqlStatement,
} from '@banking/postgres';
import type { InDirectory } from '../apps/in-directory.js';
import { takeApproval } from '../approvals/take-approval.js';
import { type AuditedCall, auditEntry, callerOf, noteAudit } from '../audit/audited-call.js';
import { createOnce, endTrial } from '../idempotency/create-once.js';
import { listPage } from '../lists/list-page.js';
import { pageOfAll, type PagedList } from '../lists/paged-list.js';
import { column, type Columns, type RowOf, selected, sqlOf, timestampOf, withoutNulls } from '../resources/columns.js';
import {
  pageOfColumns,
  type Reading,
  readWithoutReference,
  type ResourceQuery,
  type RowFacts,
} from '../resources/reading.js';

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
  items: pageOfColumns(COLUMNS, composeServiceAccount),
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
  reading: Reading,
  workspaceId: WorkspaceId,
  { serviceAccountId }: ServiceAccountName,
): Promise<ServiceAccount> {
  const { bound } = serviceAccountQuery(workspaceId, serviceAccountId);
  return readWithoutReference(reading, workspaceId, bound, composeServiceAccount, 'service_account_not_found');
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

const PUT_SERVICE_USER = sqlStatement<{ id: bigint; isChanged: boolean }>(
  'put_service_user',
  'select service_user as id, is_changed as "isChanged" from put_service_user($1, $2, $3)',
);

const ADD_SERVICE_ACCOUNT = sqlStatement(
  'add_service_account',
  `select add_service_account($1, $2, $3, nullif($4::text[], '{}'))`,
);

const ACT_AS_OPERATOR = sqlStatement('act_as_operator', `select set_config('app.actor_type', 'operator', true)`);

/** Names the operator of a call in the trails that triggers write. Without one, the scope has the user. */
export const actingOperator = ({ origin }: AuditedCall): readonly BoundStatement<unknown>[] =>
  origin?.isOperator ? [bind(ACT_AS_OPERATOR)] : [];

/** What the database refuses: the caller has lost the role since. @throws Refusal `role_insufficient`, and any other error as it is */
export function refusedByRule(error: unknown): never {
  const isRefused = error instanceof DatabaseError && error.code === RULE_VIOLATION.wrongServiceAccount;
  throw isRefused ? new Refusal('role_insufficient') : error;
}

/** Gives the user of a service account its roles in the directory. @param user null for a new one */
function putUser(
  inDirectory: InDirectory,
  tx: DbTransaction,
  caller: AuditedCall,
  user: number | null,
  roles: readonly string[],
): Promise<{ readonly id: bigint; readonly isChanged: boolean }> {
  return inDirectory.change(tx, caller, async (directory) => {
    const put = bind(PUT_SERVICE_USER, caller.workspaceId, user, [...roles]);
    const rows = await directory.pipeline([...actingOperator(caller), put]);
    return rows.at(-1)![0] as { readonly id: bigint; readonly isChanged: boolean };
  });
}

/** As they are read. */
const inOrder = (roles: readonly string[]) => [...new Set(roles)].sort().reverse();

/** Waits until this database has the roles, so that a key can be made and the account is read as it is. */
async function rolesArrived(
  reading: Reading,
  { workspaceId }: AuditedCall,
  { id, roles }: ServiceAccount,
  inDirectory: InDirectory,
): Promise<void> {
  await inDirectory.arrival(async () => {
    const { bound } = serviceAccountQuery(workspaceId, id);
    const row = await reading.database.readCoalesced({ workspaces: [workspaceId] }, bound);
    return row === undefined || String(row.roles) === String(roles);
  });
}

/** The right of the caller in the database of the workspace, before the directory is changed elsewhere. An operator is no user. */
const READ_RIGHT = sqlStatement<{ isAdmin: boolean }>(
  'read_right',
  `select $1::bigint is null or has_role($1, $2, 'admin') as "isAdmin"`,
);

/**
 * If the connection is lost between the commit of the directory elsewhere and the one here, a user without an account is left: it has no key.
 *
 * @throws Refusal `service_account_limit`, `role_insufficient`, and those of `createOnce`
 */
export async function createServiceAccount(
  reading: Reading,
  caller: AuditedCall,
  { name, roles, scopes = [] }: CreateServiceAccountInput,
  options: RequestOptions,
  inDirectory: InDirectory,
): Promise<Created<ServiceAccount>> {
  const { workspaceId, actor } = caller;
  const content = { name, roles: [...roles], scopes: [...scopes] };
  const request = { workspaceId, operation: 'createServiceAccount', content };
  // Of an attempt before.
  let user: number | null = null;
  const created = await createOnce<ServiceAccountRow, ServiceAccount>(reading, request, options, caller, async (tx) => {
    endTrial(reading);
    await tx.pipeline([...actingOperator(caller), bind(LOCK_SERVICE_ACCOUNTS, workspaceId)]);
    const [[counted], [right]] = await tx.pipeline([
      bind(COUNT_SERVICE_ACCOUNTS, workspaceId),
      bind(READ_RIGHT, actor ?? null, workspaceId),
      takeApproval(workspaceId, 'serviceAccounts', null),
    ] as const);
    if (!right!.isAdmin) throw new Refusal('role_insufficient');
    if (counted!.count >= SERVICE_ACCOUNTS_MAX) throw new Refusal('service_account_limit');
    const put = await putUser(inDirectory, tx, caller, user, roles);
    const accountId = Number(put.id);
    if (inDirectory.isCommittedBefore) user = accountId;
    const { bound } = serviceAccountQuery(workspaceId, accountId);
    return {
      writes: [bind(ADD_SERVICE_ACCOUNT, workspaceId, accountId, name, [...scopes])],
      audited: { type: 'serviceAccount', id: accountId },
      resource: { bound, compose: (_, row) => composeServiceAccount({ ...row, roles: inOrder(roles) }) },
    };
  }).catch(refusedByRule);
  if (!created.isReplay) await rolesArrived(reading, caller, created.resource, inDirectory);
  return created;
}

const LOCK_SERVICE_ACCOUNT = sqlStatement<{ isThere: boolean }>(
  'lock_service_account',
  'select lock_service_account($1, $2) as "isThere"',
);

const CHANGE_SERVICE_ACCOUNT = sqlStatement(
  'change_service_account',
  'select change_service_account($1, $2, $3, $4, $5, $6)',
);

/** @throws Refusal `service_account_not_found`, `role_insufficient` */
export async function changeServiceAccount(
  reading: Reading,
  caller: AuditedCall,
  { serviceAccountId, name, roles, scopes }: ServiceAccountChange,
  inDirectory: InDirectory,
): Promise<ServiceAccount> {
  const { workspaceId } = caller;
  // By this attempt, or by one before.
  let areRolesChanged = false;
  const changed = await changing(reading, caller, 'changeServiceAccount', serviceAccountId, async (tx, note) => {
    await tx.pipeline([takeApproval(workspaceId, 'serviceAccounts', Number(serviceAccountId))]);
    if (roles !== undefined) {
      const put = await putUser(inDirectory, tx, caller, Number(serviceAccountId), roles);
      areRolesChanged ||= put.isChanged;
    }
    const fields = [name, scopes && [...scopes], areRolesChanged, roles?.length === 0];
    const rows = await tx.commit([
      bind(CHANGE_SERVICE_ACCOUNT, workspaceId, serviceAccountId, ...fields),
      note,
      serviceAccountQuery(workspaceId, serviceAccountId).bound,
    ]);
    const row = rows.at(-1)![0] as ServiceAccountRow;
    return composeServiceAccount(roles ? { ...row, roles: inOrder(roles) } : row);
  });
  if (roles) await rolesArrived(reading, caller, changed, inDirectory);
  return changed;
}

const DELETE_SERVICE_ACCOUNT = sqlStatement('delete_service_account', 'select delete_service_account($1, $2)');
const DELETE_SERVICE_USER = sqlStatement('delete_service_user', 'select delete_service_user($1, $2)');

/** @throws Refusal `service_account_not_found`, `role_insufficient` */
export async function deleteServiceAccount(
  reading: Reading,
  caller: AuditedCall,
  { serviceAccountId }: ServiceAccountName,
  inDirectory: InDirectory,
): Promise<void> {
  const named = [caller.workspaceId, serviceAccountId];
  await changing(reading, caller, 'deleteServiceAccount', serviceAccountId, async (tx, note) => {
    await tx.pipeline([bind(DELETE_SERVICE_ACCOUNT, ...named)]);
    await inDirectory.change(tx, caller, (directory) =>
      directory.pipeline([...actingOperator(caller), bind(DELETE_SERVICE_USER, ...named)]),
    );
    await tx.commit([note]);
  });
}

/** A change of a service account that is there and locked, with its entry of the audit trail. @throws Refusal `service_account_not_found` */
function changing<T>(
  { database }: Reading,
  caller: AuditedCall,
  operation: string,
  id: number,
  change: (tx: DbTransaction, note: BoundStatement<unknown>) => Promise<T>,
): Promise<T> {
  const { workspaceId, actor } = caller;
  const scope = { workspaces: [workspaceId], ...(actor !== undefined && { user: actor }) };
  const audited = { operation, resource: { type: 'serviceAccount', id } };
  const note = noteAudit([auditEntry(workspaceId, audited, callerOf(caller))]);
  return database
    .transaction(scope, async (tx) => {
      await tx.pipeline(actingOperator(caller));
      const [[account], [right]] = await tx.pipeline([
        bind(LOCK_SERVICE_ACCOUNT, workspaceId, id),
        bind(READ_RIGHT, actor ?? null, workspaceId),
      ] as const);
      if (!right!.isAdmin) throw new Refusal('role_insufficient');
      if (!account!.isThere) throw new Refusal('service_account_not_found');
      return change(tx, note);
    })
    .catch(refusedByRule);
}
