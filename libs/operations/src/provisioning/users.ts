import { bind, statement, type Database } from '@banking/postgres';
import { actAs, emailOf, provisioned, ProvisioningError } from './trail.js';

export interface NewUser {
  readonly email: string;
  /** Name of the app the user belongs to. A user known already joins one app more. */
  readonly app: string;
  readonly status?: string | undefined;
  readonly userType?: 'personal' | 'business' | undefined;
  /** How the identity provider names the user, where no verified e-mail will say so: a service account, for example. */
  readonly identity?: { readonly issuer: string; readonly subject: string } | undefined;
}

export interface UserRow {
  readonly id: number;
  readonly email: string;
  readonly status: string;
  readonly userType: string;
  readonly apps: readonly string[];
  readonly identities: readonly { readonly issuer: string; readonly subject: string }[];
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
const NAME_SUBJECT = statement(
  'name_subject',
  `insert into user_identity (issuer, subject, user_id) select $1, $2, id from app_user where email = $3`,
);
const REMOVE_USER = statement<{ id: bigint }>('remove_user', 'delete from app_user where email = $1 returning id');
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

export async function allUsers(database: Database): Promise<readonly UserRow[]> {
  const [rows] = await database.flight({}, [bind(ALL_USERS)] as const);
  return rows.map(({ user }) => user);
}

/** Removes the user with memberships, subjects and roles; what they did in the books stays. */
export async function removeUser(database: Database, actor: string, email: string): Promise<void> {
  const [, removed] = await database.write({}, [actAs(actor), bind(REMOVE_USER, emailOf(email))] as const);
  if (removed.length === 0) throw new ProvisioningError(`There is no user ${email}. See banking user list.`);
}
