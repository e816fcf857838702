import type { ArrivalOutcome, Arrivals, CrossingPort, SubmittedCrossing } from '@banking/operations';
import { bind, type Database, sqlStatement } from '@banking/postgres';
import { AwayCircuit } from './away-circuit.js';
import { callCell } from './call-cell.js';
import type { Places } from './places.js';

const FIND_CURRENCY = sqlStatement<{ currency_id: number }>(
  'find_currency_of_account_code',
  'select currency_id from account_code where code = $1 and workspace_id = $2',
);

/** What a cell does for the payers of other cells. */
export interface PayeeCell {
  readonly database: Database;
  readonly arrivals: Arrivals;
}

/** The accounts of other cells by their codes: their currencies, and payments to them. */
export class OtherCells implements CrossingPort {
  private readonly circuits = new Map<number, AwayCircuit>();

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

  private circuitOf(cellNumber: number): AwayCircuit {
    const circuit = this.circuits.get(cellNumber) ?? new AwayCircuit();
    this.circuits.set(cellNumber, circuit);
    return circuit;
  }
}
