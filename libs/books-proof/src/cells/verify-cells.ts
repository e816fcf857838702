import type { Finding } from '@banking/ledger';
import { AllCells, type CellBooks } from './cell-books.js';
import { HALVES_CHECK, verifyHalves, type VerifiedStep } from './verify-halves.js';
import { SUMS_CHECK, verifySums } from './verify-sums.js';

/** What is proved over all cells of a deployment, besides the books of each. */
export const CELLS_CHECKS: readonly string[] = [HALVES_CHECK, SUMS_CHECK];

/** Rows that one database transaction reads. */
const STEP_ROWS = 20_000;
const HALVES_MAX = 1_000;

export interface CellsVerifyOptions {
  /** Default 20,000. */
  readonly stepRows?: number | undefined;
  /** Called after each step with the rows that were read so far. */
  readonly onStep?: ((rows: number) => void) | undefined;
}

/**
 * The steps of a verification over all cells: halves of payments between cells, then sums. The caller decides when to take the next one.
 *
 * @throws Refusal `unavailable` if a database is away
 */
export async function* stepsOverCells(
  cells: readonly CellBooks[],
  stepRows = STEP_ROWS,
): AsyncGenerator<VerifiedStep, void, undefined> {
  const all = new AllCells(cells);
  yield* verifyHalves(all, Math.min(stepRows, HALVES_MAX));
  yield* verifySums(all, stepRows);
}

/** Verifies what is between all cells of a deployment, while the service runs. @throws Refusal `unavailable` if a database is away */
export async function verifyCells(
  cells: readonly CellBooks[],
  { stepRows, onStep }: CellsVerifyOptions = {},
): Promise<readonly Finding[]> {
  const findings: Finding[] = [];
  let done = 0;
  for await (const { rows, findings: found } of stepsOverCells(cells, stepRows)) {
    findings.push(...found);
    done += rows;
    onStep?.(done);
  }
  return findings;
}
