import { Refusal, RETRY_AFTER_S } from '@banking/domain';
import { SQLSTATE, sqlstateOf, isUnavailable, bind, type Database, sqlStatement } from '@banking/postgres';
import type { ArrivalOutcome, Arrivals, CrossingPort, SubmittedCrossing } from '@banking/operations';
import { callCell } from './call-cell.js';
import type { Places } from './places.js';

/** How long a cell that did not answer is not called. */
const PAUSE_MS = 1_000;

/**
 * Calls of one cell for work that can wait, or that another cell can do. After a call for which the cell was away, calls are refused for a
 * second, and then until one call has ended. So the work for a cell that does not answer does not occupy a worker, which has work for others.
 */
export class AwayCircuit {
  /** Undefined while the cell answers; infinite during the call that tries it again. */
  private pausedUntilMs: number | undefined;

  /**
   * @param nowMs milliseconds of a monotonic clock
   * @param onReturn is called when the cell answers after it was away
   */
  constructor(
    private readonly nowMs: () => number = () => performance.now(),
    private readonly onReturn: () => void = () => undefined,
  ) {}

  /** Whether the last call that ended did not reach the cell. */
  get isAway(): boolean {
    return this.pausedUntilMs !== undefined;
  }

  /** @throws Refusal `unavailable` without a call. @throws what `run` throws */
  async call<T>(run: () => Promise<T>): Promise<T> {
    if (this.pausedUntilMs !== undefined) {
      if (this.nowMs() < this.pausedUntilMs) {
        throw new Refusal('unavailable', undefined, { retryAfterSeconds: RETRY_AFTER_S });
      }
      this.pausedUntilMs = Infinity;
    }
    try {
      const result = await run();
      this.answered();
      return result;
    } catch (error) {
      if (isAway(error)) this.pausedUntilMs = this.nowMs() + PAUSE_MS;
      else this.answered();
      throw error;
    }
  }

  private answered(): void {
    const wasAway = this.isAway;
    this.pausedUntilMs = undefined;
    if (wasAway) this.onReturn();
  }
}

/** A database that answers may refuse to wait longer for the lock of one account. */
const isAway = (error: unknown): boolean => isUnavailable(error) && sqlstateOf(error) !== SQLSTATE.lockNotAvailable;

const FIND_CURRENCY = sqlStatement<{ currency_id: number }>(
  'find_currency_of_account_code',
  'select currency_id from account_code where code = $1 and workspace_id = $2',
);

const ANSWER = sqlStatement('answer', 'select');

/** What a cell does for the payers of other cells. */
export interface PayeeCell {
  readonly database: Database;
  readonly arrivals: Arrivals;
}

/** The accounts of other cells by their codes: their currencies, and payments to them. */
export class OtherCells implements CrossingPort {
  private readonly circuits = new Map<number, AwayCircuit>();
  private returned = 0;

  /** @param cellOf a cell by its number; throws `unavailable` while it is away */
  constructor(
    private readonly places: Places,
    private readonly cellOf: (cellNumber: number) => PayeeCell,
  ) {}

  /** Undefined if no account has the code. @throws Refusal `unavailable` if home or the cell of the account is away */
  async currencyElsewhere(accountCode: string): Promise<number | undefined> {
    const workspaceId = await this.places.workspaceOfCode(accountCode);
    if (workspaceId === undefined) return undefined;
    const row = await callCell(this.places, workspaceId, async (cellNumber) =>
      this.cellOf(cellNumber).database.read(
        { workspaces: [workspaceId] },
        bind(FIND_CURRENCY, accountCode, workspaceId),
      ),
    );
    return row?.currency_id;
  }

  /** @throws Refusal `unavailable` if the cell of the account is away, or home while the place is not known */
  async arrive(crossing: SubmittedCrossing): Promise<ArrivalOutcome> {
    const workspaceId = await this.places.workspaceOfCode(crossing.accountCode);
    if (workspaceId === undefined) throw new Error('home has no place of the account of a recipient');
    return callCell(this.places, workspaceId, (cellNumber) =>
      this.circuitOf(cellNumber).call(async () => this.cellOf(cellNumber).arrivals.arrive(workspaceId, crossing)),
    );
  }

  /** Calls the cells that were away, at most once a second each. Returns how often a cell has answered again. Never throws. */
  async returns(): Promise<number> {
    const away = [...this.circuits].filter(([, circuit]) => circuit.isAway);
    await Promise.allSettled(
      away.map(([number, circuit]) => circuit.call(async () => this.cellOf(number).database.read({}, bind(ANSWER)))),
    );
    return this.returned;
  }

  private circuitOf(cellNumber: number): AwayCircuit {
    const circuit = this.circuits.get(cellNumber) ?? new AwayCircuit(undefined, () => (this.returned += 1));
    this.circuits.set(cellNumber, circuit);
    return circuit;
  }
}
