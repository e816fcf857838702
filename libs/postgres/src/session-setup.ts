import {
  escapeIdentifier,
  escapeLiteral,
  DatabaseError,
  type ClientBase,
  type QueryConfig,
  type QueryResult,
} from 'pg';
import { DatabaseEncodingError, DatabaseSetupError, ENCODING, READ_ONLY_SERVER, TRIGGERS_OFF } from './failures.js';
import {
  mistakeInReplica,
  REPLICA_STATE,
  replicaUnavailable,
  type ClusterIdentity,
  type ReplicaState,
} from './replica-identity.js';
import { SQLSTATE } from './sqlstate.js';

/** What a session is set up with, except for the role. */
interface SettingsOfSessions {
  readonly schema: string | undefined;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
}

/** A setting of PostgreSQL. */
interface Setting {
  readonly name: string;
  /** The SQL behind `set … =`. */
  readonly sql: string;
  /** SQL of the value as pg_settings shows it, in its unit. Default: `sql`. */
  readonly shown?: string;
  /** SQL that is false where the server cannot be set. */
  readonly settableWhere?: string;
  /** SQL that is false where the server does not show what was set. */
  readonly shownWhere?: string;
}

/** How long one statement may run, and wait for a lock, in a service. */
export const STATEMENT_TIMEOUT_MS = 4_000;
export const LOCK_TIMEOUT_MS = 2_000;

const text = (name: string, value: string): Setting => ({ name, sql: escapeLiteral(value) });

/** What SQL and values mean, whatever is set for the database or the login. The migrations depend on it too. */
const LANGUAGE: readonly Setting[] = [
  text('timezone', 'UTC'),
  text('datestyle', 'ISO, MDY'),
  text('intervalstyle', 'postgres'),
  text('bytea_output', 'hex'),
  text('extra_float_digits', '1'),
  // Without it, the regular expressions of the schema would lose their backslashes.
  text('standard_conforming_strings', 'on'),
  text('transform_null_equals', 'off'),
  text('array_nulls', 'on'),
  text('row_security', 'on'),
];

const NOT_ON_WINDOWS = `version() !~ 'mingw|Visual C'`;
const OVER_TCP = 'inet_server_addr() is not null';

/** The settings of every session of ours, in the units of pg_settings. */
function settingsOf({ schema, statementTimeoutMs, lockTimeoutMs }: SettingsOfSessions): readonly Setting[] {
  const path = (name: string): Setting => ({
    name: 'search_path',
    sql: `${escapeIdentifier(name)}, pg_temp`,
    shown: `quote_ident(${escapeLiteral(name)}) || ', pg_temp'`,
  });
  return [
    ...(schema === undefined ? [] : [path(schema)]),
    text('statement_timeout', wholeMs(statementTimeoutMs)),
    text('lock_timeout', wholeMs(lockTimeoutMs)),
    text('idle_in_transaction_session_timeout', wholeMs(10_000)),
    // Without these the server holds the locks of a client that it cannot reach for minutes. On a Unix socket they have no effect.
    { ...text('tcp_user_timeout', wholeMs(5_000)), shownWhere: OVER_TCP },
    { ...text('tcp_keepalives_idle', '10'), shownWhere: OVER_TCP },
    { ...text('tcp_keepalives_interval', '2'), shownWhere: OVER_TCP },
    { ...text('tcp_keepalives_count', '3'), shownWhere: OVER_TCP },
    // Ends the statements of a client that has closed its connection. A server on Windows cannot notice that.
    {
      ...text('client_connection_check_interval', wholeMs(1_000)),
      settableWhere: NOT_ON_WINDOWS,
      shownWhere: NOT_ON_WINDOWS,
    },
    text('default_transaction_isolation', 'read committed'),
    ...LANGUAGE,
    // Plans are made once and kept. On a new installation, with empty tables, they would be sequential scans.
    text('enable_seqscan', 'off'),
    // Nor the rows of a whole workspace, which seem cheaper to read than an index of their own while the table has a few pages.
    text('enable_bitmapscan', 'off'),
    // With the values of a small batch, the server would plan each call anew: a plan takes longer than its statement.
    text('plan_cache_mode', 'force_generic_plan'),
    // The cost of a plan without an index now triggers JIT compilation, which takes longer than the plan itself.
    text('jit', 'off'),
  ];
}

/** The statements by which a session sets itself up. */
function setSessionSql(role: string | undefined, applicationName: string, settings: SettingsOfSessions): string {
  return [
    ...(role === undefined ? [] : [`set role ${escapeIdentifier(role)}`]),
    `set application_name = ${escapeLiteral(applicationName)}`,
    ...settingsOf(settings).map(setSql),
  ].join('; ');
}

const setSql = ({ name, sql, settableWhere }: Setting): string =>
  settableWhere === undefined
    ? `set ${name} = ${sql}`
    : `select set_config('${name}', ${sql}, false) where ${settableWhere}`;

/** The statements by which a session without a pool sets what its SQL means. */
export const SET_LANGUAGE = LANGUAGE.map(setSql).join('; ');

/** SQL of an array: the names of the settings that the session does not have, `role` among them. */
function missingSettingsSql(role: string | undefined, settings: SettingsOfSessions): string {
  const expected = settingsOf(settings).map(
    ({ name, sql, shown = sql, shownWhere = 'true' }) => `('${name}', ${shown}, ${shownWhere})`,
  );
  const isOtherRole = role === undefined ? 'false' : `current_user <> ${escapeLiteral(role)}`;
  return `array(
    select 'role' where ${isOtherRole}
    union all
    select expected.name from (values ${expected.join(', ')}) as expected (name, value, is_shown)
     where is_shown and value is distinct from
           (select setting from pg_settings where lower(pg_settings.name) = expected.name))`;
}

/**
 * The statements by which an administrator gives a login the settings of our sessions, for a pooler that does not keep them.
 *
 * @param login SQL of the name
 * @param only names of settings. Default: all
 */
export function loginSettingsSql(
  login: string,
  role: string | undefined,
  settings: SettingsOfSessions,
  only?: readonly string[],
): string[] {
  const values = [
    ...(role === undefined ? [] : [{ name: 'role', sql: escapeLiteral(role) }]),
    ...settingsOf(settings).map(({ name, sql }) => ({ name, sql })),
  ];
  return values
    .filter(({ name }) => only === undefined || only.includes(name))
    .map(({ name, sql }) => `alter role ${login} set ${name} = ${sql};`);
}

/** @throws Error for a time that PostgreSQL would not take, or that would mean no limit */
function wholeMs(ms: number): string {
  if (!Number.isSafeInteger(ms) || ms < 1) throw new Error(`not a time in whole milliseconds: ${ms}`);
  return String(ms);
}

/** Sets up and checks every connection before a caller gets it. */
export interface SessionSettings extends SettingsOfSessions {
  readonly role: string | undefined;
  /** Whether a pooler in transaction mode is in between. It keeps no settings, so the login must have them. */
  readonly isPooled: boolean;
  /** Roles with more rights that the login must not be able to take on. Without it the login may have any rights. */
  readonly forbiddenRoles?: readonly string[] | undefined;
  readonly applicationName: string;
  /** The primary of which the server must be a replica. Without it the server is the primary. */
  readonly replicaOf?: ClusterIdentity | undefined;
  /** How long the whole round trip may take. */
  readonly setupTimeoutMs: number;
}

/** The settings of the server and the rights of our login and role. */
interface SessionState {
  /** The settings that the login of a pooler lacks. */
  readonly missing: readonly string[];
  /** Whether the server is a standby, or was made to accept no writes. */
  readonly read_only: boolean;
  readonly version: number;
  readonly encoding: string;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly synchronous_commit: string;
  readonly replication_role: string;
  readonly role: string;
  readonly superuser: boolean;
  readonly bypass: boolean;
  readonly owned: string | null;
  readonly login: string;
  readonly database: string;
  /** A forbidden role that the login could act as, or a role with which it could grant itself one. */
  readonly reachable: string | null;
  /** Whether the role can make schemas or temporary tables; false where no role is forbidden. */
  readonly creates: boolean;
  /** Null unless the server must be a replica. */
  readonly replica: ReplicaState | null;
}

const VERSION_MIN = 150_000;

/** Members write every table, or run programs and write files as the server, which equals a superuser. */
const PREDEFINED_ROLES = ['pg_write_all_data', 'pg_execute_server_program', 'pg_write_server_files'];

/**
 * Makes the setup of a new connection: one round trip that sets it up and proves that the server accepts writes, commits are durable
 * and row-level security applies. It runs on every connection, because a failover may put another server behind the address.
 *
 * Through a pooler, it sets nothing, because the next caller of the server's session would have it too. It proves that the session has
 * the settings from its login.
 *
 * @returns the setup. It throws DatabaseSetupError with what to change, and Error when the server accepts no writes, or is no replica of
 * `replicaOf`.
 * @throws Error at once for invalid settings.
 */
export function sessionSetup(settings: SessionSettings): (client: ClientBase) => Promise<void> {
  const { role, applicationName, isPooled } = settings;
  const setAll = isPooled ? '' : `${setSessionSql(role, applicationName, settings)}; `;
  // A replica that has been promoted would accept writes.
  const readOnlySql = settings.replicaOf === undefined ? '' : 'set default_transaction_read_only = on; ';
  const query = {
    text: `${setAll}${readOnlySql}${sessionStateSql(settings)}`,
    query_timeout: settings.setupTimeoutMs,
  } as QueryConfig;
  return async (client) => {
    const login = (client as { readonly user?: string }).user ?? 'login';
    const results: unknown = await client
      .query(query)
      .catch((error: unknown) => Promise.reject(explain(error, settings, login)));
    // A query of several statements has several results.
    const state = [results]
      .flat()
      .map((result) => (result as QueryResult<SessionState>).rows[0])
      .at(-1);
    if (state === undefined) throw new Error('the server did not answer the questions of the session setup');
    if (state.read_only && settings.replicaOf === undefined) throw new Error(READ_ONLY_SERVER);
    if (state.encoding !== ENCODING) throw new DatabaseEncodingError(state.encoding);
    const mistake =
      mistakeInSettings(state, settings) ?? mistakeInServer(state, settings.replicaOf) ?? mistakeInRole(state);
    if (mistake !== undefined) throw new DatabaseSetupError(mistake);
    // No mistake of the configuration: the hosts of a replica may include the primary, and may be promoted.
    const reason = state.replica && settings.replicaOf && replicaUnavailable(state.replica, settings.replicaOf);
    if (reason) throw new Error(reason);
  };
}

/** `owned` is a table whose definition our role could change. */
function sessionStateSql(settings: SessionSettings): string {
  const { schema, forbiddenRoles, isPooled, replicaOf } = settings;
  return `
    select ${isPooled ? missingSettingsSql(settings.role, settings) : `'{}'::text[]`} as missing,
           current_setting('transaction_read_only') = 'on' as read_only,
           current_setting('server_version_num')::int as version,
           current_setting('server_encoding') as encoding,
           current_setting('fsync') as fsync,
           current_setting('full_page_writes') as full_page_writes,
           current_setting('synchronous_commit') as synchronous_commit,
           current_setting('session_replication_role') as replication_role,
           rolname as role, rolsuper as superuser, rolbypassrls as bypass,
           (select c.relname
              from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where n.nspname = ${schema === undefined ? 'null' : escapeLiteral(schema)}
               and c.relkind in ('r', 'p')
               and pg_has_role(current_user, c.relowner, 'usage')
             limit 1) as owned,
           session_user as login, current_database() as database,
           ${forbiddenRoles === undefined ? 'null' : reachableSql(forbiddenRoles)} as reachable,
           ${forbiddenRoles === undefined ? 'false' : `has_database_privilege(current_database(), 'create, temporary')`} as creates,
           ${replicaOf === undefined ? 'null::json' : REPLICA_STATE} as replica
      from pg_roles
     where rolname = current_user`;
}

/**
 * The owner of the database counts too, because it grants rights to make schemas and temporary tables. A membership counts with any
 * option: SET and INHERIT give the rights at once, ADMIN lets the login grant them to itself. Before PostgreSQL 16 CREATEROLE could
 * grant every role that is no superuser.
 */
function reachableSql(forbiddenRoles: readonly string[]): string {
  const names = [...forbiddenRoles, ...PREDEFINED_ROLES].map((name) => escapeLiteral(name));
  return `(select r.rolname from pg_roles r
            where pg_has_role(session_user, r.oid, 'member')
              and (r.rolname in (${names.join(', ')}) or r.rolsuper
                   or r.oid = (select datdba from pg_database where datname = current_database()) or r.rolbypassrls
                   or r.rolcreaterole and current_setting('server_version_num')::int < 160000)
            order by r.rolname = session_user desc, r.rolname limit 1)`;
}

function mistakeInSettings({ missing, login }: SessionState, settings: SessionSettings): string | undefined {
  if (missing.length === 0) return undefined;
  const lines = loginSettingsSql(escapeIdentifier(login), settings.role, settings, missing);
  return (
    `The login "${login}" lacks settings that no pooler in transaction mode keeps. Let an administrator run on the server, and then ` +
    `RECONNECT in the console of the pooler:\n${lines.map((line) => `  ${line}`).join('\n')}`
  );
}

/** A replica commits nothing, so its settings of commits do not matter. */
function mistakeInServer(state: SessionState, replicaOf: ClusterIdentity | undefined): string | undefined {
  if (state.version < VERSION_MIN) return `PostgreSQL 15 or newer is needed; this server is ${state.version}.`;
  if (state.replica !== null && replicaOf !== undefined) return mistakeInReplica(state.replica, replicaOf);
  if (state.replication_role !== 'origin') return TRIGGERS_OFF;
  if (state.fsync !== 'on') return 'Committed money could be lost in a crash: set fsync = on on the server.';
  if (state.full_page_writes !== 'on') {
    return 'Committed money could be lost in a crash: set full_page_writes = on on the server.';
  }
  if (state.synchronous_commit === 'off') {
    return 'Committed money could be lost in a crash: set synchronous_commit = on for the server, the database and the login.';
  }
  return undefined;
}

function mistakeInRole(state: SessionState): string | undefined {
  const { role } = state;
  if (state.superuser) {
    return `The role "${role}" is a superuser, which row-level security does not bind: connect as another role, or let the connection take on a role of the service.`;
  }
  if (state.bypass) return `Row-level security does not bind the role "${role}": alter role "${role}" nobypassrls.`;
  if (state.owned !== null) {
    return `The role "${role}" has the rights of the owner of table "${state.owned}" and could drop its constraints: connect as a role that owns nothing.`;
  }
  return mistakeInRights(state);
}

function mistakeInRights({ login, role, database, reachable, creates }: SessionState): string | undefined {
  if (reachable !== null) {
    const [why, advice] =
      reachable === login
        ? ['is a superuser, owns the database, or has BYPASSRLS or CREATEROLE,', '']
        : [`can act as "${reachable}",`, ` Or run: revoke "${reachable}" from "${login}";`];
    return `The login "${login}" ${why} so it has a way around the rights of "${role}": connect as a login that may take on the roles of its process only.${advice}`;
  }
  if (creates) {
    return `The role "${role}" can make schemas or temporary tables. Let an administrator run: revoke create, temporary on database "${database}" from public, "${role}";`;
  }
  return undefined;
}

function explain(error: unknown, settings: SessionSettings, login: string): unknown {
  if (!(error instanceof DatabaseError) || settings.role === undefined) return error;
  if (error.code === SQLSTATE.invalidParameterValue || error.code === SQLSTATE.undefinedObject) {
    return new DatabaseSetupError(`There is no role "${settings.role}": run the migrations first.`, { cause: error });
  }
  if (error.code === SQLSTATE.insufficientPrivilege) {
    return mayNotActAs(login, settings.role, error);
  }
  return error;
}

export const mayNotActAs = (login: string, role: string, cause: unknown): DatabaseSetupError =>
  new DatabaseSetupError(
    `The login "${login}" may not act as "${role}". Use a login that may: a live service does not start with one that can act ` +
      `as more than its own roles. For any other login, let an administrator run: grant "${role}" to "${login}";`,
    { cause },
  );
