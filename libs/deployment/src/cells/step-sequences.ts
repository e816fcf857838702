import { setTimeout as pause } from 'node:timers/promises';
import {
  bind,
  type Database,
  sqlStatement,
  type AdminSession,
  OWNER_ROLE,
  quoteName,
  SCHEMA,
  SQLSTATE,
  sqlstateOf,
} from '@banking/postgres';
import { HOME_CELL } from '@banking/process';
import { DeploymentError } from '../explain-failure.js';
import { qualified, tablesOfWorkspace } from './tables-of-workspace.js';

interface Identity {
  readonly name: string;
  /** The further cells that home knows; null without any. */
  readonly others: readonly string[] | null;
  /** Whether a sequence of the schema counts by one, as after a migration that ended early. Its ids would be those of other cells too. */
  readonly lacks_steps: boolean;
  /** Whether the directory, which is copied last, contains this cell. Until then, reference data must come from home alone. */
  readonly is_listed: boolean;
}

const READ_IDENTITY = sqlStatement<Identity>(
  'read_cell_identity',
  `select i.name, (select array_agg(c.name order by c.name) from cell c where c.number <> 0) as others,
          exists (select from pg_sequence s join pg_class c on c.oid = s.seqrelid
                  where c.relnamespace = 'banking'::regnamespace and s.seqincrement = 1) as lacks_steps,
          exists (select from cell c where c.name = i.name) as is_listed
   from cell_identity i`,
);

/** The cell is being added. A process that serves others tries it again. */
export class UnfinishedCellError extends DeploymentError {}

/** Which cell a process expects a database to be. Without a name, the only database of its deployment. */
interface ExpectedCell {
  readonly name?: string | undefined;
  /** At home: the names of the further cells that are configured. */
  readonly others?: readonly string[] | undefined;
  /** At home: whether cells may be configured that are added later. */
  readonly mayBeAdded?: boolean;
}

/**
 * Compares a database with the configuration. A process that knows fewer cells than there are would show workspaces of the others as
 * empty.
 *
 * @throws DeploymentError when they differ, with the change to make
 */
export async function checkCell(database: Database, { name, others, mayBeAdded = false }: ExpectedCell): Promise<void> {
  const stored = await database.read({}, bind(READ_IDENTITY));
  if (name === undefined) {
    if (stored === undefined) return;
    throw new DeploymentError(
      `The database is the cell "${stored.name}" of a deployment with several databases. Set CELLS_FILE, or CELLS for embedded databases.`,
    );
  }
  if (stored === undefined) {
    throw new DeploymentError(
      `The database is configured as the cell "${name}" and is no cell yet. Run banking cell add, or remove CELLS_FILE and CELLS.`,
    );
  }
  if (stored.name !== name) {
    throw new DeploymentError(
      `The database is configured as the cell "${name}" and is the cell "${stored.name}". Correct the configuration.`,
    );
  }
  if (stored.lacks_steps) {
    throw new DeploymentError(
      `The cell "${name}" has a sequence whose ids other cells may give too. Run banking cell add again, for this cell or, at home, for any.`,
    );
  }
  if (!stored.is_listed) {
    throw new UnfinishedCellError(
      `The cell "${name}" is not complete yet. Wait for the end of banking cell add ${name}, or run it again.`,
    );
  }
  if (name !== HOME_CELL) return;
  const [known, configured] = [stored.others ?? [], [...(others ?? [])].sort()];
  const missing = known.filter((one) => !configured.includes(one));
  const unknown = configured.filter((one) => !known.includes(one));
  if (missing.length > 0) {
    throw new DeploymentError(
      `The configuration lacks ${missing.join(', ')} of the cells. Add them to CELLS_FILE or raise CELLS.`,
    );
  }
  if (unknown.length > 0 && !mayBeAdded) {
    throw new DeploymentError(
      `The deployment has no cell ${unknown.join(', ')} yet. Run banking cell add ${unknown[0]}.`,
    );
  }
}

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
 * so that an order by id stays the order in which they were written. No list orders legs of own accounts by their ids. For a workspace whose
 * rows do not change. May be repeated.
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
