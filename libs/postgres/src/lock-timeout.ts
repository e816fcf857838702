import { DatabaseError, escapeIdentifier as quoted, type Client } from 'pg';
import { MigrationError } from './migration-files.js';
import { SQLSTATE } from './sqlstate.js';

export interface LockTimeout {
  readonly timeoutMs: number;
  readonly schema: string;
  /** The subject of the error message. */
  readonly what: string;
  /** Whether the work runs outside a database transaction, where a concurrent build of an index waits for older snapshots too. */
  readonly isOutside: boolean;
}

/** A session that has locks on our tables. */
interface LockOwner {
  readonly pid: number;
  readonly login: string | null;
  readonly application: string;
  readonly tables: readonly string[];
}

const NAMED_MAX = 3;

/**
 * Runs work in which no statement waits longer for a lock.
 *
 * @throws MigrationError after such a wait: it names the sessions that may have the lock
 */
export async function withLockTimeout<T>(client: Client, limit: LockTimeout, work: () => Promise<T>): Promise<T> {
  await client.query(`set lock_timeout = ${limit.timeoutMs}`);
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== SQLSTATE.lockNotAvailable) throw error;
    const left = limit.isOutside ? 'it begins with its first statement again' : 'nothing of it was applied';
    throw new MigrationError(
      `${limit.what} waited ${limit.timeoutMs / 1000} s for a lock and was given up. ${await describeLockOwners(client, limit)} ` +
        `Wait until such a session has finished, or end it, and run the migration again. That is safe: ${left}.`,
      { cause: error },
    );
  }
}

/** The server does not record which session a statement has waited for, so this reads the present locks. Every login may read them. */
async function describeLockOwners(client: Client, { schema, isOutside }: LockTimeout): Promise<string> {
  const { rows } = await client.query<LockOwner>(
    `select a.pid, a.usename as login, a.application_name as application,
            coalesce(array_agg(distinct c.relname::text) filter (where c.relname is not null), '{}') as tables
       from pg_stat_activity a
       join pg_locks l on l.pid = a.pid and l.granted
       left join pg_class c on c.oid = l.relation and c.relnamespace = to_regnamespace($1) and c.relkind in ('r', 'p')
      where a.datname = current_database() and a.pid <> pg_backend_pid()
      group by a.pid, a.usename, a.application_name
     having count(c.oid) > 0 or $2 and bool_or(a.backend_xmin is not null)
      order by count(c.oid) = 0, a.pid`,
    [quoted(schema), isOutside],
  );
  if (rows.length === 0) return 'The session that had the lock has ended since.';
  const more = rows.length > NAMED_MAX ? ` and ${rows.length - NAMED_MAX} more` : '';
  return `In the way may be ${rows.slice(0, NAMED_MAX).map(describe).join(', ')}${more}.`;
}

function describe({ pid, login, application, tables }: LockOwner): string {
  const who = [
    ...(login === null ? [] : [`login ${quoted(login)}`]),
    ...(application === '' ? [] : [`application "${application}"`]),
  ];
  const what = tables.length > 0 ? `locks on ${tables.join(', ')}` : 'an old snapshot';
  return `process ${pid}${who.length > 0 ? ` (${who.join(', ')})` : ''} with ${what}`;
}
