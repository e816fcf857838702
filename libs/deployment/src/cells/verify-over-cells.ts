import { type CellBooks, closedWorkspaces, stepsOverCells } from '@banking/books-proof';
import type { Finding } from '@banking/ledger';
import { verificationChannel, type VerificationMessage } from '@banking/operations';
import { readPayoutStop, stopPayouts } from '@banking/payouts';
import { bind, type Database, sqlStatement, isUnavailable, type AdminSession, VERIFIER_ROLE } from '@banking/postgres';
import { Refusal } from '@banking/domain';

/** What one turn reads at most. Most workspaces have no row to read. */
const TURN_ROWS = 500;
const TURN_STEPS = 100;
const IDLE_MS = 5_000;

const WORKSPACES_HERE = sqlStatement<{ id: bigint }>(
  'findings_of_cell',
  `select workspace_id as id from cell_workspace where workspace_id = any($1::bigint[]) and state = 'open'`,
);

/** A cell of the process; its database is undefined while it is away. */
export interface KnownCell extends Omit<CellBooks, 'database'> {
  readonly database: Database | undefined;
}

/**
 * Verifies payments between cells over and over, in turns of bounded size, while the service runs: a chore of the worker of home. A finding
 * stops the payouts of all cells. While a database is away or payouts are stopped, nothing is verified, and the next pass begins anew. A
 * workspace that its cell does not serve is left out of a pass, for a moment or for good: no turn counts as a success until it is served.
 */
export class VerificationOverCells {
  readonly name = 'verification-over-cells';
  readonly idleMs = IDLE_MS;
  readonly run = (): Promise<number> => this.verifyNext();
  private steps: ReturnType<typeof stepsOverCells> | undefined;
  private leftOut: readonly number[] = [];
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
    const cells = this.cells().filter(isOpen).map(asVerifier);
    if (this.unstopped.length > 0) return this.stopAll(cells, this.unstopped);
    if (cells.length < this.cells().length) {
      this.steps = undefined;
      return;
    }
    if (await isAnyStopped(cells)) {
      this.steps = undefined;
      return published('stopped');
    }
    const { rows, findings } = await this.takeSteps(cells);
    if (findings.length > 0) {
      this.steps = undefined;
      published('findings');
      return this.stopAll(cells, findings);
    }
    if (this.leftOut.length > 0) this.leftOut = await closedWorkspaces(cells, this.leftOut);
    published(this.leftOut.length === 0 ? 'proven' : 'closed', rows);
  }

  private async takeSteps(
    cells: readonly CellBooks[],
  ): Promise<{ readonly rows: number; readonly findings: readonly Finding[] }> {
    const steps = (this.steps ??= stepsOverCells(cells, { stepRows: TURN_ROWS, movedWithinMs: 0 }));
    let rows = 0;
    for (let step = 0; step < TURN_STEPS && rows < TURN_ROWS; step += 1) {
      const { value, done } = await steps.next();
      if (done === true) {
        this.steps = undefined;
        break;
      }
      this.leftOut = [...new Set([...this.leftOut, ...value.leftOut])];
      if (value.findings.length > 0) return { rows, findings: value.findings };
      rows += value.rows;
    }
    return { rows, findings: [] };
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

/** Publishes a turn, which is of all databases. */
function published(outcome: VerificationMessage['outcome'], rows = 0): void {
  if (verificationChannel.hasSubscribers) verificationChannel.publish({ subject: 'cells', outcome, rows });
}

const asVerifier = (cell: CellBooks): CellBooks => ({ ...cell, database: cell.database.as(VERIFIER_ROLE) });
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

/** A session for one piece of work, which can be stopped and awaited before anything else uses the connection. */
export interface ProofSession {
  readonly session: AdminSession;
  /** Resolves when the connection is in no database transaction of the work. After the signal, nothing of it begins any more. */
  ended(): Promise<void>;
}

export function proofSession({ query, actAs, inTransaction }: AdminSession, signal: AbortSignal): ProofSession {
  const running = new Set<Promise<unknown>>();
  const run = async <T>(work: () => Promise<T>): Promise<T> => {
    signal.throwIfAborted();
    const unit = work();
    running.add(unit);
    return unit.finally(() => running.delete(unit));
  };
  return {
    session: {
      query: (text, values) => run(() => query(text, values)),
      actAs: (role, schema, work) => run(() => actAs(role, schema, work)),
      inTransaction: (work) => run(() => inTransaction(work)),
    },
    async ended() {
      await Promise.allSettled(running);
    },
  };
}

/** The state of the queue of one database, or of several together. */
interface WorkStatus {
  readonly parked: Readonly<Record<string, number>>;
  readonly unserved: Readonly<Record<string, number>>;
  readonly oldestDueSeconds: number;
}

/**
 * The work of several databases. A database that is away counts nothing, because it must not hide the work of the others.
 *
 * @throws Refusal `unavailable` if none answers. @throws every other error
 */
export async function sumOfWork(readers: readonly (() => Promise<WorkStatus>)[]): Promise<WorkStatus> {
  const results = await Promise.allSettled(readers.map(async (read) => read()));
  const failures = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
  const unexpected = failures.find((failure) => !(failure instanceof Refusal));
  const statuses = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
  if (unexpected !== undefined || statuses.length === 0) throw unexpected ?? failures[0];
  const parked = sumByKind(statuses.map((status) => status.parked));
  const unserved = sumByKind(statuses.map((status) => status.unserved));
  return { parked, unserved, oldestDueSeconds: Math.max(...statuses.map(({ oldestDueSeconds }) => oldestDueSeconds)) };
}

function sumByKind(counts: readonly WorkStatus['parked'][]): WorkStatus['parked'] {
  const sum: Record<string, number> = {};
  for (const [kind, count] of counts.flatMap((one) => Object.entries(one))) sum[kind] = (sum[kind] ?? 0) + count;
  return sum;
}
