import { setTimeout as pause } from 'node:timers/promises';
import { type AdminSession, SCHEMA } from '@banking/postgres';
import { DeploymentError } from '../explain-failure.js';
import { asOwnerOf } from './act-as.js';
import { createPublication, dropPublication } from './publication.js';
import { createSubscription, dropSlot, dropSubscription, isSubscribed } from './subscription.js';
import { qualified, tablesOfWorkspace } from './tables-of-workspace.js';
import type { MoveCells, MoveSessions } from './move-record.js';

const POLL_MS = 50;
const MARK_POLL_MS = 5;

/** Of the publication and the subscription, each in its database. */
const nameOf = ({ workspaceId }: MoveCells) => `banking_move_${workspaceId}`;

/** Slots of all databases of a server have one name space. */
async function slotOf(source: AdminSession, cells: MoveCells): Promise<string> {
  const [database] = await source.query<{ name: string }>('select current_database() as name');
  const prefix = database!.name
    .toLowerCase()
    .replace(/[^a-z0-9_]/g, '_')
    .slice(0, 30);
  return `${prefix}_${nameOf(cells)}`;
}

/** Publishes the rows of the workspace at the source. @throws DeploymentError where the server cannot */
export async function publishWorkspace(source: AdminSession, cells: MoveCells): Promise<void> {
  const name = nameOf(cells);
  const [server] = await source.query<{ level: string; isPublished: boolean }>(
    `select current_setting('wal_level') as level, exists (select from pg_publication where pubname = $1) as "isPublished"`,
    [name],
  );
  if (server?.level !== 'logical') {
    throw new DeploymentError(
      `The server of the cell "${cells.source}" does not support logical replication. Set wal_level = logical there and restart it.`,
    );
  }
  if (!server.isPublished) {
    const tables = (await tablesOfWorkspace(source)).map(
      (table) => `${qualified(table.name)} where (${table.condition(cells.workspaceId)})`,
    );
    await createPublication(source, name, tables.join(', '));
  }
  await source.query(
    `select pg_create_logical_replication_slot($1, 'pgoutput') where not exists (select from pg_replication_slots where slot_name = $1)`,
    [await slotOf(source, cells)],
  );
}

/** Lets the target copy the rows and follow each change. */
export async function subscribe({ source, target }: MoveSessions, cells: MoveCells, address: string): Promise<void> {
  if (!(await isSubscribed(target, nameOf(cells)))) {
    const slot = await slotOf(source, cells);
    return createSubscription(target, { name: nameOf(cells), address, slot, stopsAtError: true });
  }
  // A copy that stopped at an error continues.
  await target.query(`alter subscription ${nameOf(cells)} enable`);
}

interface CopyProgress {
  readonly copied: number;
  readonly tables: number;
}

/** Waits until all rows from before the subscription are copied. A large workspace takes as long as it needs. */
export async function untilCopied(
  target: AdminSession,
  cells: MoveCells,
  onProgress: (progress: CopyProgress) => void,
  signal: AbortSignal | undefined,
): Promise<void> {
  let before = -1;
  for (;;) {
    signal?.throwIfAborted();
    const [progress] = await target.query<CopyProgress & { isEnabled: boolean }>(
      `select count(*) filter (where r.srsubstate = 'r')::int as copied, count(*)::int as tables, bool_and(s.subenabled) as "isEnabled"
       from pg_subscription_rel r join pg_subscription s on s.oid = r.srsubid
       where s.subname = $1 and s.subdbid = (select oid from pg_database where datname = current_database())`,
      [nameOf(cells)],
    );
    const { copied, tables, isEnabled } = progress!;
    if (tables > 0 && copied === tables) return;
    if (isEnabled === false) throw copyStopped(cells);
    if (copied !== before) onProgress({ copied, tables });
    before = copied;
    await pause(POLL_MS);
  }
}

const copyStopped = ({ target }: MoveCells) =>
  new DeploymentError(
    `The copy has stopped. The log of the PostgreSQL server of the cell "${target}" has the reason. Remove it, and run the command again: ` +
      `it continues.`,
  );

/** Ends the copy at the target, also if the source does not answer. What the source writes from now on does not arrive. */
export const unsubscribe = (target: AdminSession, cells: MoveCells): Promise<void> =>
  dropSubscription(target, nameOf(cells));

/** Removes the slot and the publication of a copy that has ended. */
export async function unpublish(source: AdminSession, cells: MoveCells): Promise<void> {
  await dropSlot(source, await slotOf(source, cells));
  await dropPublication(source, nameOf(cells));
}

/** The source has written nothing yet that the target lacks, if it returns in time. */
export async function untilFollowed(
  { source, target }: MoveSessions,
  cells: MoveCells,
  isOver: () => boolean,
): Promise<boolean> {
  const mark = await writeMark(source, cells.workspaceId);
  for (;;) {
    const [copy] = await target.query<{ number: bigint | null; isEnabled: boolean }>(
      `select subenabled as "isEnabled", (select number from ${SCHEMA}.move_mark where workspace_id = $2) as number
       from pg_subscription where subname = $1 and subdbid = (select oid from pg_database where datname = current_database())`,
      [nameOf(cells), cells.workspaceId],
    );
    if (copy?.number != null && copy.number >= mark) return true;
    if (copy?.isEnabled !== true) throw copyStopped(cells);
    if (isOver()) return false;
    await pause(MARK_POLL_MS);
  }
}

/** Commits are replicated in their order, so who has the mark has what was committed before. */
async function writeMark(source: AdminSession, workspaceId: number): Promise<bigint> {
  const [mark] = await asOwnerOf(source, workspaceId, () =>
    source.query<{ number: bigint }>(
      `insert into move_mark as m (workspace_id) values ($1)
       on conflict (workspace_id) do update set number = m.number + 1 returning number`,
      [workspaceId],
    ),
  );
  return mark!.number;
}
