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
} from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { listPage } from '../lists/list-page.js';
import type { PagedList } from '../lists/paged-list.js';
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
export async function getMember(
  { database }: Reading,
  workspaceId: WorkspaceId,
  { memberId }: MemberName,
): Promise<Member> {
  const row = await database.readCoalesced({ workspaces: [workspaceId] }, memberQuery(workspaceId, memberId).bound);
  if (!row) throw new Refusal('member_not_found');
  return composeMember(row);
}

const READ = ['workspace_id', 'id', 'user_id', 'email', 'roles', 'expires_at', 'created_at', 'updated_at'];

const MEMBERS: PagedList<RowFacts, Member> = {
  name: 'list_members',
  table: 'member',
  indexes: [
    {
      where: `l.id >= 1 and (l.roles is not null or exists (
        select from workspace_role r where r.workspace_id = l.workspace_id and r.user_id = l.user_id))`,
    },
  ],
  classes: {},
  filters: {},
  page: ({ table, range, after, rest }) =>
    `page as materialized (
      select ${READ.map((name) => `l.${name}`).join(', ')}
      from ${table} l where ${[...range, ...after, ...rest].join(' and ')} order by l.created_at desc, l.id desc limit $2)`,
  items: pageOfRows({ packed: packed(COLUMNS, 't'), joins: '', rowOf: unpacking(COLUMNS) }, (_, row) =>
    composeMember(row),
  ),
};

/** @throws Refusal `limit_invalid`, `cursor_invalid` */
export function listMembers(
  reading: Reading,
  workspaceId: WorkspaceId,
  { limit, cursor }: PageQuery,
): Promise<Page<Member>> {
  return listPage(reading, MEMBERS, { workspaceId, limit, cursor, filters: {} });
}
