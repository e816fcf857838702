import { foldEmail, ROLE_NAMES, type RoleName, type UserStatus } from '@banking/domain';
import { bind, type Database, scopesOf, sqlStatement } from '@banking/postgres';
import { actAs, type Actor, emailOf, provisioned, ProvisioningError } from './workspaces.js';

export interface NewUser {
  readonly email: string;
  /** The app of the user, by name. An existing user joins this app too. */
  readonly app: string;
  readonly status?: string | undefined;
  readonly userType?: 'personal' | 'business' | undefined;
  /** The subject of a user without a verified e-mail, such as a service account. */
  readonly identity?: Identity | undefined;
}

/** A user as the identity provider names it. */
interface Identity {
  readonly issuer: string;
  readonly subject: string;
}

export interface UserRow {
  readonly id: number;
  readonly email: string;
  readonly status: string;
  readonly userType: string;
  readonly apps: readonly string[];
  readonly identities: readonly Identity[];
  readonly createdAt: string;
}

const ADD_USER = sqlStatement<{ id: bigint }>(
  'add_user',
  `insert into app_user (email, status, user_type) values ($1, $2, $3)
   on conflict (email) do update set updated_at = app_user.updated_at
   returning id`,
);

const JOIN_APP = sqlStatement<{ user_id: bigint }>(
  'join_app',
  `insert into app_membership (app_id, user_id)
   select a.id, u.id from app a, app_user u where a.name = $1 and u.email = $2 and u.is_email_verified
   returning user_id`,
);

const NAME_SUBJECT = sqlStatement<{ user_id: bigint }>(
  'name_subject',
  `insert into user_identity (issuer, subject, user_id)
   select $1, $2, id from app_user where email = $3 and is_email_verified returning user_id`,
);

/** A user who accepted an invitation by its code alone. */
const UNVERIFIED_USER = sqlStatement<{ id: bigint }>(
  'unverified_user',
  'select id from app_user where email = $1 and not is_email_verified',
);

/** An operator who names a person by an address must not meet someone who was only invited at it. */
function requireVerified(email: string, unverified: readonly unknown[]): void {
  if (unverified.length === 0) return;
  throw new ProvisioningError(
    `The address of the user ${email} was never verified: the user has accepted an invitation by its code. ` +
      'Ask the person for the subject that banking user list --json shows. ' +
      `If it is theirs, run banking user rename ${email} ${email}. Else run banking user remove ${email}.`,
  );
}

const REMOVE_USER = sqlStatement<{ id: bigint }>('remove_user', 'delete from app_user where email = $1 returning id');

/** Changes nothing if the user does not have status `$2`. */
const CHANGE_STATUS = sqlStatement<{ id: bigint }>(
  'change_user_status',
  'update app_user set status = $3, updated_at = now() where email = $1 and status = $2 returning id',
);

const STATUS_OF_USER = sqlStatement<{ status: string }>(
  'status_of_user',
  'select status from app_user where email = $1',
);

const RENAME_USER = sqlStatement<{ id: bigint }>(
  'rename_user',
  'update app_user set email = $2, is_email_verified = true, updated_at = now() where email = $1 returning id',
);

const USERS = `select json_build_object('id', u.id, 'email', u.email, 'status', u.status, 'userType', u.user_type,
            'apps', coalesce((select json_agg(a.name order by a.id) from app_membership m join app a on a.id = m.app_id where m.user_id = u.id), '[]'),
            'identities', coalesce((select json_agg(json_build_object('issuer', i.issuer, 'subject', i.subject)) from user_identity i where i.user_id = u.id), '[]'),
            'createdAt', rfc3339(u.created_at)) as "user"
   from app_user u where u.kind = 'person'`;

const USERS_AFTER = sqlStatement<{ user: UserRow }>('users_after', `${USERS} and u.id > $1 order by u.id limit $2`);

const USER_OF_EMAIL = sqlStatement<{ user: UserRow }>('user_of_email', `${USERS} and u.email = $1`);

/** @throws ProvisioningError if the e-mail is invalid or not verified, the app is unknown, or the user or the subject exists */
export async function addUser(database: Database, actor: Actor, user: NewUser): Promise<number> {
  const { app, status = 'completed', userType = 'business', identity } = user;
  const email = emailOf(user.email);
  return provisioned(
    database.transaction({}, async (tx) => {
      const [, [added], joined, unverified] = await tx.pipeline([
        actAs(actor),
        bind(ADD_USER, email, status, userType),
        bind(JOIN_APP, app, email),
        bind(UNVERIFIED_USER, email),
      ] as const);
      requireVerified(email, unverified);
      if (joined.length === 0) throw new ProvisioningError(`There is no app named ${app}. See banking app list.`);
      await tx.commit(identity ? [bind(NAME_SUBJECT, identity.issuer, identity.subject, email)] : []);
      return Number(added!.id);
    }),
    { taken: `${email} is a user of ${app} already, or that subject is bound to a user. See banking user list.` },
  );
}

/**
 * Binds a subject to an existing user.
 *
 * @throws ProvisioningError if the user does not exist, is not verified or has a subject of this issuer, or if the subject is bound to
 *   another user
 */
export async function bindUser(
  database: Database,
  actor: Actor,
  wanted: string,
  { issuer, subject }: Identity,
): Promise<void> {
  const email = emailOf(wanted);
  const binding = database.write({}, [
    actAs(actor),
    bind(NAME_SUBJECT, issuer, subject, email),
    bind(UNVERIFIED_USER, email),
  ] as const);
  const taken = `${email} has a subject of this issuer already, or that subject is bound to another user. See banking user list --json.`;
  const [, bound, unverified] = await provisioned(binding, { taken });
  requireVerified(email, unverified);
  if (bound.length === 0) throw new ProvisioningError(`There is no user ${email}. See banking user list.`);
}

/** Few enough for the time of a statement. */
const PAGE = 1_000;

export async function allUsers(database: Database): Promise<readonly UserRow[]> {
  const users: UserRow[] = [];
  for (;;) {
    const [rows] = await database.pipeline({}, [bind(USERS_AFTER, users.at(-1)?.id ?? 0, PAGE)] as const);
    for (const { user } of rows) users.push(user);
    if (rows.length < PAGE) return users;
  }
}

/** The user with the address, in any case of its letters. */
export async function findUser(database: Database, email: string): Promise<UserRow | undefined> {
  const row = await database.read({}, bind(USER_OF_EMAIL, foldEmail(email) ?? null));
  return row?.user;
}

/** Removes the user with memberships, subjects and roles. Bookings stay. */
export async function removeUser(database: Database, actor: Actor, email: string): Promise<void> {
  const [, removed] = await database.write({}, [actAs(actor), bind(REMOVE_USER, emailOf(email))] as const);
  if (removed.length === 0) throw new ProvisioningError(`There is no user ${email}. See banking user list.`);
}

/** The status before and after each change, and its participle in a message. */
const STATUS_CHANGES = {
  complete: { from: 'pending', to: 'completed', done: 'completed' },
  suspend: { from: 'completed', to: 'suspended', done: 'suspended' },
  resume: { from: 'suspended', to: 'completed', done: 'resumed' },
} as const satisfies Record<string, { readonly from: UserStatus; readonly to: UserStatus; readonly done: string }>;

const ADVICE: Readonly<Record<string, string>> = {
  pending: 'To give the user the granted roles, run banking user complete.',
  completed: 'To take the roles away, run banking user suspend.',
  suspended: 'To give the roles back, run banking user resume.',
};

async function changeStatus(
  database: Database,
  actor: Actor,
  wanted: string,
  change: keyof typeof STATUS_CHANGES,
): Promise<void> {
  const { from, to, done } = STATUS_CHANGES[change];
  const email = emailOf(wanted);
  const [, changed, [user]] = await database.write({}, [
    actAs(actor),
    bind(CHANGE_STATUS, email, from, to),
    bind(STATUS_OF_USER, email),
  ] as const);
  if (changed.length > 0) return;
  if (!user) throw new ProvisioningError(`There is no user ${email}. See banking user list.`);
  const advice = ADVICE[user.status] ?? 'Remove the user and add the user again.';
  throw new ProvisioningError(`${email} is ${user.status}, and only a user who is ${from} can be ${done}. ${advice}`);
}

/** Ends the sign-up of a pending user. From then on, the grants count. @throws ProvisioningError */
export const completeUser = (database: Database, actor: Actor, email: string): Promise<void> =>
  changeStatus(database, actor, email, 'complete');

/** Disables the grants of a user and keeps them. The user can still sign in. @throws ProvisioningError */
export const suspendUser = (database: Database, actor: Actor, email: string): Promise<void> =>
  changeStatus(database, actor, email, 'suspend');

/** Enables the grants of a suspended user. @throws ProvisioningError */
export const resumeUser = (database: Database, actor: Actor, email: string): Promise<void> =>
  changeStatus(database, actor, email, 'resume');

/**
 * Gives a user another e-mail, or vouches for the same. Bound subjects stay bound.
 *
 * @throws ProvisioningError if the user does not exist, or another user has the new e-mail
 */
export async function renameUser(database: Database, actor: Actor, email: string, to: string): Promise<void> {
  const [before, after] = [emailOf(email), emailOf(to)];
  const renaming = database.write({}, [actAs(actor), bind(RENAME_USER, before, after)] as const);
  const [, renamed] = await provisioned(renaming, { taken: `${after} is a user already. See banking user list.` });
  if (renamed.length === 0) throw new ProvisioningError(`There is no user ${before}. See banking user list.`);
}

export interface GrantRow {
  readonly id: number;
  readonly email: string;
  readonly role: RoleName;
  readonly workspaceId: number;
  readonly workspace: string;
  readonly createdAt: string;
}

/** Roles that the user has already stay as they are. */
const ADD_GRANTS = sqlStatement(
  'add_grants',
  `insert into workspace_role (workspace_id, user_id, role)
   select w.id, u.id, wanted.role
   from workspace w
   join app_membership m on m.app_id = w.app_id
   join app_user u on u.id = m.user_id
   cross join unnest($3::text[]) with ordinality wanted (role, n)
   where w.id = $1 and u.email = $2 and u.is_email_verified
   order by wanted.n
   on conflict (workspace_id, user_id, role) do nothing`,
);

const REMOVE_GRANTS = sqlStatement<{ role: RoleName }>(
  'remove_grants',
  `delete from workspace_role r using app_user u
   where r.workspace_id = $1 and u.id = r.user_id and u.email = $2 and r.role = any($3::text[]) returning r.role`,
);

const GRANTS = `
  select json_build_object('id', r.id, 'email', u.email, 'role', r.role, 'workspaceId', w.id, 'workspace', w.name,
           'createdAt', rfc3339(r.created_at)) as grant, r.user_id
  from workspace_role r join app_user u on u.id = r.user_id and u.kind = 'person' join workspace w on w.id = r.workspace_id`;

/** By the key, which begins with the workspace and the user. */
const GRANTS_AFTER = sqlStatement<{ grant: GrantRow; user_id: bigint }>(
  'grants_after',
  `${GRANTS} where r.workspace_id = any($1::bigint[]) and (r.workspace_id, r.user_id, r.id) > ($2::bigint, $3::bigint, $4::bigint)
   order by r.workspace_id, r.user_id, r.id limit $5`,
);

const GRANTS_OF_USER = sqlStatement<{ grant: GrantRow }>(
  'grants_of_user_in_workspace',
  `${GRANTS} where w.id = $1 and u.email = $2 order by r.id`,
);

/** The roles of a user in a workspace, to add or to remove. */
interface Grants {
  readonly workspaceId: number;
  readonly email: string;
  readonly roles: readonly RoleName[];
}

/**
 * Adds roles to those that the user has in the workspace.
 *
 * @returns all roles of the user in the workspace
 * @throws ProvisioningError if the workspace does not exist, or the user is not verified or does not belong to its app
 */
export async function addGrants(
  database: Database,
  actor: Actor,
  { workspaceId, email, roles }: Grants,
): Promise<readonly GrantRow[]> {
  const scope = { workspaces: [workspaceId] };
  const wanted = emailOf(email);
  const [, , rows, unverified] = await database.write(scope, [
    actAs(actor),
    bind(ADD_GRANTS, workspaceId, wanted, roles),
    bind(GRANTS_OF_USER, workspaceId, wanted),
    bind(UNVERIFIED_USER, wanted),
  ] as const);
  requireVerified(wanted, unverified);
  if (rows.length === 0) {
    throw new ProvisioningError(
      `There is no workspace ${workspaceId}, or ${email} is not a user of its app. See banking workspace list and banking user list.`,
    );
  }
  return rows.map(({ grant }) => grant);
}

/** The roles of users in workspaces, in the order of the workspaces. */
export async function grantsOf(database: Database, workspaces: readonly number[]): Promise<readonly GrantRow[]> {
  const grants: GrantRow[] = [];
  for (const ids of scopesOf(workspaces.toSorted((left, right) => left - right))) {
    let position: readonly (number | bigint)[] = [0, 0, 0];
    for (let isCut = true; isCut;) {
      const [rows] = await database.pipeline({ workspaces: ids }, [
        bind(GRANTS_AFTER, ids, ...position, PAGE),
      ] as const);
      for (const { grant, user_id } of rows) {
        grants.push(grant);
        position = [grant.workspaceId, user_id, grant.id];
      }
      isCut = rows.length === PAGE;
    }
  }
  return grants;
}

/** Removes roles of a user in a workspace: without `roles`, all. @returns the removed ones @throws ProvisioningError if there are none */
export async function removeGrants(
  database: Database,
  actor: Actor,
  { workspaceId, email, roles = ROLE_NAMES }: Omit<Grants, 'roles'> & Partial<Pick<Grants, 'roles'>>,
): Promise<readonly RoleName[]> {
  const scope = { workspaces: [workspaceId] };
  const [, removed] = await database.write(scope, [
    actAs(actor),
    bind(REMOVE_GRANTS, workspaceId, emailOf(email), roles),
  ] as const);
  if (removed.length === 0) {
    const named = roles === ROLE_NAMES ? 'role' : `role ${roles.join(' and no role ')}`;
    throw new ProvisioningError(`${email} has no ${named} in workspace ${workspaceId}. See banking grant list.`);
  }
  return ROLE_NAMES.filter((name) => removed.some(({ role }) => role === name));
}
