import { type CellBooks, cellBooksOf, CELLS_CHECKS, verifyCells } from '@banking/books-proof';
import {
  compareCopy,
  COPY_CHECK,
  type Deployment,
  describeLost,
  describeUnserved,
  inDatabase,
  isOperatorError,
  PLACES_CHECK,
  slotOfCopy,
  unservedWorkspaces,
} from '@banking/deployment';
import type { AccountId, WorkspaceId } from '@banking/domain';
import type { Finding } from '@banking/ledger';
import { readDemoBookings } from '@banking/operations/demo';
import { allWorkspaces, findAccount } from '@banking/operations/provisioning';
import { HOME_CELL } from '@banking/process';
import { readConfig } from './config.js';
import { withDeployment } from './deployment.js';
import { type Cell, print, printJson, printTable, Refused, reportProgress } from './print.js';

type Use = NonNullable<Parameters<typeof withDeployment>[1]>;

/** What a command has read of each database that could be read. */
export interface CellResults<T> {
  /** The name of the cell is undefined where the command works on one database. */
  readonly results: readonly { readonly cell: string | undefined; readonly result: T }[];
  /** Call it after the results are printed. @throws Refused with the databases that could not be read */
  end(): void;
}

/** Runs work on each of several databases, or on the one of CELL, or on the only one. A database that is away delays its failure to the end. */
export async function onEachCell<T>(
  work: (deployment: Deployment) => Promise<T>,
  use: Use = {},
): Promise<CellResults<T>> {
  const { cell: chosen, deployment } = readConfig();
  const { cells } = deployment;
  if (cells === undefined || chosen !== undefined || use.cell !== undefined) {
    return { results: [{ cell: undefined, result: await withDeployment(work, use) }], end: () => undefined };
  }
  const results: { cell: string; result: T }[] = [];
  const failures: string[] = [];
  for (const cell of [HOME_CELL, ...cells.map(({ name }) => name)]) {
    try {
      results.push({ cell, result: await withDeployment(work, { ...use, cell }) });
    } catch (error) {
      if (!isOperatorError(error)) throw error;
      failures.push(`Cell ${cell} could not be read: ${(error as Error).message}`);
    }
  }
  return {
    results,
    end() {
      if (failures.length > 0) throw new Refused(failures.join('\n'));
    },
  };
}

/** How rows are printed for people. */
interface RowTable<T> {
  readonly head: readonly string[];
  readonly cells: (row: T) => readonly Cell[];
  /** Printed without rows. */
  readonly none: string;
  /** Whether a database has more than the 100 oldest, which it lists. */
  readonly hasMore?: boolean;
}

/** Prints the lists of all databases as one: as JSON, or as a table. Each row has its cell, where there are several. @returns the rows */
export function printRows<T extends object>(
  { results }: CellResults<readonly T[]>,
  isJson: boolean | undefined,
  { head, cells, none, hasMore = false }: RowTable<T>,
): readonly (T & { readonly cell?: string })[] {
  const rows: (T & { readonly cell?: string })[] = results.flatMap(({ cell, result }) =>
    result.map((row) => (cell === undefined ? row : { cell, ...row })),
  );
  if (isJson) printJson(rows);
  else {
    const isOne = results.some(({ cell }) => cell === undefined);
    printTable(
      [...(isOne ? [] : ['Cell']), ...head],
      rows.map((row) => [...(row.cell === undefined ? [] : [row.cell]), ...cells(row)]),
      none,
    );
    if (hasMore)
      print('There are more: a database lists its 100 oldest. The next ones follow when these wait no longer.');
  }
  return rows;
}

/** The option `cell` of a command on one workspace: the database that has it, unless CELL is set or there is one database only. */
export async function inCellOf(workspaceId: WorkspaceId | undefined): Promise<{ readonly cell?: string }> {
  const { cell: chosen, deployment } = readConfig();
  if (workspaceId === undefined || deployment.cells === undefined || chosen !== undefined) return {};
  const workspaces = await withDeployment(({ database }) => allWorkspaces(database), {
    changesNothing: true,
    cell: HOME_CELL,
  });
  const cell = workspaces.find(({ id }) => id === workspaceId)?.cell;
  if (cell === undefined) throw new Refused(`There is no workspace ${workspaceId}. See banking workspace list.`);
  return { cell };
}

/** The option `cell` of a command on one account, as `inCellOf`. @throws Refused if a database that may have it could not be read */
export async function inCellOfAccount(accountId: AccountId): Promise<{ readonly cell?: string }> {
  const { cell: chosen, deployment } = readConfig();
  if (deployment.cells === undefined || chosen !== undefined) return {};
  const read = await onEachCell(({ database }) => findAccount(database, accountId), { changesNothing: true });
  const cell = read.results.find(({ result }) => result !== undefined)?.cell;
  if (cell !== undefined) return { cell };
  read.end();
  throw new Refused(`There is no account ${accountId}.`);
}

/** What holds over all cells. */
export interface BetweenReport {
  /** Null if a database did not answer. */
  readonly inOrder: boolean | null;
  readonly checks: readonly string[];
  readonly findings: readonly Finding[];
  readonly failure?: string | undefined;
}

/**
 * Verifies payments between cells, the copies of the directory, and that each workspace is served where home places it. A database that does not answer is a part of the report.
 *
 * @param names those of all cells
 */
export async function verifyBetween(names: readonly string[]): Promise<BetweenReport> {
  const checks = [...CELLS_CHECKS, COPY_CHECK, PLACES_CHECK];
  try {
    const onStep = (rows: number) => reportProgress(`Verified the payments between cells: ${rows} rows.`);
    return await withCells(names, { readsBooks: true }, async (cells) => {
      const { findings: payments, leftOut } = await verifyCells(cells, { onStep });
      const [home, ...others] = cells;
      const copies: Finding[] = [];
      for (const cell of others) {
        const fault = await faultOfCopy(home!, cell);
        if (fault !== undefined) copies.push({ check: COPY_CHECK, detail: fault });
      }
      const unserved: Finding[] = [];
      for (const cell of cells) unserved.push(...(await unservedIn(home!, cell)));
      const findings = [...payments, ...copies, ...unserved];
      const closed = leftOut.filter((id) => !unserved.some(({ workspaceId }) => workspaceId === id));
      const report = { inOrder: findings.length === 0, checks, findings };
      return closed.length === 0
        ? report
        : {
            ...{ ...report, inOrder: report.inOrder && null },
            failure: `those of workspaces that are being moved: ${closed.join(', ')}. See banking cell list. Verify again when they are open.`,
          };
    });
  } catch (error) {
    if (!isOperatorError(error)) throw error;
    return { inOrder: null, checks, findings: [], failure: (error as Error).message };
  }
}

/** How long a copy may need to receive what home had committed, where rows differ. */
const FOLLOW_MAX_MS = 30_000;

/** What is wrong with the copy of the directory in a cell; undefined if it follows home. */
async function faultOfCopy(home: CellBooks, { name, database }: CellBooks): Promise<string | undefined> {
  const [atHome, inCell] = [inDatabase(home.database), inDatabase(database)];
  const { slot, isLost } = await slotOfCopy(atHome, name);
  const { lost, isFollowing } = await compareCopy(atHome, inCell, slot, isLost ? 0 : FOLLOW_MAX_MS);
  if (isLost || lost.length > 0) return describeLost(name, lost);
  return isFollowing ? undefined : `the copy of the directory in the cell ${name} does not receive the changes of home`;
}

/** The workspaces that home places in a cell, and that it does not serve. */
async function unservedIn(home: CellBooks, { number, name, database }: CellBooks): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  for await (const ids of unservedWorkspaces(inDatabase(home.database), inDatabase(database), number)) {
    findings.push(
      ...ids.map((workspaceId) => ({
        ...{ check: PLACES_CHECK, workspaceId },
        detail: describeUnserved(name, workspaceId),
      })),
    );
  }
  return findings;
}

/** Those of one cell that a command verifies by itself. */
export const findUnserved = (name: string): Promise<readonly Finding[]> =>
  withCells(name === HOME_CELL ? [name] : [HOME_CELL, name], {}, (cells) => unservedIn(cells[0]!, cells.at(-1)!));

/** What differs between home and a cell. */
export interface CellFaults {
  /** Of the copy of the directory. */
  readonly copy?: string | undefined;
  /** The workspaces that the cell does not serve. */
  readonly unserved: readonly number[];
}

/** What differs between home and each cell, by its name. @param names those of all cells, home first */
export async function faultsOfCells(names: readonly string[]): Promise<ReadonlyMap<string, CellFaults>> {
  const faults = new Map<string, CellFaults>();
  for (const name of names) {
    try {
      const both = name === HOME_CELL ? [name] : [HOME_CELL, name];
      const found = await withCells(both, {}, async ([home, cell]) => ({
        copy: cell && (await faultOfCopy(home!, cell)),
        unserved: (await unservedIn(home!, cell ?? home!)).map(({ workspaceId }) => workspaceId!),
      }));
      faults.set(name, found);
    } catch (error) {
      if (!isOperatorError(error)) throw error;
      const copy = `the copy of the directory in the cell ${name} was not compared: ${(error as Error).message}`;
      faults.set(name, { copy, unserved: [] });
    }
  }
  return faults;
}

/** Opens the databases of all cells at once, one after another. */
function withCells<T>(
  [name, ...others]: readonly string[],
  use: Pick<Use, 'readsBooks'>,
  work: (cells: readonly CellBooks[]) => Promise<T>,
  open: readonly CellBooks[] = [],
): Promise<T> {
  if (name === undefined) return work(open);
  return withDeployment(async ({ database }) => withCells(others, use, work, [...open, await cellBooksOf(database)]), {
    ...use,
    changesNothing: true,
    cell: name,
  });
}

/** The steps of the demo data are recorded at home. A live deployment has none, so its cells are verified while home is away. */
export const demoBookings = async ({ isSandbox }: { readonly isSandbox: boolean }): Promise<readonly number[]> =>
  isSandbox
    ? withDeployment(({ database }) => readDemoBookings(database), { changesNothing: true, cell: HOME_CELL })
    : [];
