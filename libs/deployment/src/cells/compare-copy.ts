import { setTimeout as pause } from 'node:timers/promises';
import { type AdminSession, bind, type Database, sqlStatement, type SqlStatement } from '@banking/postgres';
import { READ_SLOTS } from '@banking/operations';
import { asOwner } from './act-as.js';

/** The tables that are written at home, and that every other cell has a copy of. */
export const COPIED = [
  ...['app', 'app_user', 'user_identity', 'app_membership', 'workspace', 'workspace_role', 'member'],
  ...['cell', 'workspace_place'],
] as const;

/** What holds of each copy. */
export const COPY_CHECK = 'every cell has the directory of home';

const PAGE_ROWS = 1_000;
const POLL_MS = 50;
const MAX_ID = 9_223_372_036_854_775_807n;

interface Digest {
  readonly id: bigint;
  readonly digest: string;
}

const DIGESTS = sqlStatement<Digest>('directory_digests', 'select id, digest from directory_digests($1, $2, $3, $4)');
const POSITION = sqlStatement<{ position: string }>('position_of_log', 'select pg_current_wal_lsn()::text as position');
const HAS_CONFIRMED = sqlStatement<{ has: boolean }>(
  'has_copy_confirmed',
  'select exists (select from pg_replication_slots where slot_name = $1 and confirmed_flush_lsn >= $2::pg_lsn) as has',
);

/** Runs a statement in one database. */
export type RunStatement = <Row>(statement: SqlStatement<Row>, ...values: unknown[]) => Promise<readonly Row[]>;

/** As a role that verifies. */
export const inDatabase =
  (database: Database): RunStatement =>
  async (statement, ...values) =>
    (await database.pipeline({}, [bind(statement, ...values)] as const))[0];

export const inSession =
  (session: AdminSession): RunStatement =>
  <Row>({ text }: SqlStatement<Row>, ...values: unknown[]) =>
    asOwner(session, () => session.query<Row & object>(text, values));

/** Rows of a table that differ: those of one user or workspace, by the id that the digests are made by. */
export interface DifferingRows {
  readonly table: string;
  readonly id: bigint;
  /** The digest of its rows; undefined without any. */
  readonly atHome: string | undefined;
  readonly inCell: string | undefined;
}

/** Compares the directory of home with a copy, a page of a table each step. A copy that follows differs for a moment. */
export async function* differingRows(
  home: RunStatement,
  cell: RunStatement,
): AsyncGenerator<readonly DifferingRows[], void, undefined> {
  for (const table of COPIED) {
    for (let after = -1n; after < MAX_ID;) {
      const there = await home(DIGESTS, table, after, MAX_ID, PAGE_ROWS);
      const upto = there.length < PAGE_ROWS ? MAX_ID : there.at(-1)!.id;
      yield differences(table, there, await cell(DIGESTS, table, after, upto, null));
      after = upto;
    }
  }
}

function differences(table: string, there: readonly Digest[], here: readonly Digest[]): readonly DifferingRows[] {
  const [atHome, inCell] = [there, here].map((rows) => new Map(rows.map(({ id, digest }) => [id, digest])));
  return [...new Set([...atHome!.keys(), ...inCell!.keys()])]
    .map((id) => ({ table, id, atHome: atHome!.get(id), inCell: inCell!.get(id) }))
    .filter((one) => one.atHome !== one.inCell);
}

/** What a comparison has found. */
export interface CopyState {
  /** The rows that the copy will never receive. */
  readonly lost: readonly DifferingRows[];
  /** Whether the copy has received what home had committed. Without that, rows that differ say nothing. */
  readonly isFollowing: boolean;
}

/**
 * Those rows that the copy will never receive: they differ in the same way after it has received what home had committed.
 *
 * @param waitMs how long the copy may need for that
 */
export async function lostRows(
  home: RunStatement,
  cell: RunStatement,
  slot: string,
  differing: readonly DifferingRows[],
  waitMs: number,
): Promise<CopyState> {
  if (differing.length === 0) return { lost: [], isFollowing: true };
  const [log] = await home(POSITION);
  const untilMs = performance.now() + waitMs;
  for (;;) {
    const [confirmed] = await home(HAS_CONFIRMED, slot, log!.position);
    if (confirmed!.has) break;
    if (performance.now() > untilMs) return { lost: [], isFollowing: false };
    await pause(POLL_MS);
  }
  const lost: DifferingRows[] = [];
  for (const rows of differing) {
    const { table, id } = rows;
    const digest = async (run: RunStatement) => (await run(DIGESTS, table, id - 1n, id, null))[0]?.digest;
    // The copy first: what home has committed since is not missing.
    if ((await digest(cell)) === rows.inCell && (await digest(home)) === rows.atHome) lost.push(rows);
  }
  return { lost, isFollowing: true };
}

/** Compares the whole directory. @param slot undefined if home has none for the copy, which then lacks each row that differs */
export async function compareCopy(
  home: RunStatement,
  cell: RunStatement,
  slot: string | undefined,
  waitMs: number,
): Promise<CopyState> {
  const differing: DifferingRows[] = [];
  for await (const some of differingRows(home, cell)) differing.push(...some);
  if (slot === undefined) return { lost: differing, isFollowing: false };
  return lostRows(home, cell, slot, differing, waitMs);
}

/** The slot of the copy of a cell at home. Undefined if there is none. `isLost` if the copy cannot continue from it. */
export async function slotOfCopy(
  home: RunStatement,
  cellName: string,
): Promise<{ readonly slot: string | undefined; readonly isLost: boolean }> {
  const slots = await home(READ_SLOTS);
  const found = slots.find(({ cell }) => cell === cellName);
  return { slot: found?.slot ?? undefined, isLost: found?.is_lost ?? true };
}

const SHOWN_MAX = 5;

/** @param lost none where the copy cannot continue, and has all so far */
export function describeLost(cellName: string, lost: readonly DifferingRows[]): string {
  const shown = lost.slice(0, SHOWN_MAX).map(({ table, id }) => `${table} ${id}`);
  const more = lost.length > SHOWN_MAX ? ` and ${lost.length - SHOWN_MAX} more` : '';
  const rows = shown.length === 0 ? '' : ` (${shown.join(', ')}${more})`;
  return `the copy of the directory in the cell ${cellName} ${lost.length === 0 ? 'cannot follow home' : 'lacks changes of home'}${rows}: run banking cell add ${cellName}`;
}
