import {
  type AdminSession,
  type ConnectionOptions,
  OWNER_ROLE,
  quoteName,
  SCHEMA,
  withAdminSession,
} from '@banking/postgres';

/** The number of cells of a deployment at most, home included. */
export const CELLS_MAX = 64;

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
  session: AdminSession,
  number: number,
  floors: ReadonlyMap<string, bigint> = new Map(),
): Promise<void> {
  for (const { name, step } of await session.query<{ name: string; step: bigint }>(SEQUENCES)) {
    if (step === BigInt(CELLS_MAX)) continue;
    // The lock of this change keeps the value below as it is.
    await session.query(`alter sequence ${quoteName(name)} increment by ${CELLS_MAX}`);
    const last = await lastValue(session, name);
    const floor = floors.get(name) ?? 0n;
    const first = firstAbove(last > floor ? last : floor, number);
    await session.query(`alter sequence ${quoteName(name)} restart with ${first}`);
  }
}

/** Steps the sequences that a migration has added to a cell. In a database that is no cell, changes nothing. */
export function stepNewSequences(connection: ConnectionOptions): Promise<void> {
  return withAdminSession(connection, (session) =>
    session.actAs(OWNER_ROLE, SCHEMA, async () => {
      const [cell] = await session.query<{ number: number }>('select number from cell_identity');
      if (cell) await stepSequences(session, cell.number);
    }),
  );
}

/** The last value of each sequence by its name; 0 for one that was never used. */
export async function lastValues(session: AdminSession): Promise<ReadonlyMap<string, bigint>> {
  const values = new Map<string, bigint>();
  for (const { name } of await session.query<{ name: string }>(SEQUENCES)) {
    values.set(name, await lastValue(session, name));
  }
  return values;
}

async function lastValue(session: AdminSession, name: string): Promise<bigint> {
  const [row] = await session.query<{ last: bigint }>(
    `select case when is_called then last_value else last_value - 1 end as last from ${quoteName(name)}`,
  );
  return row!.last;
}

/** The lowest positive id of a cell above a value. */
export function firstAbove(value: bigint, number: number): bigint {
  const size = BigInt(CELLS_MAX);
  const rest = (((BigInt(number) - value) % size) + size) % size;
  return value + (rest === 0n ? size : rest);
}
