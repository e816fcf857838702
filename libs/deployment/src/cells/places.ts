import { setTimeout as pause } from 'node:timers/promises';
import { Refusal, RETRY_AFTER_S, type WorkspaceId } from '@banking/domain';
import { type AccountCodes, newAccountCode } from '@banking/operations';
import { bind, type Database, sqlStatement, isUnavailable } from '@banking/postgres';
import { ExpiringCache } from '@banking/process';
import { DeploymentError } from '../explain-failure.js';
import type { RunStatement } from './compare-copy.js';

/** Any number of workspaces that are in use at once. A place takes about 100 bytes. */
const PLACES_MAX = 100_000;
/** A random code is almost never in use. */
const CODE_TRIES = 3;

const PLACE_OF = sqlStatement<{ cell_number: number }>(
  'place_of_workspace',
  'select cell_number from workspace_place where workspace_id = $1',
);
const PLACE_OF_CODE = sqlStatement<{ workspace_id: bigint }>(
  'place_of_account_code',
  'select workspace_id from account_place where code = $1',
);
/** The workspace may be in another cell, so the usual scope would refuse it at home. */
const SCOPE_OF_CODE = sqlStatement(
  'scope_account_place',
  `select set_config('app.workspaces', '{' || $1::bigint || '}', true)`,
);
const RESERVE_CODE = sqlStatement<{ code: string }>(
  'reserve_account_code',
  'insert into account_place (code, workspace_id) values ($1, $2) on conflict do nothing returning code',
);

/**
 * The cell of each workspace, by home. A place is remembered without a limit of time, because the cell itself refuses a workspace that it
 * does not serve; the caller then reads the place again.
 */
export class Places {
  private readonly cellNumbers = new ExpiringCache<number>({ entriesMax: PLACES_MAX, ttlMs: Infinity });
  /** The workspace of a code never changes. A code without an account may get one. */
  private readonly workspacesOfCodes = new ExpiringCache<WorkspaceId | undefined>({
    entriesMax: PLACES_MAX,
    ttlMs: (workspaceId) => (workspaceId === undefined ? 0 : Infinity),
  });

  /** @param copies the databases of cells that have a copy of the places, for the time when home is away */
  constructor(
    private readonly home: Database,
    private readonly copies: () => readonly Database[],
  ) {}

  /** The number of the cell if it is known, without a round trip. */
  known(workspaceId: WorkspaceId): number | undefined {
    return this.cellNumbers.peek(String(workspaceId));
  }

  /** @throws Refusal `unavailable` if home is away and no copy answers */
  cellOf(workspaceId: WorkspaceId): Promise<number> {
    return this.cellNumbers.get(String(workspaceId), () => this.read(workspaceId));
  }

  /** Reads the place even if one is remembered. @throws as `cellOf` */
  readAgain(workspaceId: WorkspaceId): Promise<number> {
    return this.cellNumbers.refresh(String(workspaceId), () => this.read(workspaceId));
  }

  /** The workspace of a code of an account; undefined if no account of any cell has it. @throws Refusal `unavailable` if home is away */
  workspaceOfCode(code: string): Promise<WorkspaceId | undefined> {
    return this.workspacesOfCodes.get(code, async () => {
      const row = await this.home.read({}, bind(PLACE_OF_CODE, code));
      return row && (Number(row.workspace_id) as WorkspaceId);
    });
  }

  private async read(workspaceId: WorkspaceId): Promise<number> {
    const sources = [this.home, ...this.copies()];
    for (const [index, source] of sources.entries()) {
      try {
        const row = await source.read({}, bind(PLACE_OF, workspaceId));
        if (row) return row.cell_number;
        // A copy may be older than the workspace.
        if (index === 0) throw new Error(`the workspace ${workspaceId} has no place`);
      } catch (error) {
        if (!isUnavailable(error)) throw error;
      }
    }
    throw new Refusal('unavailable', 'The place of the workspace cannot be read at the moment.', {
      retryAfterSeconds: RETRY_AFTER_S,
    });
  }
}

const IS_OPEN = sqlStatement(
  'is_workspace_open',
  `select from cell_workspace where workspace_id = $1 and state = 'open'`,
);
const OPEN_MAX_MS = 30_000;
const POLL_MS = 20;

/** Waits until a new workspace is open in its cell, which the copy of the directory causes. @throws Refusal `unavailable` after 30 s */
export async function untilOpen(cell: Database, workspaceId: WorkspaceId): Promise<void> {
  const untilMs = performance.now() + OPEN_MAX_MS;
  while ((await cell.read({}, bind(IS_OPEN, workspaceId))) === undefined) {
    if (performance.now() > untilMs) {
      throw new Refusal('unavailable', 'The workspace is not open in its database yet.', {
        retryAfterSeconds: RETRY_AFTER_S,
      });
    }
    await pause(POLL_MS);
  }
}

/** Reserves a certain code. Does nothing if it is reserved. */
export async function reserveKnownCode(home: Database, workspaceId: WorkspaceId, code: string): Promise<void> {
  await home.write({}, [bind(SCOPE_OF_CODE, workspaceId), bind(RESERVE_CODE, code, workspaceId)] as const);
}

/**
 * A code that no account of any cell has. If the account is not opened then, the code stays unused.
 *
 * @throws Refusal `unavailable` if home is away
 */
async function reserveAccountCode(home: Database, workspaceId: WorkspaceId): Promise<string> {
  for (let tries = 1; tries <= CODE_TRIES; tries += 1) {
    const code = newAccountCode();
    const [, reserved] = await home.write({}, [
      bind(SCOPE_OF_CODE, workspaceId),
      bind(RESERVE_CODE, code, workspaceId),
    ] as const);
    if (reserved.length > 0) return code;
  }
  throw new Error('three random codes of an account in a row are in use');
}

/** The codes of accounts, which home gives, over all cells. */
export const accountCodes = (
  home: Database,
  others: Required<Pick<AccountCodes, 'currencyElsewhere'>>,
): AccountCodes => ({
  newCode: (workspaceId) => reserveAccountCode(home, workspaceId),
  currencyElsewhere: (accountCode) => others.currencyElsewhere(accountCode),
});

const OPEN_HERE = sqlStatement<{ id: bigint }>(
  'open_workspaces_of_cell',
  `select workspace_id as id from cell_workspace where state = 'open'`,
);
const PLACED_ELSEWHERE = sqlStatement<{ id: bigint }>(
  'workspaces_placed_elsewhere',
  'select workspace_id as id from workspace_place where workspace_id = any($1::bigint[]) and cell_number <> $2 order by 1',
);

/** A cell serves a workspace that home places in another cell: one of the databases has lost commits. */
export class DifferingPlacesError extends DeploymentError {}

/**
 * Compares the workspaces that a cell serves with their places at home. A cell that was restored to a moment before a move serves a
 * workspace that another cell serves too.
 *
 * @throws DifferingPlacesError
 */
export async function checkPlaces(
  home: Database,
  cell: Database,
  { number, name }: { readonly number: number; readonly name: string },
): Promise<void> {
  const [open] = await cell.pipeline({}, [bind(OPEN_HERE)] as const);
  const [elsewhere] = await home.pipeline({}, [
    bind(
      PLACED_ELSEWHERE,
      open.map(({ id }) => id),
      number,
    ),
  ] as const);
  if (elsewhere.length === 0) return;
  // A workspace is closed here before its place changes, which may have been meanwhile.
  const [later] = await cell.pipeline({}, [bind(OPEN_HERE)] as const);
  const stillOpen = new Set(later.map(({ id }) => id));
  const differing = elsewhere.filter(({ id }) => stillOpen.has(id)).map(({ id }) => id);
  if (differing.length === 0) return;
  throw new DifferingPlacesError(
    `The cell "${name}" serves workspaces that home places in other cells: ${differing.slice(0, 5).join(', ')}` +
      `${differing.length > 5 ? ` and ${differing.length - 5} more` : ''}. It is not opened. Was a database restored? See docs/maintain.md, ` +
      `section "Several databases".`,
  );
}

/** What holds of the place of each workspace. */
export const PLACES_CHECK = 'every workspace is served by the cell in which home places it';

const PAGE_ROWS = 1_000;

/** Without those whose move is under way: it closes them for a moment, or until its command is repeated. */
const PLACED_IN = sqlStatement<{ id: bigint }>(
  'workspaces_placed_in_cell',
  `select p.workspace_id as id from workspace_place p
   where p.cell_number = $1 and p.workspace_id > $2
     and not exists (select from workspace_move m where m.workspace_id = p.workspace_id and m.step <> 'done')
   order by p.workspace_id limit $3`,
);
const STILL_PLACED_IN = sqlStatement<{ id: bigint }>(
  'workspaces_still_placed_in_cell',
  `select p.workspace_id as id from workspace_place p
   where p.cell_number = $1 and p.workspace_id = any($2::bigint[])
     and not exists (select from workspace_move m where m.workspace_id = p.workspace_id and m.step <> 'done')
   order by p.workspace_id`,
);
const NOT_SERVED = sqlStatement<{ id: bigint }>(
  'workspaces_not_served',
  'select u.id from unnest($1::bigint[]) u(id) where not is_served_here(u.id) order by 1',
);

/** Those of the workspaces that a cell does not serve. */
export const closedHere = async (
  cell: RunStatement,
  workspaceIds: readonly (number | bigint)[],
): Promise<readonly bigint[]> => (workspaceIds.length === 0 ? [] : idsOf(await cell(NOT_SERVED, workspaceIds)));

/**
 * Finds the workspaces that home places in a cell, and that the cell does not serve, a page of places each step. The cell was restored to a
 * moment before they were moved there. `checkPlaces` finds the opposite.
 */
export async function* unservedWorkspaces(
  home: RunStatement,
  cell: RunStatement,
  number: number,
): AsyncGenerator<readonly number[], void, undefined> {
  for (let after: bigint | undefined = 0n; after !== undefined;) {
    const ids = idsOf(await home(PLACED_IN, number, after, PAGE_ROWS));
    after = ids.length < PAGE_ROWS ? undefined : ids.at(-1);
    // A workspace may have been moved between the reads: both databases are asked again.
    const closed = await closedHere(cell, ids);
    const placed = closed.length === 0 ? [] : idsOf(await home(STILL_PLACED_IN, number, closed));
    yield (await closedHere(cell, placed)).map(Number);
  }
}

const idsOf = (rows: readonly { readonly id: bigint }[]): bigint[] => rows.map(({ id }) => id);

/** How a workspace is reported that its cell does not serve. */
export const describeUnserved = (cellName: string, workspaceId: number): string =>
  `the cell ${cellName} does not serve workspace ${workspaceId}, which home places there: run banking cell move ${workspaceId} --to ${cellName} ` +
  `for what to do`;
