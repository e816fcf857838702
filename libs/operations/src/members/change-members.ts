import {
  type Created,
  foldEmail,
  INVITATION_DAYS,
  type InvitedMember,
  type InviteMemberInput,
  type Member,
  type MemberChange,
  type MemberName,
  type OrderId,
  Refusal,
  type RemovedMember,
  type RequestOptions,
  ROLE_NAMES,
  type RoleName,
  type UserId,
  type ServiceAccountKeyId,
  type WebhookEndpointId,
} from '@banking/domain';
import { bind, type DbTransaction, sqlStatement } from '@banking/postgres';
import type { InDirectory } from '../apps/in-directory.js';
import { takeApproval } from '../approvals/take-approval.js';
import { type AuditedCall, auditEntry, callerOf } from '../audit/audited-call.js';
import { createOnce, endTrial, IN_DOUBT_POLICIES, retryInDoubt } from '../idempotency/create-once.js';
import type { Reading } from '../resources/reading.js';
import { lockRunningOrders, pauseLocked, queueRemovedPlacer } from './pause-orders.js';
import { hashOfCode, newCode, composeMember, MEMBER_COLUMNS, memberQuery, type MemberRow } from './members.js';

/**
 * Every change of the directory takes this lock before it is committed, so behind it the rows are as they stay. At home, the usual scope
 * would refuse a workspace that is in another cell.
 */
const LOCK_DIRECTORY = sqlStatement(
  'lock_directory',
  `select pg_advisory_xact_lock(hashtextextended('banking.directory', 0)),
     set_config('app.workspaces', '{' || $1::bigint || '}', true)`,
);

/** The right of the caller, and up to two users who administer the workspace. A query of its own behind the lock. */
const READ_ADMINISTRATORS = sqlStatement<{ isAdmin: boolean; administrators: readonly bigint[] }>(
  'read_administrators',
  `select has_role($2, $1, 'admin') as "isAdmin", array(
     select a.user_id from active_role a
     where a.workspace_id = $1 and a.role = 'admin' order by a.user_id limit 2) as administrators`,
);

/** The user with the e-mail, or its invitation. The outer `select` lets row-level security find the row by its key. */
const MEMBER_OF_EMAIL = sqlStatement<MemberRow>(
  'member_of_email',
  `select ${MEMBER_COLUMNS} from member t
   where t.workspace_id = $1 and t.id = (select coalesce(
     (select m.id from member m where m.workspace_id = $1 and m.user_id = (select u.id from app_user u where u.email = $2)),
     (select m.id from member m where m.workspace_id = $1 and m.email = $2)))`,
);

const MAY_INVITE = sqlStatement<{ isAllowed: boolean }>('may_invite', 'select may_invite($1, $2) as "isAllowed"');
const INVITE = sqlStatement<{ id: bigint }>(
  'invite_member',
  `select invite_member($1, $2, $3, $4, clock_timestamp() + make_interval(days => $5), $6) as id`,
);
const CHANGE = sqlStatement('change_member', 'select change_member($1, $2, $3, $4)');

/** A row that was read in another database transaction. In another cell, its copy comes later. */
const READ_ROW = sqlStatement<{ row: MemberRow }>('read_member_row', 'select $1::jsonb as row');

/**
 * Begins a change behind the lock of the directory.
 *
 * @returns the ids of up to two users who administer the workspace
 * @throws Refusal `role_insufficient` if the caller is no administrator any more
 */
async function begin(directory: DbTransaction, { workspaceId, actor }: AuditedCall): Promise<readonly number[]> {
  const [, [rights]] = await directory.pipeline([
    bind(LOCK_DIRECTORY, workspaceId),
    bind(READ_ADMINISTRATORS, workspaceId, actor),
  ] as const);
  if (!rights?.isAdmin) throw new Refusal('role_insufficient');
  return rights.administrators.map(Number);
}

const callerJson = (caller: AuditedCall) => JSON.stringify(callerOf(caller));

const inOrder = (roles: readonly RoleName[]) => ROLE_NAMES.filter((name) => roles.includes(name));

/** @throws Refusal `body_malformed` for an address that cannot be of a user */
export function invitedEmail({ email }: Pick<InviteMemberInput, 'email'>): string {
  const folded = foldEmail(email);
  if (folded === undefined) throw new Refusal('body_malformed');
  return folded;
}

/**
 * Gives a user roles, or invites an address. The response that is stored for the key has no code.
 *
 * @throws Refusal `body_malformed`, `member_exists`, `invitation_limit`, `role_insufficient`, and those of `createOnce`
 */
export async function inviteMember(
  reading: Reading,
  caller: AuditedCall,
  input: InviteMemberInput,
  options: RequestOptions,
  inDirectory: InDirectory,
): Promise<Created<InvitedMember>> {
  const email = invitedEmail(input);
  const roles = inOrder(input.roles);
  const { workspaceId } = caller;
  const code = newCode();
  let invitedId: number | undefined;
  const created = await createOnce<{ row: MemberRow }, Member>(
    reading,
    { workspaceId, operation: 'inviteMember', content: { email, roles } },
    options,
    caller,
    async (tx) => {
      endTrial(reading);
      await tx.pipeline([takeApproval(workspaceId, 'members', null)]);
      const row = await inDirectory.change(tx, caller, async (directory) => {
        await begin(directory, caller);
        const [[known], [right]] = await directory.pipeline([
          bind(MEMBER_OF_EMAIL, workspaceId, email),
          bind(MAY_INVITE, workspaceId, email),
        ] as const);
        if (known && known.userId !== null && known.status !== 'removed') throw new Refusal('member_exists');
        if (!right!.isAllowed) throw new Refusal('invitation_limit');
        const [[invited]] = await directory.pipeline([
          bind(INVITE, workspaceId, email, roles, hashOfCode(code), INVITATION_DAYS, callerJson(caller)),
        ] as const);
        const [[member]] = await directory.pipeline([memberQuery(workspaceId, Number(invited!.id)).bound] as const);
        return member!;
      });
      if (row.userId === null) invitedId = Number(row.id);
      return {
        writes: [],
        resource: {
          bound: bind(READ_ROW, JSON.stringify(packedRow(row))),
          compose: (_, read) => composeMember(read.row),
        },
      };
    },
  );
  const { isReplay } = created;
  const resource = await arrived(reading, caller, created.resource, inDirectory);
  // After a lost connection, the invitation of the key may be that of another request.
  const isOurs = !isReplay && resource.id === invitedId;
  return isOurs ? { resource: { ...resource, code }, isReplay } : created;
}

/** As JSON, which has no big integers. */
const packedRow = (row: MemberRow) => ({
  ...row,
  id: Number(row.id),
  userId: row.userId === null ? null : Number(row.userId),
});

/** Waits until this database has a member as the directory has it. */
async function arrived<M extends Member>(
  { database }: Reading,
  { workspaceId }: AuditedCall,
  member: M,
  inDirectory: InDirectory,
): Promise<M> {
  await inDirectory.arrival(async () => {
    const row = await database.readCoalesced({ workspaces: [workspaceId] }, memberQuery(workspaceId, member.id).bound);
    return row !== undefined && composeMember(row).updatedAt >= member.updatedAt;
  });
  return member;
}

/** Reads the member behind the lock, and refuses to leave the workspace without an administrator. */
async function beginChange(
  directory: DbTransaction,
  caller: AuditedCall,
  { memberId }: MemberName,
  roles: readonly RoleName[],
): Promise<MemberRow> {
  const administrators = await begin(directory, caller);
  const [[member]] = await directory.pipeline([memberQuery(caller.workspaceId, memberId).bound] as const);
  if (!member) throw new Refusal('member_not_found');
  const isLast = administrators.length === 1 && administrators[0] === Number(member.userId);
  if (isLast && !roles.includes('admin')) throw new Refusal('last_admin');
  return member;
}

/** Replaces the roles, and returns the member as it is then. */
async function put(
  directory: DbTransaction,
  caller: AuditedCall,
  memberId: number,
  roles: readonly RoleName[],
): Promise<MemberRow> {
  const { workspaceId } = caller;
  const [, [member]] = await directory.pipeline([
    bind(CHANGE, workspaceId, memberId, roles, callerJson(caller)),
    memberQuery(workspaceId, memberId).bound,
  ] as const);
  return member!;
}

/** Stops what a user has made, with an entry of the audit trail for each. @param change an UPDATE of rows with an id */
const stopping = (name: string, change: string) =>
  sqlStatement(
    name,
    `with stopped as (${change} returning id)
     insert into audit_outbox (workspace_id, entries)
     select $1, jsonb_agg($3::jsonb || jsonb_build_object('resourceId', id) order by id) from stopped having count(*) > 0`,
  );

/** A key is not paused: the member may know its text. One that has expired stays as it is, and nothing bounds the number of those. */
const REVOKE_KEYS_OF_USER = stopping(
  'revoke_keys_of_user',
  `update service_account_key set revoked_at = statement_timestamp(), revoked_reason = 'creator_without_role'
   where workspace_id = $1 and created_by = $2 and revoked_at is null and coalesce(expires_at, 'infinity') > statement_timestamp()`,
);

/** Begins the entry of what a change of a member brings about. */
const entryOf = (caller: AuditedCall, operation: string, type: string) =>
  auditEntry(caller.workspaceId, { operation, resource: { type, id: 0 } }, callerOf(caller)).json;

const revokeKeys = (caller: AuditedCall, userId: MemberRow['userId']) =>
  bind(REVOKE_KEYS_OF_USER, caller.workspaceId, userId, entryOf(caller, 'revokeServiceAccountKey', 'key'));

/**
 * Replaces the roles of a member. Without `admin`, revokes the keys that the member has created. Retried once if the connection is lost
 * around the commit; the member is not changed if the roles are those already.
 *
 * @throws Refusal `member_not_found`, `member_removed`, `last_admin`, `role_insufficient`, and `outcome_unknown` if the retry fails as well
 */
export async function changeMember(
  reading: Reading,
  caller: AuditedCall,
  { memberId, roles }: MemberChange,
  inDirectory: InDirectory,
): Promise<Member> {
  const scope = { workspaces: [caller.workspaceId], user: caller.actor };
  const attempt = () =>
    reading.database.transaction(scope, async (tx) => {
      await tx.pipeline([takeApproval(caller.workspaceId, 'members', memberId)]);
      const row = await inDirectory.change(tx, caller, async (directory) => {
        const member = await beginChange(directory, caller, { memberId }, roles);
        if (member.status === 'removed') throw new Refusal('member_removed');
        const isUnchanged = String(inOrder(member.roles)) === String(inOrder(roles));
        return isUnchanged ? member : put(directory, caller, Number(memberId), inOrder(roles));
      });
      // Also if the roles are unchanged: at home, they may have been changed by an attempt that was lost here.
      await tx.commit(row.roles.includes('admin') ? [] : [revokeKeys(caller, row.userId)]);
      return composeMember(row);
    });
  return arrived(reading, caller, await retryInDoubt(attempt, IN_DOUBT_POLICIES.change), inDirectory);
}

const USER_OF_MEMBER = sqlStatement<{ id: bigint | null }>(
  'user_of_member',
  'select user_id as id from member where workspace_id = $1 and id = $2',
);

const DISABLE_ENDPOINTS_OF_USER = stopping(
  'disable_webhook_endpoints_of_user',
  `update webhook_endpoint set status = 'disabled', disabled_reason = 'owner_without_role', failing_since = null
   where workspace_id = $1 and created_by = $2 and deleted_at is null and status <> 'disabled'`,
);

const STOPPED_OF_USER = sqlStatement<{
  orders: readonly bigint[];
  endpoints: readonly bigint[];
  keys: readonly bigint[];
}>(
  'stopped_of_user',
  `select array(
       select o.id from customer_order o
       where o.workspace_id = $1 and o.placed_by = $2 and o.status = 'active' and o.pause_reason = 'placer_without_role' order by o.id)
       as orders,
     array(
       select e.id from webhook_endpoint e
       where e.workspace_id = $1 and e.created_by = $2 and e.disabled_reason = 'owner_without_role' and e.deleted_at is null order by e.id)
       as endpoints,
     array(
       select k.id from service_account_key k
       where k.workspace_id = $1 and k.created_by = $2 and k.revoked_reason = 'creator_without_role' order by k.id) as keys`,
);

/**
 * Removes all roles of a member, or an invitation, and stops what the member has made; a worker pauses the later orders beyond the first
 * `PAUSED_MAX`, which would hold the lock of the directory for long. Retried once if the connection is lost around the
 * commit: a removed member is returned as it is.
 *
 * @throws Refusal `member_not_found`, `last_admin`, `role_insufficient`, and `outcome_unknown` if the retry fails as well
 */
export async function removeMember(
  reading: Reading,
  caller: AuditedCall,
  { memberId }: MemberName,
  inDirectory: InDirectory,
): Promise<RemovedMember> {
  const { workspaceId } = caller;
  const scope = { workspaces: [workspaceId], user: caller.actor };
  const attempt = () =>
    reading.database.transaction(scope, async (tx) => {
      const [[user]] = await tx.pipeline([bind(USER_OF_MEMBER, workspaceId, memberId)] as const);
      const [orders] = user?.id == null ? [[]] : await tx.pipeline([lockRunningOrders(workspaceId, user.id)] as const);
      const row = await inDirectory.change(tx, caller, async (directory) => {
        const member = await beginChange(directory, caller, { memberId }, []);
        return member.status === 'removed' ? member : put(directory, caller, Number(memberId), []);
      });
      const userId = row.userId === null ? null : (Number(row.userId) as UserId);
      await tx.pipeline([
        ...pauseLocked(workspaceId, orders, callerOf(caller)),
        queueRemovedPlacer(workspaceId, userId),
      ]);
      const [, , [stopped]] = await tx.commit([
        bind(
          DISABLE_ENDPOINTS_OF_USER,
          workspaceId,
          userId,
          entryOf(caller, 'disableWebhookEndpoint', 'webhookEndpoint'),
        ),
        revokeKeys(caller, userId),
        bind(STOPPED_OF_USER, workspaceId, userId),
      ] as const);
      return {
        ...composeMember(row),
        pausedOrderIDs: stopped!.orders.map((id) => Number(id) as OrderId),
        disabledWebhookEndpointIDs: stopped!.endpoints.map((id) => Number(id) as WebhookEndpointId),
        revokedKeyIDs: stopped!.keys.map((id) => Number(id) as ServiceAccountKeyId),
      };
    });
  return arrived(reading, caller, await retryInDoubt(attempt, IN_DOUBT_POLICIES.change), inDirectory);
}
