import { bind, statement, type Database, type Statement } from '@banking/postgres';

/** Rows of a table that are read in one database transaction. */
export const RANGE_ROWS = 20_000;

/** How far a reader is that works in ranges. */
export interface RangeProgress {
  readonly workspaceId: number;
  /** What is read, such as `transactions`. */
  readonly reading: string;
  /** Rows of it that were read so far. */
  readonly done: number;
}

export interface RangeOptions {
  /** Default `RANGE_ROWS`. */
  readonly rangeRows?: number | undefined;
  /** Called after each range, outside of any database transaction. The next range is read once it has resolved. */
  readonly onRange?: ((progress: RangeProgress) => void | Promise<void>) | undefined;
}

/** The keys above `after`, up to and including `upto`. */
export interface Range {
  readonly after: bigint;
  readonly upto: bigint;
}

type RangeKey = Statement<{ upto: bigint | null; rows: number }>;

/** The statement that finds the end of the next range of a table with a numeric key within the workspace. */
export function rangeKey(table: string, column = 'id', where = 'true'): RangeKey {
  return statement(
    `range_of_${table}`,
    `select max(key) as upto, count(*)::int as rows
     from (select ${column} as key from ${table} where workspace_id = $1 and ${column} > $2 and ${where} order by ${column} limit $3) r`,
  );
}

/**
 * The ranges of a table, in the order of its key. A range ends where it ended when it was found: rows that are committed later with a
 * lower key are in no range, and every row that was committed before the first range is in one.
 */
export async function* rangesOf(
  database: Database,
  workspaceId: number,
  [reading, key]: readonly [string, RangeKey],
  { rangeRows = RANGE_ROWS, onRange }: RangeOptions = {},
): AsyncGenerator<Range, void, undefined> {
  let after = 0n;
  let done = 0;
  for (;;) {
    const end = await database.read({ workspaces: [workspaceId] }, bind(key, workspaceId, after, rangeRows));
    if (!end || end.upto === null) return;
    yield { after, upto: end.upto };
    after = end.upto;
    done += end.rows;
    await onRange?.({ workspaceId, reading, done });
    if (end.rows < rangeRows) return;
  }
}
