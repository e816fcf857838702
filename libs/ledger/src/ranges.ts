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

/** How the ranges of a table are found. */
export interface RangeKey {
  readonly last: Statement<{ key: bigint | null }>;
  readonly next: Statement<{ upto: bigint | null; rows: number }>;
}

/** The statements that find the ranges of a table with a numeric key within the workspace. */
export function rangeKey(table: string, column = 'id'): RangeKey {
  return {
    last: statement(`last_of_${table}`, `select max(${column}) as key from ${table} where workspace_id = $1`),
    next: statement(
      `range_of_${table}`,
      `select max(key) as upto, count(*)::int as rows
       from (select ${column} as key from ${table} where workspace_id = $1 and ${column} > $2 and ${column} <= $3
             order by ${column} limit $4) r`,
    ),
  };
}

/**
 * The ranges of a table, in the order of its key. Every row that was committed before the first range is in one. Of the rows that are
 * committed later, those with a key in a range that is still to come are read too, and no row above the last key of the start.
 */
export async function* rangesOf(
  database: Database,
  workspaceId: number,
  [reading, { last, next }]: readonly [string, RangeKey],
  { rangeRows = RANGE_ROWS, onRange }: RangeOptions = {},
): AsyncGenerator<Range, void, undefined> {
  const scope = { workspaces: [workspaceId] };
  const end = (await database.read(scope, bind(last, workspaceId)))?.key ?? 0n;
  let done = 0;
  for (let after = 0n; after < end;) {
    const range = await database.read(scope, bind(next, workspaceId, after, end, rangeRows));
    if (!range || range.upto === null) return;
    yield { after, upto: range.upto };
    after = range.upto;
    done += range.rows;
    await onRange?.({ workspaceId, reading, done });
  }
}
