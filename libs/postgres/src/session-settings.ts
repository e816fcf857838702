import { escapeIdentifier, escapeLiteral } from 'pg';

/** What a session is set up with, except for the role. */
export interface SettingsOfSessions {
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

const NOT_ON_WINDOWS = `version() !~ 'mingw|Visual C'`;
const OVER_TCP = 'inet_server_addr() is not null';

/** The settings of every session of ours, in the units of pg_settings. */
function settingsOf({ schema, statementTimeoutMs, lockTimeoutMs }: SettingsOfSessions): readonly Setting[] {
  const path = (name: string): Setting => ({
    name: 'search_path',
    sql: `${escapeIdentifier(name)}, pg_temp`,
    shown: `quote_ident(${escapeLiteral(name)}) || ', pg_temp'`,
  });
  const text = (name: string, value: string): Setting => ({ name, sql: escapeLiteral(value) });
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
    text('timezone', 'UTC'),
    text('datestyle', 'ISO, MDY'),
    // Plans are made once and kept. On a new installation, with empty tables, they would be sequential scans.
    text('enable_seqscan', 'off'),
    // The cost of a plan without an index now triggers JIT compilation, which takes longer than the plan itself.
    text('jit', 'off'),
  ];
}

/** The statements by which a session sets itself up. */
export function setSessionSql(role: string | undefined, applicationName: string, settings: SettingsOfSessions): string {
  return [
    ...(role === undefined ? [] : [`set role ${escapeIdentifier(role)}`]),
    `set application_name = ${escapeLiteral(applicationName)}`,
    ...settingsOf(settings).map(({ name, sql, settableWhere }) =>
      settableWhere === undefined
        ? `set ${name} = ${sql}`
        : `select set_config('${name}', ${sql}, false) where ${settableWhere}`,
    ),
  ].join('; ');
}

/** SQL of an array: the names of the settings that the session does not have, `role` among them. */
export function missingSettingsSql(role: string | undefined, settings: SettingsOfSessions): string {
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
