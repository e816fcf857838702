import { setTimeout as pause } from 'node:timers/promises';
import type { AdminSession } from '@banking/postgres';
import { asOwner } from './act-as.js';

const POLL_MS = 5;
/** Events of one database transaction. */
const BATCH = 1_000;

/**
 * Makes events of the changes of a workspace that are committed, so that they move with it. The outbox does not move: one of its rows may
 * hold changes of several workspaces.
 *
 * @returns false if the time is over before
 */
export async function untilRecorded(
  source: AdminSession,
  workspaceId: number,
  isOver: () => boolean,
): Promise<boolean> {
  while (await hasChanges(source, workspaceId)) {
    if (isOver()) return false;
    const [row] = await asOwner(source, () =>
      source.query<{ recorded: number | null }>('select record_changes($1) as recorded', [BATCH]),
    );
    // The worker is recording.
    if (row?.recorded === null) await pause(POLL_MS);
  }
  return true;
}

async function hasChanges(source: AdminSession, workspaceId: number): Promise<boolean> {
  const [row] = await asOwner(source, () =>
    source.query<{ exists: boolean }>(
      `select exists (
         select from change_outbox o
         where $1 = any(o.workspace_ids)
           or exists (select from jsonb_array_elements(o.changes) e (change) where (e.change ->> 0)::bigint = $1)) as exists`,
      [workspaceId],
    ),
  );
  return row?.exists === true;
}
