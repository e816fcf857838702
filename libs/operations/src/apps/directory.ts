import {
  type App,
  type AppId,
  Directory,
  type DirectoryUser,
  foldEmail,
  KEY_ISSUER,
  type OperationScope,
  Refusal,
  type RoleName,
  SERVICE_ACCOUNT_ROLES,
  type ServiceAccountKeyId,
  type Subject,
  type User,
  type UserId,
  type WorkspaceId,
  type PlainNumber,
} from '@banking/domain';
import { bind, type BoundStatement, type Database, sqlStatement, unavailable } from '@banking/postgres';
import { ExpiringCache } from '@banking/process';
import { timestampOf } from '../resources/columns.js';

/** Finds the user and sets the user of this database transaction, so that row-level security shows the user's roles. */
const RECOGNISE = sqlStatement<{ id: bigint }>(
  'recognise_user',
  `select user_id as id, set_config('app.user', user_id::text, true) as scoped
   from user_identity where issuer = $1 and subject = $2`,
);

interface GrantRow {
  readonly workspace_id: bigint;
  readonly roles: readonly RoleName[];
  readonly app_id: bigint;
}

/** Grants count only for a user whose status is `completed`. */
const GRANTS = sqlStatement<GrantRow>(
  'grants_of_user',
  `select r.workspace_id, jsonb_agg(r.role order by r.id) as roles, w.app_id
   from workspace_role r
   join workspace w on w.id = r.workspace_id
   join app_user u on u.id = r.user_id
   where u.id = nullif(current_setting('app.user', true), '')::bigint and u.status = 'completed'
   group by r.workspace_id, w.app_id
   order by r.workspace_id`,
);

/** The valid key of a service account. Sets the user of this database transaction as `RECOGNISE` does. */
const RECOGNISE_KEY = sqlStatement<KeyRow>(
  'recognise_key',
  `select k.service_account_id as id, k.hash, k.scopes, k.networks, k.expires_at as "expiresAt", k.is_served as "isServed",
     set_config('app.user', k.service_account_id::text, true) as scoped
   from find_key($1) k`,
);

interface KeyRow {
  readonly id: bigint;
  readonly hash: Buffer;
  readonly scopes: readonly OperationScope[] | null;
  readonly networks: readonly string[];
  readonly expiresAt: string | null;
  readonly isServed: boolean;
}

const NOTE_KEY_USE = sqlStatement('note_key_use', 'select note_key_use($1)');

/** Changes nothing if the user has another subject of this issuer, or the subject is bound to another user. */
const BIND_SUBJECT = sqlStatement<{ user_id: bigint | null }>(
  'bind_subject',
  'select bind_subject($1, $2, $3) as user_id',
);

interface DirectoryOptions {
  /** Whether a subject that is not known is bound to the user with its verified e-mail. Default true. */
  readonly bindsByEmail?: boolean;
  /** Runs what binds a subject in its turn, because it waits for the lock of the directory with a connection. Default: at once. */
  readonly inTurn?: <T>(bindSubject: () => Promise<T>) => Promise<T>;
}

/** The directory of users and grants in PostgreSQL. */
export class LedgerDirectory extends Directory {
  constructor(
    private readonly database: Database,
    private readonly options: DirectoryOptions = {},
  ) {
    super();
  }

  async userOf(subject: Subject): Promise<DirectoryUser | undefined> {
    const known = await this.recognise(subject);
    const email = subject.email === undefined ? undefined : foldEmail(subject.email);
    const { bindsByEmail = true, inTurn = (bindSubject) => bindSubject() } = this.options;
    if (known || email === undefined || !bindsByEmail || subject.bindsByEmail === false) return known;
    // No `write`: if the outcome is unknown, the request has changed nothing else, and the next request binds again.
    await inTurn(() => this.database.pipeline({}, [bind(BIND_SUBJECT, subject.issuer, subject.subject, email)]));
    return this.recognise(subject);
  }

  override async noteKeyUse(keyId: ServiceAccountKeyId): Promise<void> {
    await this.database.pipeline({}, [bind(NOTE_KEY_USE, keyId)]);
  }

  private async recognise({ issuer, subject }: Subject): Promise<DirectoryUser | undefined> {
    if (issuer === KEY_ISSUER) return this.recogniseKey(Number(subject) as ServiceAccountKeyId);
    const [[user], grants] = await this.database.pipeline({}, [
      bind(RECOGNISE, issuer, subject),
      bind(GRANTS),
    ] as const);
    return user && userOf(user.id, grants);
  }

  /** @throws Refusal `unavailable` while another database serves the workspace of the key, or it is being moved */
  private async recogniseKey(keyId: ServiceAccountKeyId): Promise<DirectoryUser | undefined> {
    const [[key], grants] = await this.database.pipeline({}, [bind(RECOGNISE_KEY, keyId), bind(GRANTS)] as const);
    if (!key) return undefined;
    if (!key.isServed) throw unavailable('The workspace of the key is served by another database.');
    const { hash, scopes, networks, expiresAt } = key;
    const { id, grants: granted } = userOf(key.id, grants);
    return {
      id,
      // As the database ensures too: a key never approves and never administers.
      grants: granted.map((grant) => ({ ...grant, roles: grant.roles.filter(isServiceAccountRole) })),
      key: {
        ...{ id: keyId, hash, networks },
        scopes: scopes ?? undefined,
        expiresAtMs: expiresAt === null ? undefined : Date.parse(timestampOf(expiresAt)),
      },
    };
  }
}

const isServiceAccountRole = (role: RoleName) => (SERVICE_ACCOUNT_ROLES as readonly RoleName[]).includes(role);

const userOf = (id: bigint, grants: readonly GrantRow[]): DirectoryUser => ({
  id: Number(id) as UserId,
  grants: grants.map(({ workspace_id, roles, app_id }) => ({
    workspaceId: Number(workspace_id) as WorkspaceId,
    roles,
    appId: Number(app_id) as AppId,
  })),
});

/** The actor's roles in the app, and whether the actor administers each of its workspaces; no row for an actor outside of it. Only a user whose status is `completed` has roles. */
const RIGHTS_IN_APP = sqlStatement<{ isAdmin: boolean; workspaces: string | null }>(
  'rights_in_app',
  `select count(*) filter (where mine.role = 'admin') > 0
            and count(*) filter (where mine.role = 'admin') = (select count(*) from workspace w where w.app_id = $1) as "isAdmin",
          '{' || string_agg(distinct mine.workspace_id::text, ',') || '}' as workspaces
   from app_membership m
   join app_user actor on actor.id = m.user_id
   left join (workspace_role mine join workspace v on v.id = mine.workspace_id and v.app_id = $1)
     on mine.user_id = actor.id and actor.status = 'completed'
   where m.app_id = $1 and m.user_id = $2
   group by m.user_id`,
);

/** Shows the roles in the workspaces given, or without them the roles in all workspaces of the app. */
const SHOW_ROLES = sqlStatement(
  'show_roles_of_app',
  `select set_config('app.app', case when $2::text is null then $1::bigint::text else '' end, true),
          set_config('app.workspaces', coalesce($2::text, ''), true),
          set_config('plan_cache_mode', 'force_custom_plan', true)`,
);

/** As many users as one part of the list has: about 200 kB. */
const PART_USERS = 500;

const partsOf = (users: string) =>
  `select '{' || string_agg(user_id::text, ',' order by user_id) || '}' as ids
   from (select user_id, (row_number() over (order by user_id) - 1) / ${PART_USERS} as part from ${users}) numbered
   group by part order by part`;

const PARTS_OF_APP = sqlStatement<{ ids: string }>('parts_of_app_users', partsOf('app_membership where app_id = $1'));

const PARTS_OF_WORKSPACES = sqlStatement<{ ids: string }>(
  'parts_of_workspace_users',
  partsOf(`(
     select distinct r.user_id
     from workspace_role r
     join workspace w on w.id = r.workspace_id and w.app_id = $1
     join app_user u on u.id = r.user_id and u.status = 'completed'
     join app_membership m on m.user_id = u.id and m.app_id = $1
     where r.workspace_id = any($2::bigint[])
   ) seen`),
);

/**
 * The objects of users without the brackets of their list. As text, because `json_build_object` takes twice the time for 100,000 users;
 * what a person or an operator wrote is escaped by `to_json`.
 */
const usersFrom = (source: string) =>
  `select string_agg(concat('{"id":', u.id, ',"email":', to_json(u.email), ',"status":', to_json(u.status),
            ',"userType":"', u.user_type, '","createdAt":"', rfc3339(u.created_at), '","edges":{"roles":[', seen.roles, ']}}'),
            ',' order by u.id) as users
   from ${source}`;

/** A caller who sees only some workspaces sees no user without a role in one of them. */
const READ_PART = sqlStatement<{ users: string | null }>(
  'read_app_users',
  `with visible as materialized (
     select r.* from workspace_role r
     where r.user_id = any($3::bigint[]) and ($2::text is null or r.workspace_id = any($2::bigint[]))
   ), place as materialized (
     select w.id, concat('"edges":{"workspace":{"id":', w.id, ',"name":', to_json(w.name), ',"type":"', w.type,
              '","createdAt":"', rfc3339(w.created_at), '","updatedAt":"', rfc3339(w.updated_at), '"}}') as edges
     from workspace w where w.app_id = $1 and w.id in (select workspace_id from visible)
   ), seen as (
     select r.user_id, string_agg(concat('{"id":', r.id, ',"role":"', r.role, '","createdAt":"', rfc3339(r.created_at),
              '","updatedAt":"', rfc3339(r.updated_at), '",', place.edges, '}'), ',' order by r.workspace_id, r.id) as roles
     from visible r join place on place.id = r.workspace_id
     group by r.user_id
   )
   ${usersFrom(`app_user u left join seen on seen.user_id = u.id and u.status = 'completed'`)}
   where u.id = any($3::bigint[]) and ($2::text is null or seen.roles is not null)`,
);

const READ_USER_ALONE = sqlStatement<{ users: string | null }>(
  'read_user_alone',
  usersFrom('(select null::text as roles) seen join app_user u on u.id = $1'),
);

/** What a caller sees of an app: all of it, or the users and roles of some workspaces, as an array of PostgreSQL in order. */
interface Seen {
  readonly appId: AppId | PlainNumber;
  readonly workspaces?: string;
}

/** How long callers who see the same share what was read. A change shows after this time. */
const SHARED_MS = 1_000;

/** 64 parts are about 13 MB, and the ids of 16 lists of 100,000 users as much. */
const SHARED_MAX = { parts: 64, lists: 16 };

/** Reads the users of apps, as the JSON that is sent. An app can have more users than fit into memory as objects. */
export class AppUsers {
  private readonly parts: ExpiringCache<readonly string[]>;
  private readonly texts: ExpiringCache<string>;

  /** @param nowMs milliseconds of a monotonic clock */
  constructor(
    private readonly database: Database,
    nowMs?: () => number,
  ) {
    const clock = nowMs && { nowMs };
    this.parts = new ExpiringCache({ ttlMs: SHARED_MS, entriesMax: SHARED_MAX.lists, ...clock });
    this.texts = new ExpiringCache({ ttlMs: SHARED_MS, entriesMax: SHARED_MAX.parts, ...clock });
  }

  /**
   * The list in parts: the objects of some users, separated by commas. A part is read when it or the one before is asked for, the first
   * one alone.
   *
   * @throws Refusal `app_not_found` also for an app the actor does not belong to
   */
  async *textsOf(actor: UserId, appId: AppId | PlainNumber): AsyncGenerator<string, void> {
    const rights = await this.database.read({ user: actor }, bind(RIGHTS_IN_APP, appId, actor));
    if (rights === undefined) throw new Refusal('app_not_found');
    if (!rights.isAdmin && rights.workspaces === null) {
      const [[alone]] = await this.database.pipeline({}, [bind(READ_USER_ALONE, actor)]);
      if (alone?.users) yield alone.users;
      return;
    }
    const seen: Seen = rights.isAdmin ? { appId } : { appId, workspaces: rights.workspaces! };
    const parts = await this.partsOf(seen);
    // Settled, because a part that is read ahead fails when it is asked for, and a caller who goes away asks for none.
    const read = (ids: string) => Promise.allSettled([this.partText(seen, ids)]);
    let next: ReturnType<typeof read> | undefined;
    for (const [index, ids] of parts.entries()) {
      const part = next ?? read(ids);
      const following = parts[index + 1];
      next = index > 0 && following !== undefined ? read(following) : undefined;
      const [users] = await part;
      if (users.status === 'rejected') throw users.reason;
      if (users.value !== '') yield users.value;
    }
  }

  async list(actor: UserId, appId: AppId | PlainNumber): Promise<readonly User[]> {
    const users: User[] = [];
    for await (const text of this.textsOf(actor, appId)) users.push(...(JSON.parse(`[${text}]`) as User[]));
    return users;
  }

  private partsOf(seen: Seen): Promise<readonly string[]> {
    return this.parts.get(keyOf(seen), async () => {
      const { appId, workspaces } = seen;
      const parts = workspaces === undefined ? bind(PARTS_OF_APP, appId) : bind(PARTS_OF_WORKSPACES, appId, workspaces);
      return (await this.readAs(seen, parts)).map(({ ids }) => ids);
    });
  }

  private partText(seen: Seen, ids: string): Promise<string> {
    return this.texts.get(`${keyOf(seen)} ${ids}`, async () => {
      const [row] = await this.readAs(seen, bind(READ_PART, seen.appId, seen.workspaces, ids));
      return row?.users ?? '';
    });
  }

  private async readAs<Row>({ appId, workspaces }: Seen, read: BoundStatement<Row>): Promise<readonly Row[]> {
    const [, rows] = await this.database.pipeline({}, [bind(SHOW_ROLES, appId, workspaces), read] as const);
    return rows;
  }
}

const keyOf = ({ appId, workspaces }: Seen) => `${appId} ${workspaces ?? 'all'}`;

const LIST_APPS = sqlStatement<{ apps: readonly App[] }>(
  'list_apps',
  `select coalesce(json_agg(json_build_object('id', a.id, 'name', a.name, 'createdAt', rfc3339(a.created_at)) order by a.id), '[]') as apps
   from app_membership m join app a on a.id = m.app_id
   where m.user_id = $1`,
);

/** The apps the user belongs to. */
export async function listApps(database: Database, actor: UserId): Promise<readonly App[]> {
  const row = await database.read({ user: actor }, bind(LIST_APPS, actor));
  return row?.apps ?? [];
}
