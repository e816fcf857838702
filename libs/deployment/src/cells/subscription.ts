import { setTimeout as pause } from 'node:timers/promises';
import { type AdminSession, type ConnectionOptions, SQLSTATE, sqlstateOf } from '@banking/postgres';
import { connectionTo } from '@banking/process';
import { DeploymentError } from '../explain-failure.js';
import { asLogin } from './act-as.js';

const RUNS_AS_OWNER_SINCE = 160_000;
const POLL_MS = 50;

interface Subscription {
  /** Of the subscription, and of its publication at the other server. */
  readonly name: string;
  /** Of the other server, as `addressOf` returns it. */
  readonly address: string;
  /** A slot that exists at the other server. */
  readonly slot: string;
  /** Whether it stops at the first error, instead of trying again for ever. Default false. */
  readonly stopsAtError?: boolean;
  /** Whether the rows from before the slot are copied. Default true. */
  readonly copiesRows?: boolean;
}

/** Copies the tables of a publication, and follows each change. */
export async function createSubscription(
  session: AdminSession,
  { name, address, slot, stopsAtError = false, copiesRows = true }: Subscription,
): Promise<void> {
  const [server] = await session.query<{ version: number }>(
    `select current_setting('server_version_num')::int as version`,
  );
  // Row-level security is forced on tables, so their owner could not write the copy.
  const owner = server!.version >= RUNS_AS_OWNER_SINCE ? ', run_as_owner = true' : '';
  await unlogged(
    session,
    `create subscription ${name} connection ${literal(address)} publication ${name}
     with (create_slot = false, copy_data = ${copiesRows}, disable_on_error = ${stopsAtError}, slot_name = ${literal(slot)}${owner})`,
  );
}

export async function isSubscribed(session: AdminSession, name: string): Promise<boolean> {
  const subscribed = await session.query(
    `select from pg_subscription where subname = $1 and subdbid = (select oid from pg_database where datname = current_database())`,
    [name],
  );
  return subscribed.length > 0;
}

/** Ends a subscription, also if the other server does not answer. Its slot there stays. */
export async function dropSubscription(session: AdminSession, name: string): Promise<void> {
  if (!(await isSubscribed(session, name))) return;
  await session.query(`alter subscription ${name} disable`);
  // The slot is dropped by itself, because the source may be away.
  await session.query(`alter subscription ${name} set (slot_name = none)`);
  await session.query(`drop subscription ${name}`);
}

/** A slot is in use until the server notices that its receiver has ended. */
export async function dropSlot(source: AdminSession, slot: string): Promise<void> {
  for (;;) {
    const [left] = await source.query<{ pid: number | null }>(
      'select active_pid as pid from pg_replication_slots where slot_name = $1',
      [slot],
    );
    if (left === undefined) return;
    if (left.pid === null) {
      await source.query('select pg_drop_replication_slot($1)', [slot]).catch((error: unknown) => {
        // In use again, or dropped by another session.
        const code = sqlstateOf(error);
        if (code !== SQLSTATE.objectInUse && code !== SQLSTATE.undefinedObject) throw error;
      });
    } else {
      await source.query('select pg_terminate_backend($1)', [left.pid]).catch((error: unknown) => {
        // The receiver has a login of its own, which only some logins may end. The server ends it later.
        if (sqlstateOf(error) !== SQLSTATE.insufficientPrivilege) throw error;
      });
    }
    await pause(POLL_MS);
  }
}

/** Runs a statement that may contain a password, which a server writes into its log with the statement. A superuser can prevent that. */
export function unlogged(session: AdminSession, statement: string): Promise<void> {
  return asLogin(session, async () => {
    await session.query(
      `select set_config(name, case name when 'log_statement' then 'none' when 'log_min_error_statement' then 'panic' else '-1' end, true)
       from pg_settings where name in ('log_statement', 'log_min_error_statement', 'log_min_duration_statement')
         and current_setting('is_superuser') = 'on'`,
    );
    await session.query(statement);
  });
}

/**
 * The address of a server for the server of another cell, as libpq reads it. Row-level security must hide no row of the copy.
 *
 * @param setting the setting of `CELLS_FILE` that gives another address, for the error
 * @throws DeploymentError
 */
export function addressOf(server: string | ConnectionOptions, setting = 'homeUrl or homeUrlFile of the cell'): string {
  if (typeof server === 'string') {
    // Another PostgreSQL server reads it, which has neither the password file nor our choice among several hosts.
    const { otherHosts, password } = connectionTo(server);
    if (otherHosts !== undefined || password !== undefined) {
      throw new DeploymentError(
        `The server of a cell copies from another one, whose address must have its password and one host. Set ${setting} in CELLS_FILE.`,
      );
    }
    const url = new URL(server);
    url.searchParams.set('options', '-crow_security=off');
    return url.href;
  }
  if (server.connectionString !== undefined) return addressOf(server.connectionString, setting);
  const parts = {
    host: server.host,
    port: server.port,
    user: server.user,
    dbname: server.database,
    options: '-crow_security=off',
  };
  return Object.entries(parts)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}='${String(value).replaceAll(/['\\]/g, '\\$&')}'`)
    .join(' ');
}

/** PostgreSQL reads backslashes in a plain literal as they are. */
export const literal = (text: string) => `'${text.replaceAll("'", "''")}'`;
