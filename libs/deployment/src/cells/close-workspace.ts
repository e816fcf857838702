import { setTimeout as pause } from 'node:timers/promises';
import { type AdminSession, OWNER_ROLE, SCHEMA } from '@banking/postgres';

const POLL_MS = 5;

/** The database refuses new scopes with the workspace from now on. @returns when, by the clock of the database */
export async function closeWorkspace(source: AdminSession, workspaceId: number): Promise<string> {
  const [closed] = await setState(source, workspaceId, 'open', 'moving');
  if (closed === undefined) throw new Error(`the workspace ${workspaceId} is not open in its cell`);
  return closed.at;
}

/** Does nothing if it is open. */
export async function reopenWorkspace(source: AdminSession, workspaceId: number): Promise<void> {
  await setState(source, workspaceId, 'moving', 'open');
}

/** @returns one row if the state was the one from which it changes */
async function setState(session: AdminSession, workspaceId: number, from: string, to: string) {
  return session.actAs(OWNER_ROLE, SCHEMA, () =>
    session.query<{ at: string }>(
      `update cell_workspace set state = $3 where workspace_id = $1 and state = $2 returning rfc3339(clock_timestamp()) as at`,
      [workspaceId, from, to],
    ),
  );
}

/**
 * Waits for the scopes that have seen the workspace open. Each holds a lock until its end, and reads the state after it has the lock: so
 * they are the holders of the moment after the change. Taking the lock itself would let later scopes wait, of other workspaces too.
 *
 * @returns the processes of those that are left when the time is over
 */
export async function untilScopesEnded(
  source: AdminSession,
  workspaceId: number,
  isOver: () => boolean,
): Promise<readonly number[]> {
  let left = await holders(source, workspaceId);
  const before = new Set(left.map(({ scope }) => scope));
  while (left.length > 0) {
    if (isOver()) return left.map(({ pid }) => pid);
    await pause(POLL_MS);
    left = (await holders(source, workspaceId)).filter(({ scope }) => before.has(scope));
  }
  return [];
}

/** A key of 64 bits is shown in halves. */
const holders = (source: AdminSession, workspaceId: number) =>
  source.query<{ pid: number; scope: string }>(
    `select l.pid, l.virtualtransaction as scope from pg_locks l
     where l.locktype = 'advisory' and l.granted and l.objsubid = 1
       and l.database = (select oid from pg_database where datname = current_database())
       and (l.classid::bigint << 32) | l.objid::bigint = ${SCHEMA}.workspace_lock_key($1)`,
    [workspaceId],
  );

/**
 * Waits for the database transactions that began before, and may have seen the workspace open. A read of a caller holds no lock. It ends
 * within its time limits.
 */
export async function untilReadsEnded(source: AdminSession, signal?: AbortSignal): Promise<void> {
  const [now] = await source.query<{ at: string }>('select clock_timestamp()::text as at');
  for (;;) {
    signal?.throwIfAborted();
    const [read] = await source.query(
      `select from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name like 'banking %' and xact_start < $1 limit 1`,
      [now!.at],
    );
    if (read === undefined) return;
    await pause(POLL_MS);
  }
}
