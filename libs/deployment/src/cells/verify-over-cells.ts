import { type CellBooks, stepsOverCells } from '@banking/books-proof';
import type { Finding } from '@banking/ledger';
import { readPayoutStop, stopPayouts } from '@banking/payouts';
import { bind, type Database, sqlStatement, isUnavailable } from '@banking/postgres';

/** What one turn reads at most. Most workspaces have no row to read. */
const TURN_ROWS = 500;
const TURN_STEPS = 100;
const IDLE_MS = 5_000;

const WORKSPACES_HERE = sqlStatement<{ id: bigint }>(
  'findings_of_cell',
  `select workspace_id as id from cell_workspace where workspace_id = any($1::bigint[]) and state = 'open'`,
);

/** A cell of the process; its database is undefined while it is away. */
interface KnownCell extends Omit<CellBooks, 'database'> {
  readonly database: Database | undefined;
}

/**
 * Verifies payments between cells over and over, in turns of bounded size, while the service runs: a chore of the worker of home. A finding
 * stops the payouts of all cells. While a database is away or payouts are stopped, nothing is verified, and the next pass begins anew.
 */
export class VerificationOverCells {
  readonly name = 'verification-over-cells';
  readonly idleMs = IDLE_MS;
  readonly run = (): Promise<number> => this.verifyNext();
  private steps: ReturnType<typeof stepsOverCells> | undefined;
  /** Findings for which payouts of a cell are still to be stopped, because it did not answer. */
  private unstopped: readonly Finding[] = [];

  constructor(private readonly cells: () => readonly KnownCell[]) {}

  /** Takes the next turn. Returns 0: the next one waits. */
  async verifyNext(): Promise<number> {
    try {
      await this.takeTurn();
    } catch (error) {
      this.steps = undefined;
      // The loops of the databases that are away report it.
      if (!isUnavailable(error)) throw error;
    }
    return 0;
  }

  private async takeTurn(): Promise<void> {
    const cells = this.cells().filter(isOpen);
    if (this.unstopped.length > 0) return this.stopAll(cells, this.unstopped);
    if (cells.length < this.cells().length || (await isAnyStopped(cells))) {
      this.steps = undefined;
      return;
    }
    const steps = (this.steps ??= stepsOverCells(cells, TURN_ROWS));
    let rows = 0;
    for (let step = 0; step < TURN_STEPS && rows < TURN_ROWS; step += 1) {
      const { value, done } = await steps.next();
      if (done === true || value.findings.length > 0) this.steps = undefined;
      if (done === true) return;
      if (value.findings.length > 0) return this.stopAll(cells, value.findings);
      rows += value.rows;
    }
  }

  /** A payment has a half in two cells, and either half may be the wrong one. A cell that does not answer is stopped when it does. */
  private async stopAll(cells: readonly CellBooks[], findings: readonly Finding[]): Promise<void> {
    this.unstopped = findings;
    const stopped = await Promise.allSettled(cells.map(({ database }) => stopCell(database, findings)));
    const failed = stopped.find((result) => result.status === 'rejected');
    if (failed) throw failed.reason;
    if (cells.length === this.cells().length) this.unstopped = [];
  }
}

const isOpen = (cell: KnownCell): cell is CellBooks => cell.database !== undefined;

async function isAnyStopped(cells: readonly CellBooks[]): Promise<boolean> {
  for (const { database } of cells) if ((await readPayoutStop(database)) !== undefined) return true;
  return false;
}

/** Each cell names its own workspaces only. */
async function stopCell(database: Database, findings: readonly Finding[]): Promise<void> {
  const ids = findings.flatMap(({ workspaceId }) => workspaceId ?? []);
  const [rows] = await database.pipeline({}, [bind(WORKSPACES_HERE, ids)] as const);
  const here = new Set(rows.map(({ id }) => Number(id)));
  const isHere = ({ workspaceId }: Finding) => workspaceId !== undefined && here.has(workspaceId);
  await stopPayouts(
    database,
    findings.map((finding) => (isHere(finding) ? finding : { ...finding, workspaceId: undefined })),
  );
}
