import { bind, sqlStatement, type Database, type SqlStatement } from '@banking/postgres';

/** Rows of a table that are read in one database transaction. */
export const RANGE_ROWS = 20_000;

/** The progress of a reader of ranges. */
export interface RangeProgress {
  readonly workspaceId: number;
  /** The kind of rows, such as `transactions`. */
  readonly reading: string;
  /** Rows that were read so far. */
  readonly done: number;
}

export interface RangeOptions {
  /** Default `RANGE_ROWS`. */
  readonly rangeRows?: number | undefined;
  /** Called after each range, outside of any database transaction. The next range is read after it resolves. */
  readonly onRange?: ((progress: RangeProgress) => void | Promise<void>) | undefined;
}

/** The keys above `after`, up to and including `upto`. */
export interface Range {
  readonly after: bigint;
  readonly upto: bigint;
}

/** The queries that find the ranges of a table. */
export interface RangeKey {
  readonly last: SqlStatement<{ key: bigint | null }>;
  readonly next: SqlStatement<{ upto: bigint | null; rows: number }>;
}

/** The statements that find the ranges of a table with a numeric key within the workspace. */
export function rangeKey(table: string, column = 'id'): RangeKey {
  return {
    last: sqlStatement(`last_of_${table}`, `select max(${column}) as key from ${table} where workspace_id = $1`),
    next: sqlStatement(
      `range_of_${table}`,
      `select max(key) as upto, count(*)::int as rows
       from (select ${column} as key from ${table} where workspace_id = $1 and ${column} > $2 and ${column} <= $3
             order by ${column} limit $4) r`,
    ),
  };
}

/**
 * The ranges of a table in the order of its key. They contain every row that was committed before the first range, and later rows with a
 * key in a range not yet read. No range goes beyond the last key of the start.
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
