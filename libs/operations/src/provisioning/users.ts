import type { UserStatus } from '@banking/domain';
import { bind, statement, type Database } from '@banking/postgres';
import { actAs, emailOf, provisioned, ProvisioningError } from './trail.js';

export interface NewUser {
  readonly email: string;
  /** Name of the app the user belongs to. A user known already joins one app more. */
  readonly app: string;
  readonly status?: string | undefined;
  readonly userType?: 'personal' | 'business' | undefined;
  /** How the identity provider names the user, where no verified e-mail will say so: a service account, for example. */
  readonly identity?: Identity | undefined;
}

/** How an identity provider names a user. */
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

const ADD_USER = statement<{ id: bigint }>(
  'add_user',
  `insert into app_user (email, status, user_type) values ($1, $2, $3)
   on conflict (email) do update set updated_at = app_user.updated_at
   returning id`,
);
const JOIN_APP = statement<{ user_id: bigint }>(
  'join_app',
  `insert into app_membership (app_id, user_id)
   select a.id, u.id from app a, app_user u where a.name = $1 and u.email = $2
   returning user_id`,
);
const NAME_SUBJECT = statement<{ user_id: bigint }>(
  'name_subject',
  `insert into user_identity (issuer, subject, user_id) select $1, $2, id from app_user where email = $3 returning user_id`,
);
const REMOVE_USER = statement<{ id: bigint }>('remove_user', 'delete from app_user where email = $1 returning id');
/** Nothing happens unless the user has the status that the change begins with. */
const CHANGE_STATUS = statement<{ id: bigint }>(
  'change_user_status',
  'update app_user set status = $3, updated_at = now() where email = $1 and status = $2 returning id',
);
const STATUS_OF_USER = statement<{ status: string }>('status_of_user', 'select status from app_user where email = $1');
const RENAME_USER = statement<{ id: bigint }>(
  'rename_user',
  'update app_user set email = $2, updated_at = now() where email = $1 returning id',
);
const ALL_USERS = statement<{ user: UserRow }>(
  'all_users',
  `select json_build_object('id', u.id, 'email', u.email, 'status', u.status, 'userType', u.user_type,
            'apps', coalesce((select json_agg(a.name order by a.id) from app_membership m join app a on a.id = m.app_id where m.user_id = u.id), '[]'),
            'identities', coalesce((select json_agg(json_build_object('issuer', i.issuer, 'subject', i.subject)) from user_identity i where i.user_id = u.id), '[]'),
            'createdAt', rfc3339(u.created_at)) as "user"
   from app_user u order by u.id`,
);

/** @throws ProvisioningError when the e-mail is none, the app is unknown, or user or subject are there already */
export async function addUser(database: Database, actor: string, user: NewUser): Promise<number> {
  const { app, status = 'completed', userType = 'business', identity } = user;
  const email = emailOf(user.email);
  return provisioned(
    database.transaction({}, async (tx) => {
      const [, [added], joined] = await tx.flight([
        actAs(actor),
        bind(ADD_USER, email, status, userType),
        bind(JOIN_APP, app, email),
      ] as const);
      if (joined.length === 0) throw new ProvisioningError(`There is no app named ${app}. See banking app list.`);
      await tx.commit(identity ? [bind(NAME_SUBJECT, identity.issuer, identity.subject, email)] : []);
      return Number(added!.id);
    }),
    { taken: `${email} is a user of ${app} already, or that subject is bound to a user. See banking user list.` },
  );
}

/**
 * Binds a subject to a user who is there already.
 *
 * @throws ProvisioningError when there is no such user, the user has a subject of this issuer, or the subject is bound to another user
 */
export async function bindUser(
  database: Database,
  actor: string,
  wanted: string,
  { issuer, subject }: Identity,
): Promise<void> {
  const email = emailOf(wanted);
  const binding = database.write({}, [actAs(actor), bind(NAME_SUBJECT, issuer, subject, email)] as const);
  const taken = `${email} has a subject of this issuer already, or that subject is bound to another user. See banking user list --json.`;
  const [, bound] = await provisioned(binding, { taken });
  if (bound.length === 0) throw new ProvisioningError(`There is no user ${email}. See banking user list.`);
}

export async function allUsers(database: Database): Promise<readonly UserRow[]> {
  const [rows] = await database.flight({}, [bind(ALL_USERS)] as const);
  return rows.map(({ user }) => user);
}

/** Removes the user with memberships, subjects and roles; what they did in the books stays. */
export async function removeUser(database: Database, actor: string, email: string): Promise<void> {
  const [, removed] = await database.write({}, [actAs(actor), bind(REMOVE_USER, emailOf(email))] as const);
  if (removed.length === 0) throw new ProvisioningError(`There is no user ${email}. See banking user list.`);
}

/** The changes of a status: what it must be, what it becomes, and what the user then is, in a message. */
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
  actor: string,
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

/** Ends the sign-up of a pending user: from then on the granted roles count. @throws ProvisioningError */
export const completeUser = (database: Database, actor: string, email: string): Promise<void> =>
  changeStatus(database, actor, email, 'complete');

/** Takes all roles away without removing them. The user is still recognised. @throws ProvisioningError */
export const suspendUser = (database: Database, actor: string, email: string): Promise<void> =>
  changeStatus(database, actor, email, 'suspend');

/** Gives a suspended user the roles back. @throws ProvisioningError */
export const resumeUser = (database: Database, actor: string, email: string): Promise<void> =>
  changeStatus(database, actor, email, 'resume');

/**
 * Gives a user another e-mail. Subjects that are bound to the user stay bound.
 *
 * @throws ProvisioningError when there is no such user, or another user has the new e-mail
 */
export async function renameUser(database: Database, actor: string, email: string, to: string): Promise<void> {
  const [before, after] = [emailOf(email), emailOf(to)];
  const renaming = database.write({}, [actAs(actor), bind(RENAME_USER, before, after)] as const);
  const [, renamed] = await provisioned(renaming, { taken: `${after} is a user already. See banking user list.` });
  if (renamed.length === 0) throw new ProvisioningError(`There is no user ${before}. See banking user list.`);
}
