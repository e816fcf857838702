import { createHash, randomBytes } from 'node:crypto';
import {
  type Member,
  type MemberId,
  type MemberName,
  type MemberStatus,
  type Page,
  type PageQuery,
  Refusal,
  ROLE_NAMES,
  type RoleName,
  type UserId,
  type WorkspaceId,
  type AppId,
  foldEmail,
  type InvitationAcceptance,
  type JoinedMember,
  type Scope,
  type Subject,
  type Workspace,
} from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
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
import { callerOf } from '../audit/audited-call.js';

/** The roles of a user, of which there are none after a removal, or those that an invitation promises. */
const rolesOf = (t: string) =>
  `case when ${t}.user_id is null then coalesce(${t}.roles, '{}') else array(
     select r.role from workspace_role r where r.workspace_id = ${t}.workspace_id and r.user_id = ${t}.user_id) end`;

/** No hash of a code is among them. */
const COLUMNS = {
  id: column<bigint | number>('id'),
  email: sqlOf<string>((t) => `coalesce((select u.email from app_user u where u.id = ${t}.user_id), ${t}.email)`),
  roles: sqlOf<readonly RoleName[]>(rolesOf),
  status: sqlOf<MemberStatus>(
    (t) => `(select member_status(m) from member m where m.workspace_id = ${t}.workspace_id and m.id = ${t}.id)`,
  ),
  userId: column<bigint | number | null>('user_id'),
  expiresAt: column<string | null>('expires_at'),
  createdAt: column<string>('created_at'),
  updatedAt: column<string>('updated_at'),
} satisfies Columns;

export type MemberRow = RowOf<typeof COLUMNS>;

/** The columns of a member `t`. */
export const MEMBER_COLUMNS = selected(COLUMNS, 't');

export const composeMember = (row: MemberRow): Member =>
  withoutNulls<Member>({
    id: Number(row.id) as MemberId,
    email: row.email,
    roles: ROLE_NAMES.filter((name) => row.roles.includes(name)),
    status: row.status,
    userID: row.userId === null ? null : (Number(row.userId) as UserId),
    expiresAt: row.expiresAt === null ? null : timestampOf(row.expiresAt),
    createdAt: timestampOf(row.createdAt),
    updatedAt: timestampOf(row.updatedAt),
  });

const GET_MEMBER = sqlStatement<MemberRow>(
  'get_member',
  `select ${MEMBER_COLUMNS} from member t where t.workspace_id = $1 and t.id = $2`,
);

export const memberQuery = (workspaceId: number, memberId: number): ResourceQuery<MemberRow, Member> => ({
  bound: bind(GET_MEMBER, workspaceId, memberId),
  compose: (_, row) => composeMember(row),
});

/** @throws Refusal `member_not_found` also for a member of another workspace */
export async function getMember(reading: Reading, workspaceId: WorkspaceId, { memberId }: MemberName): Promise<Member> {
  const { bound } = memberQuery(workspaceId, memberId);
  return readWithoutReference(reading, workspaceId, bound, composeMember, 'member_not_found');
}

const READ = ['workspace_id', 'id', 'user_id', 'email', 'roles', 'expires_at', 'created_at', 'updated_at'];

/** With `offset 0` the roles of a member are found by their key, and no plan reads those of all members. */
const MEMBERS: PagedList<RowFacts, Member> = {
  name: 'list_members',
  table: 'member',
  indexes: [
    {
      where: `l.id >= 1 and (l.roles is not null or exists (
        select from workspace_role r where r.workspace_id = l.workspace_id and r.user_id = l.user_id offset 0))`,
    },
  ],
  classes: {},
  filters: {},
  page: ({ table, range, after, rest }) =>
    `page as materialized (
      select ${READ.map((name) => `l.${name}`).join(', ')}
      from ${table} l where ${[...range, ...after, ...rest].join(' and ')} order by l.created_at desc, l.id desc limit $2)`,
  items: pageOfColumns(COLUMNS, composeMember),
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listMembers(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<Member>> {
  return listPage(reading, MEMBERS, { workspaceId, limit, cursor, filters: {} });
}

/** Sets the scope of the database transaction to the workspace that is joined. */
const ACCEPT = sqlStatement<{ workspace_id: bigint | null }>(
  'accept_invitation',
  `select (accept_invitation($1, $2, $3, $4, $5, $6)).workspace_id`,
);

/** Of the workspace that was just joined, which alone is in the scope. */
const JOINED = sqlStatement<MemberRow & { workspace: Workspace & { readonly appId: AppId } }>(
  'joined_member',
  `select ${MEMBER_COLUMNS}, json_build_object('id', w.id, 'name', w.name, 'type', w.type, 'createdAt', rfc3339(w.created_at),
     'updatedAt', rfc3339(w.updated_at)) as workspace
   from user_identity i join member t on t.user_id = i.user_id join workspace w on w.id = t.workspace_id
   where i.issuer = $1 and i.subject = $2
     and t.workspace_id = any(nullif(current_setting('app.workspaces', true), '')::bigint[])`,
);

/**
 * Accepts an invitation for the subject of the caller, who becomes a user if need be. A repeated call returns the same.
 *
 * @throws Refusal `invitation_not_found`: also for an expired or used code, for a caller with another verified e-mail, and if the invited
 *   address is that of another user
 */
export async function acceptInvitation(
  database: Database,
  { actor, requestId, origin }: Scope,
  subject: Subject,
  { code }: InvitationAcceptance,
): Promise<JoinedMember> {
  // One that cannot be of a user is another one too.
  const email = subject.email === undefined ? undefined : (foldEmail(subject.email) ?? subject.email);
  const caller = JSON.stringify(callerOf({ workspaceId: 0 as never, actor, requestId, origin }));
  const isVerified = email !== undefined && subject.bindsByEmail !== false;
  const [, [joined]] = await database.write({ user: actor }, [
    bind(ACCEPT, hashOfCode(code), subject.issuer, subject.subject, email, isVerified, caller),
    bind(JOINED, subject.issuer, subject.subject),
  ] as const);
  if (!joined) throw new Refusal('invitation_not_found');
  return { ...composeMember(joined), edges: { workspace: joined.workspace } };
}

const CODE_BYTES = 32;

/** The code of an invitation: `inv_`, and 256 random bits in base64url. */
export const newCode = (): string => `inv_${randomBytes(CODE_BYTES).toString('base64url')}`;

/** What is stored of a code. It is random, so a plain hash does. */
export const hashOfCode = (code: string): Buffer => createHash('sha256').update(code).digest();
