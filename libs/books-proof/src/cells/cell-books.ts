import { setTimeout as pause } from 'node:timers/promises';
import { Refusal, RETRY_AFTER_S } from '@banking/domain';
import { bind, type Database, isServedElsewhere, sqlStatement } from '@banking/postgres';

/** The database of a cell. Number 0 is home. */
export interface CellBooks {
  readonly number: number;
  readonly name: string;
  readonly database: Database;
}

/** A workspace moves in seconds. */
const MOVED_WITHIN_MS = 15_000;
const POLL_MS = 100;

const PLACES = sqlStatement<{ workspace_id: bigint; cell_number: number }>(
  'places_of_workspaces',
  'select workspace_id, cell_number from workspace_place where workspace_id = any($1::bigint[])',
);
const ALL_PLACES = sqlStatement<{ workspace_id: bigint; cell_number: number }>(
  'places_of_all_workspaces',
  'select workspace_id, cell_number from workspace_place order by workspace_id',
);

const IDENTITY = sqlStatement<{ number: number; name: string }>(
  'identity_of_cell',
  'select number, name from cell_identity',
);

/** @throws Error if the database is no cell */
export async function cellBooksOf(database: Database): Promise<CellBooks> {
  const identity = await database.read({}, bind(IDENTITY));
  if (identity === undefined) throw new Error('the database is no cell');
  return { ...identity, database };
}

/** The cells of a deployment, as far as a verification over all of them reads. */
export class AllCells {
  constructor(readonly cells: readonly CellBooks[]) {}

  get home(): Database {
    return this.of(0).database;
  }

  of(number: number): CellBooks {
    const cell = this.cells.find((one) => one.number === number);
    if (cell === undefined) throw new Error(`the verification lacks the cell ${number}, in which workspaces are`);
    return cell;
  }

  /** The number of the cell of each workspace. */
  async places(): Promise<ReadonlyMap<number, number>> {
    const [rows] = await this.home.pipeline({}, [bind(ALL_PLACES)] as const);
    return placesFrom(rows);
  }

  /**
   * Reads rows of workspaces, each where its workspace is. A workspace that is being moved is waited for.
   *
   * @throws Refusal `unavailable` if a database is away, or a move takes longer than 15 seconds
   */
  async readWhereOpen<T>(
    workspaceIds: readonly number[],
    read: (database: Database, workspaceIds: readonly number[]) => Promise<readonly T[]>,
  ): Promise<T[]> {
    const ids = [...new Set(workspaceIds)];
    return whileMoving(async () => {
      const [rows] = await this.home.pipeline({}, [bind(PLACES, ids)] as const);
      const places = placesFrom(rows);
      const found: T[] = [];
      // A workspace may have moved to a cell that was added since: its rows are not missing, so `of` throws.
      for (const number of new Set(places.values())) {
        const own = ids.filter((id) => places.get(id) === number);
        found.push(...(await read(this.of(number).database, own)));
      }
      return found;
    });
  }
}

/** Repeats a read that met a workspace that its cell does not serve. */
async function whileMoving<T>(read: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + MOVED_WITHIN_MS;
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!isServedElsewhere(error)) throw error;
      if (performance.now() > untilMs) throw beingMoved(error);
    }
    await pause(POLL_MS);
  }
}

export const beingMoved = (cause: unknown): Refusal =>
  new Refusal('unavailable', 'A workspace is being moved to another database. Verify again when it is open.', {
    retryAfterSeconds: RETRY_AFTER_S,
    cause,
  });

const placesFrom = (rows: readonly { readonly workspace_id: bigint; readonly cell_number: number }[]) =>
  new Map(rows.map(({ workspace_id, cell_number }) => [Number(workspace_id), cell_number]));
