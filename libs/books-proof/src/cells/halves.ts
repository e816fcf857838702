import { setTimeout as pause } from 'node:timers/promises';
import { Refusal, RETRY_AFTER_S } from '@banking/domain';
import { bind, type Database, isServedElsewhere, lookup, sqlStatement } from '@banking/postgres';
import { currencyCode } from '@banking/ledger';

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

const CLOSED = sqlStatement<{ id: bigint }>(
  'workspaces_closed_in_cell',
  'select u.id from unnest($1::bigint[]) u(id) where not is_served_here(u.id)',
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
  /** The workspaces that were not open where home places them, which nothing is read of any more. */
  readonly leftOut = new Set<number>();

  /** @param movedWithinMs how long a workspace that is being moved is waited for before it is left out */
  constructor(
    readonly cells: readonly CellBooks[],
    private readonly movedWithinMs = MOVED_WITHIN_MS,
  ) {}

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
   * Reads rows of workspaces, each where its workspace is. A workspace that is being moved is waited for, and then left out.
   *
   * @throws Refusal `unavailable` if a database is away
   */
  async readWhereOpen<T>(
    workspaceIds: readonly number[],
    read: (database: Database, workspaceIds: readonly number[]) => Promise<readonly T[]>,
  ): Promise<T[]> {
    for (;;) {
      const ids = [...new Set(workspaceIds)].filter((id) => !this.leftOut.has(id));
      try {
        const found: (readonly T[])[] = [];
        for (const [number, own] of await this.placesOf(ids)) found.push(await read(this.of(number).database, own));
        return found.flat();
      } catch (error) {
        if (!isServedElsewhere(error)) throw error;
      }
      await this.untilOpen(ids);
    }
  }

  /** Waits until each of the workspaces is open where home places it. Those that are not in time are left out. */
  async untilOpen(workspaceIds: readonly number[]): Promise<void> {
    const untilMs = performance.now() + this.movedWithinMs;
    for (;;) {
      const closed = await this.closedAmong(workspaceIds);
      if (closed.length === 0) return;
      if (performance.now() >= untilMs) {
        for (const id of closed) this.leftOut.add(id);
        return;
      }
      await pause(POLL_MS);
    }
  }

  /** Those of the workspaces that are not open where home places them. */
  async closedAmong(workspaceIds: readonly number[]): Promise<readonly number[]> {
    const closed: number[] = [];
    for (const [number, ids] of await this.placesOf(workspaceIds)) {
      const [rows] = await this.of(number).database.pipeline({}, [bind(CLOSED, ids)] as const);
      closed.push(...rows.map(({ id }) => Number(id)));
    }
    return closed;
  }

  /** The workspaces by the number of their cell. One may have moved to a cell that was added since: its rows are not missing, so `of` throws. */
  private async placesOf(workspaceIds: readonly number[]): Promise<ReadonlyMap<number, readonly number[]>> {
    const [rows] = await this.home.pipeline({}, [bind(PLACES, workspaceIds)] as const);
    const byCell = new Map<number, number[]>();
    for (const [id, number] of placesFrom(rows)) byCell.set(number, [...(byCell.get(number) ?? []), id]);
    return byCell;
  }
}

export const beingMoved = (cause: unknown): Refusal =>
  new Refusal('unavailable', 'Workspaces are moved one after another. Verify again when none is being moved.', {
    retryAfterSeconds: RETRY_AFTER_S,
    cause,
  });

const placesFrom = (rows: readonly { readonly workspace_id: bigint; readonly cell_number: number }[]) =>
  new Map(rows.map(({ workspace_id, cell_number }) => [Number(workspace_id), cell_number]));

/** What both halves of a payment between cells state alike. */
interface Half {
  readonly origin_workspace_id: bigint;
  readonly origin_transaction_id: bigint;
  readonly key_nonce: string;
  readonly account_code: string;
  readonly currency_id: number;
  readonly amount: bigint;
}

/** The payer's half. */
export interface Crossing extends Half {
  readonly status: 'due' | 'completed' | 'returned';
}

/** The payee's half. */
export interface Arrival extends Half {
  readonly workspace_id: bigint;
  readonly outcome: 'accepted' | 'refused';
}

const CROSSING = `workspace_id as origin_workspace_id, transaction_id as origin_transaction_id, key_nonce, account_code, currency_id,
  amount, status`;
const ARRIVAL = `workspace_id, origin_workspace_id, origin_transaction_id, key_nonce, account_code, currency_id, amount, outcome`;

const FINISHED_CROSSINGS = sqlStatement<Crossing>(
  'finished_crossings',
  `select ${CROSSING} from crossing
   where workspace_id = $1 and transaction_id > $2 and status <> 'due'
   order by transaction_id limit $3`,
);
const ARRIVALS = sqlStatement<Arrival>(
  'arrivals_to_verify',
  `select ${ARRIVAL} from arrival
   where workspace_id = $1 and (origin_workspace_id, origin_transaction_id, key_nonce) > ($2, $3, $4)
   order by origin_workspace_id, origin_transaction_id, key_nonce limit $5`,
);
const CROSSINGS_OF = sqlStatement<Crossing>(
  'crossings_of_arrivals',
  `select c.* from unnest($1::bigint[], $2::bigint[]) u(workspace, transaction)
   cross join ${lookup(`select ${CROSSING} from crossing where workspace_id = u.workspace and transaction_id = u.transaction`)} c`,
);
const ARRIVALS_OF = sqlStatement<Arrival>(
  'arrivals_of_crossings',
  `select a.* from unnest($1::bigint[], $2::bigint[], $3::bigint[]) u(workspace, origin, transaction)
   cross join ${lookup(`select ${ARRIVAL} from arrival
     where workspace_id = u.workspace and origin_workspace_id = u.origin and origin_transaction_id = u.transaction`)} a`,
);
const WORKSPACES_OF_CODES = sqlStatement<{ code: string; workspace_id: bigint }>(
  'workspaces_of_account_codes',
  'select code, workspace_id from account_place where code = any($1::text[])',
);

/** The next crossings of a workspace that are not due any more. Without a last one, the first. */
export async function nextFinishedCrossings(
  database: Database,
  workspaceId: number,
  last: Crossing | undefined,
  limit: number,
): Promise<readonly Crossing[]> {
  const query = bind(FINISHED_CROSSINGS, workspaceId, last?.origin_transaction_id ?? 0n, limit);
  return (await database.pipeline({ workspaces: [workspaceId] }, [query] as const))[0];
}

/** The next arrivals of a workspace. Without a last one, the first. */
export async function nextArrivals(
  database: Database,
  workspaceId: number,
  last: Arrival | undefined,
  limit: number,
): Promise<readonly Arrival[]> {
  const after = [last?.origin_workspace_id ?? 0n, last?.origin_transaction_id ?? 0n, last?.key_nonce ?? ''];
  const query = bind(ARRIVALS, workspaceId, ...after, limit);
  return (await database.pipeline({ workspaces: [workspaceId] }, [query] as const))[0];
}

/** The crossings of arrivals whose payers are in workspaces of one cell. */
export async function crossingsOf(
  database: Database,
  workspaces: readonly number[],
  halves: readonly Half[],
): Promise<readonly Crossing[]> {
  const own = halves.filter(({ origin_workspace_id }) => workspaces.includes(Number(origin_workspace_id)));
  const query = bind(CROSSINGS_OF, ...transactionsOf(own));
  return (await database.pipeline({ workspaces }, [query] as const))[0];
}

/** The arrivals of crossings in workspaces of one cell. @param payees the workspace of each code of an account */
export async function arrivalsOf(
  database: Database,
  workspaces: readonly number[],
  halves: readonly Half[],
  payees: ReadonlyMap<string, number>,
): Promise<readonly Arrival[]> {
  const own = halves.filter(({ account_code }) => workspaces.includes(payees.get(account_code) ?? 0));
  const query = bind(
    ARRIVALS_OF,
    own.map(({ account_code }) => payees.get(account_code)),
    ...transactionsOf(own),
  );
  return (await database.pipeline({ workspaces }, [query] as const))[0];
}

/** The workspace of each code of an account, from home. */
export async function workspacesOfCodes(home: Database, halves: readonly Half[]): Promise<ReadonlyMap<string, number>> {
  const codes = [...new Set(halves.map(({ account_code }) => account_code))];
  const [rows] = await home.pipeline({}, [bind(WORKSPACES_OF_CODES, codes)] as const);
  return new Map(rows.map(({ code, workspace_id }) => [code, Number(workspace_id)]));
}

/** The same for both halves of one payment. */
export const keyOf = ({ origin_workspace_id, origin_transaction_id, key_nonce }: Half): string =>
  `${origin_workspace_id}/${origin_transaction_id}/${key_nonce}`;

/** As findings name it. */
export const nameOf = ({ origin_workspace_id, origin_transaction_id }: Half): string =>
  `the crossing of transaction ${origin_transaction_id} of workspace ${origin_workspace_id}`;

/** How two halves of one payment differ; undefined if they state the same. */
export function differenceOf(crossing: Crossing, arrival: Arrival): string | undefined {
  if (crossing.amount !== arrival.amount || crossing.currency_id !== arrival.currency_id) {
    return `has ${shown(crossing)}, and its arrival in workspace ${arrival.workspace_id} has ${shown(arrival)}`;
  }
  return crossing.account_code === arrival.account_code
    ? undefined
    : `and its arrival in workspace ${arrival.workspace_id} name different accounts`;
}

const shown = ({ amount, currency_id }: Half) => `${amount} ${currencyCode(currency_id)}`;

const transactionsOf = (halves: readonly Half[]) => [
  halves.map(({ origin_workspace_id }) => origin_workspace_id),
  halves.map(({ origin_transaction_id }) => origin_transaction_id),
];
