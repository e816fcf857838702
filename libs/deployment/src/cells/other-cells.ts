import type { ArrivalOutcome, Arrivals, CrossingPort, SubmittedCrossing } from '@banking/operations';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { AwayCircuit } from './away-circuit.js';
import { callCell } from './call-cell.js';
import type { Places } from './places.js';

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
