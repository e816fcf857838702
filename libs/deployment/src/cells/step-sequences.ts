import { setTimeout as pause } from 'node:timers/promises';
import { type AdminSession, OWNER_ROLE, quoteName, SCHEMA, SQLSTATE, sqlstateOf } from '@banking/postgres';
import { qualified, tablesOfWorkspace } from './tables-of-workspace.js';

type Session = Pick<AdminSession, 'query'>;

/** The number of cells of a deployment at most, home included. */
export const CELLS_MAX = 64;

/** How long callers who draw an id wait at most behind the lock of a sequence, in milliseconds. */
const LOCK_MS = 100;

const SEQUENCES = `
  select c.relname as name, s.seqincrement as step
  from pg_sequence s join pg_class c on c.oid = s.seqrelid
  where c.relnamespace = '${SCHEMA}'::regnamespace
  order by c.relname`;

/**
 * Makes each sequence of the schema give the ids of one cell: those whose remainder by 64 is its number. So ids of two cells never
 * collide. A sequence that does so already is left unchanged.
 *
 * In a database transaction as the owner of the sequences: a process that draws an id meanwhile waits for its end.
 *
 * @param floors the value of each sequence that the ids begin above, by its name
 */
export async function stepSequences(
  session: Session,
  number: number,
  floors: ReadonlyMap<string, bigint> = new Map(),
): Promise<void> {
  for (const { name, step } of await session.query<{ name: string; step: bigint }>(SEQUENCES)) {
    if (step === BigInt(CELLS_MAX)) continue;
    await continueAbove(session, name, number, floors.get(name) ?? 0n);
  }
}

async function continueAbove(session: Session, name: string, number: number, floor: bigint): Promise<void> {
  // The lock of this change keeps the value below as it is. Without it, ids that are drawn meanwhile could be given twice.
  await session.query(`alter sequence ${quoteName(name)} increment by ${CELLS_MAX}`);
  const last = await lastValue(session, qualified(name));
  const first = firstAbove(last > floor ? last : floor, number);
  await session.query(`alter sequence ${quoteName(name)} restart with ${first}`);
}

/**
 * Steps the sequences that a migration has added to a cell, in its database transaction: from its end on, they give the ids of the cell.
 * In a database that is no cell, changes nothing.
 */
export async function stepNewSequences(session: Session): Promise<void> {
  const [early] = await session.query(`select where to_regclass('cell_identity') is null`);
  if (early) return;
  const [cell] = await session.query<{ number: number }>('select number from cell_identity');
  if (cell) await stepSequences(session, cell.number);
}

interface DrawnColumn {
  readonly name: string;
  readonly table: string;
  readonly column: string;
}

/** The columns of moved tables whose values are drawn from a sequence. */
const DRAWN = `
  select s.relname as name, t.relname as table, a.attname as column
  from pg_depend d
    join pg_attrdef v on d.classid = 'pg_attrdef'::regclass and v.oid = d.objid
    join pg_class s on d.refclassid = 'pg_class'::regclass and s.oid = d.refobjid and s.relkind = 'S'
    join pg_class t on t.oid = v.adrelid and not t.relispartition
    join pg_attribute a on a.attrelid = v.adrelid and a.attnum = v.adnum
  where t.relnamespace = '${SCHEMA}'::regnamespace and t.relname = any ($1)
  order by s.relname, t.relname, a.attname`;

/** Where ids of events remain when their rows are deleted: a receiver and a reader continue behind them. */
const EVENTS_BEFORE = [
  ['event_deletion', 'last_id'],
  ['webhook_endpoint', 'cursor_event_id'],
] as const;

/**
 * Makes the ids of a workspace grow also after its move: each sequence continues above the rows of the workspace that were drawn elsewhere,
 * so that an order by id stays the order in which they were written. For a workspace whose rows do not change. May be repeated.
 */
export async function raiseSequences(session: AdminSession, workspaceId: number): Promise<void> {
  const tables = (await tablesOfWorkspace(session)).map(({ name }) => name);
  const before = EVENTS_BEFORE.map(([table, column]) => ({ name: 'event_id_seq', table, column }));
  const drawn = [...(await session.query<DrawnColumn>(DRAWN, [tables])), ...before];
  const highest = drawn.map(
    ({ name, table, column }) =>
      `select '${name}' as name, max(${quoteName(column)}) as id from ${qualified(table)} where workspace_id = $1`,
  );
  const lower = await session.query<{ name: string; id: bigint }>(
    `select q.sequencename as name, max(h.id) as id
     from pg_sequences q join (${highest.join(' union all ')}) h on h.name = q.sequencename
     where q.schemaname = '${SCHEMA}' and h.id >= coalesce(q.last_value, 0)
     group by q.sequencename`,
    [workspaceId],
  );
  for (const { name, id } of lower) await raiseSequence(session, name, id);
}

async function raiseSequence(session: AdminSession, name: string, floor: bigint): Promise<void> {
  const isBelow = async () => (await lastValue(session, qualified(name))) < floor;
  while (await isBelow()) {
    try {
      await session.actAs(OWNER_ROLE, SCHEMA, async () => {
        await session.query(`set local lock_timeout = ${LOCK_MS}`);
        const [cell] = await session.query<{ number: number }>('select number from cell_identity');
        await continueAbove(session, name, cell!.number, floor);
      });
    } catch (error) {
      // A caller draws ids in a long database transaction. Others must not wait behind this one.
      if (sqlstateOf(error) !== SQLSTATE.lockNotAvailable) throw error;
      await pause(LOCK_MS);
    }
  }
}

/** The last value of each sequence by its name; 0 for one that was never used. */
export async function lastValues(session: Session): Promise<ReadonlyMap<string, bigint>> {
  const values = new Map<string, bigint>();
  for (const { name } of await session.query<{ name: string }>(SEQUENCES)) {
    values.set(name, await lastValue(session, qualified(name)));
  }
  return values;
}

async function lastValue(session: Session, sequence: string): Promise<bigint> {
  const [row] = await session.query<{ last: bigint }>(
    `select case when is_called then last_value else last_value - 1 end as last from ${sequence}`,
  );
  return row!.last;
}

/** The lowest positive id of a cell above a value. */
export function firstAbove(value: bigint, number: number): bigint {
  const size = BigInt(CELLS_MAX);
  const rest = (((BigInt(number) - value) % size) + size) % size;
  return value + (rest === 0n ? size : rest);
}
