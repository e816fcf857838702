import {
  DatabaseError,
  escapeIdentifier,
  escapeLiteral,
  type ClientBase,
  type QueryConfig,
  type QueryResult,
} from 'pg';
import { DatabaseSetupError } from './failures.js';
import { SQLSTATE } from './sqlstate.js';

/** Sets up and checks every connection before a caller gets it. */
export interface SessionSettings {
  readonly role: string | undefined;
  readonly schema: string | undefined;
  /** Roles with more rights that the login must not be able to take on. Without it the login may have any rights. */
  readonly forbiddenRoles?: readonly string[] | undefined;
  readonly applicationName: string;
  readonly statementTimeoutMs: number;
  readonly lockTimeoutMs: number;
  /** How long the whole round trip may take. */
  readonly setupTimeoutMs: number;
}

/** The settings of the server and the rights of our login and role. */
interface SessionState {
  readonly version: number;
  readonly fsync: string;
  readonly full_page_writes: string;
  readonly synchronous_commit: string;
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
}

const VERSION_MIN = 150_000;

/** Members write every table, or run programs and write files as the server, which equals a superuser. */
const PREDEFINED_ROLES = ['pg_write_all_data', 'pg_execute_server_program', 'pg_write_server_files'];

/**
 * Makes the setup of a new connection: one round trip that sets it up and proves that commits are durable and row-level security
 * applies. It runs on every connection, because a failover may put another server behind the address.
 *
 * @returns the setup. It throws DatabaseSetupError with what to change.
 * @throws Error at once for invalid settings.
 */
export function sessionSetup(settings: SessionSettings): (client: ClientBase) => Promise<void> {
  const text = `${settingsSql(settings)}; ${sessionStateSql(settings)}`;
  const query = { text, query_timeout: settings.setupTimeoutMs } as QueryConfig;
  return async (client) => {
    const login = (client as { readonly user?: string }).user ?? 'login';
    const results = await client
      .query(query)
      .catch((error: unknown) => Promise.reject(explain(error, settings, login)));
    const state = (results as unknown as QueryResult<SessionState>[]).at(-1)?.rows[0];
    if (state === undefined) throw new Error('the server did not answer the questions of the session setup');
    const mistake = mistakeInSetup(state);
    if (mistake !== undefined) throw new DatabaseSetupError(mistake);
  };
}

function settingsSql(settings: SessionSettings): string {
  const { role, schema } = settings;
  return [
    role === undefined ? undefined : `set role ${escapeIdentifier(role)}`,
    schema === undefined ? undefined : `set search_path = ${escapeIdentifier(schema)}, pg_temp`,
    `set application_name = ${escapeLiteral(settings.applicationName)}`,
    `set statement_timeout = ${wholeMs(settings.statementTimeoutMs)}`,
    `set lock_timeout = ${wholeMs(settings.lockTimeoutMs)}`,
    `set idle_in_transaction_session_timeout = '10s'`,
    // Without these the server holds the locks of a client that it cannot reach for minutes. On a Unix socket they have no effect.
    `set tcp_user_timeout = '5s'`,
    `set tcp_keepalives_idle = 10`,
    `set tcp_keepalives_interval = 2`,
    `set tcp_keepalives_count = 3`,
    // Ends the statements of a client that has closed its connection. A server on Windows cannot notice that.
    `select set_config('client_connection_check_interval', '1s', false) where version() !~ 'mingw|Visual C'`,
    `set default_transaction_isolation = 'read committed'`,
    `set timezone = 'UTC'`,
    `set datestyle = 'ISO'`,
    // Plans are made once and kept. On a new installation, with empty tables, they would be sequential scans.
    `set enable_seqscan = off`,
    // The cost of a plan without an index now triggers JIT compilation, which takes longer than the plan itself.
    `set jit = off`,
  ]
    .filter((line) => line !== undefined)
    .join('; ');
}

/** `owned` is a table whose definition our role could change. */
function sessionStateSql({ schema, forbiddenRoles }: SessionSettings): string {
  return `
    select current_setting('server_version_num')::int as version,
           current_setting('fsync') as fsync,
           current_setting('full_page_writes') as full_page_writes,
           current_setting('synchronous_commit') as synchronous_commit,
           rolname as role, rolsuper as superuser, rolbypassrls as bypass,
           (select c.relname
              from pg_class c join pg_namespace n on n.oid = c.relnamespace
             where n.nspname = ${schema === undefined ? 'null' : escapeLiteral(schema)}
               and c.relkind in ('r', 'p')
               and pg_has_role(current_user, c.relowner, 'usage')
             limit 1) as owned,
           session_user as login, current_database() as database,
           ${forbiddenRoles === undefined ? 'null' : reachableSql(forbiddenRoles)} as reachable,
           ${forbiddenRoles === undefined ? 'false' : `has_database_privilege(current_database(), 'create, temporary')`} as creates
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

function mistakeInSetup(state: SessionState): string | undefined {
  const { role } = state;
  if (state.version < VERSION_MIN) return `PostgreSQL 15 or newer is needed; this server is ${state.version}.`;
  if (state.fsync !== 'on') return 'Committed money could be lost in a crash: set fsync = on on the server.';
  if (state.full_page_writes !== 'on') {
    return 'Committed money could be lost in a crash: set full_page_writes = on on the server.';
  }
  if (state.synchronous_commit === 'off') {
    return 'Committed money could be lost in a crash: set synchronous_commit = on for the server, the database and the login.';
  }
  if (state.superuser) {
    return `The role "${role}" is a superuser, which row-level security does not bind: connect as another role, or let the connection take on the app's role.`;
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
    return `The login "${login}" ${why} so it has a way around the rights of "${role}": connect as a login that may take on "${role}" and no other role.${advice}`;
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
    return new DatabaseSetupError(
      `The login "${login}" may not act as "${settings.role}". Use a login that may: a live service does not start with one that can act ` +
        `as more than its own role. For any other login, let an administrator run: grant "${settings.role}" to "${login}";`,
      { cause: error },
    );
  }
  return error;
}

function wholeMs(ms: number): number {
  if (!Number.isSafeInteger(ms) || ms < 1) throw new Error(`not a time in whole milliseconds: ${ms}`);
  return ms;
}
