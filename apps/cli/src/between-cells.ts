import { type CellBooks, cellBooksOf, CELLS_CHECKS, verifyCells } from '@banking/books-proof';
import { isOperatorError } from '@banking/deployment';
import type { Finding } from '@banking/ledger';
import { withDeployment } from './deployment.js';
import { reportProgress } from './print.js';

/** What holds over all cells. */
export interface BetweenReport {
  /** Null if a database did not answer. */
  readonly inOrder: boolean | null;
  readonly checks: readonly string[];
  readonly findings: readonly Finding[];
  /** Why a database did not answer. */
  readonly failure?: string | undefined;
}

/** Verifies payments between cells. A database that does not answer is a part of the report. @param names those of all cells */
export async function verifyBetween(names: readonly string[]): Promise<BetweenReport> {
  try {
    const onStep = (rows: number) => reportProgress(`Verified the payments between cells: ${rows} rows.`);
    const findings = await withCells(names, [], (cells) => verifyCells(cells, { onStep }));
    return { inOrder: findings.length === 0, checks: CELLS_CHECKS, findings };
  } catch (error) {
    if (!isOperatorError(error)) throw error;
    return { inOrder: null, checks: CELLS_CHECKS, findings: [], failure: (error as Error).message };
  }
}

/** Opens the databases of all cells at once, one after another. */
function withCells<T>(
  [name, ...others]: readonly string[],
  open: readonly CellBooks[],
  work: (cells: readonly CellBooks[]) => Promise<T>,
): Promise<T> {
  if (name === undefined) return work(open);
  return withDeployment(async ({ database }) => withCells(others, [...open, await cellBooksOf(database)], work), {
    changesNothing: true,
    readsBooks: true,
    cell: name,
  });
}
