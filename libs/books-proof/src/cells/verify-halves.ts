import type { Finding } from '@banking/ledger';
import { isServedElsewhere } from '@banking/postgres';
import type { AllCells } from './cell-books.js';
import {
  type Arrival,
  arrivalsOf,
  type Crossing,
  crossingsOf,
  differenceOf,
  keyOf,
  nameOf,
  nextArrivals,
  nextFinishedCrossings,
  workspacesOfCodes,
} from './halves.js';

export const HALVES_CHECK = 'every payment between cells has arrived once or has come back';

/** One step of a verification: rows that were read, and their findings. */
export interface VerifiedStep {
  readonly rows: number;
  readonly findings: readonly Finding[];
}

/**
 * Compares both halves of the payments between cells, in steps of bounded size. Payments may go on: a crossing exists before its arrival,
 * and an arrival before its crossing is finished, so each half is read after the one that follows it.
 *
 * @param stepRows rows that a step reads of one kind
 * @throws Refusal `unavailable` if a database is away
 */
export async function* verifyHalves(all: AllCells, stepRows: number): AsyncGenerator<VerifiedStep, void, undefined> {
  for (const [workspaceId, number] of await all.places()) {
    const { database } = all.of(number);
    yield* pages(
      (last: Arrival | undefined) => nextArrivals(database, workspaceId, last, stepRows),
      (arrivals) => judgeArrivals(all, workspaceId, arrivals),
      stepRows,
    );
    yield* pages(
      (last: Crossing | undefined) => nextFinishedCrossings(database, workspaceId, last, stepRows),
      (crossings) => judgeCrossings(all, workspaceId, crossings),
      stepRows,
    );
  }
}

/** A workspace that has moved meanwhile is left out of this pass, and is verified by the next one. */
async function* pages<Row>(
  next: (last: Row | undefined) => Promise<readonly Row[]>,
  judge: (rows: readonly Row[]) => Promise<readonly Finding[]>,
  stepRows: number,
): AsyncGenerator<VerifiedStep, void, undefined> {
  let last: Row | undefined;
  for (;;) {
    let rows: readonly Row[];
    try {
      rows = await next(last);
    } catch (error) {
      if (isServedElsewhere(error)) return;
      throw error;
    }
    yield { rows: rows.length, findings: rows.length === 0 ? [] : await judge(rows) };
    last = rows.at(-1);
    if (rows.length < stepRows) return;
  }
}

/** Each arrival has its crossing, which has the same content and was not returned if the arrival was accepted. */
async function judgeArrivals(
  all: AllCells,
  workspaceId: number,
  arrivals: readonly Arrival[],
): Promise<readonly Finding[]> {
  const origins = arrivals.map(({ origin_workspace_id }) => Number(origin_workspace_id));
  const crossings = await all.readWhereOpen(origins, (database, own) => crossingsOf(database, own, arrivals));
  const byKey = new Map(crossings.map((crossing) => [keyOf(crossing), crossing]));
  return arrivals.flatMap((arrival) => {
    const found = arrivalFault(arrival, byKey.get(keyOf(arrival)));
    return found === undefined ? [] : [findingOf(workspaceId, found)];
  });
}

function arrivalFault(arrival: Arrival, crossing: Crossing | undefined): string | undefined {
  if (crossing === undefined) return `an arrival lacks ${nameOf(arrival)}`;
  const difference = differenceOf(crossing, arrival);
  if (difference !== undefined) return `${nameOf(crossing)} ${difference}`;
  const isContradiction =
    arrival.outcome === 'accepted' ? crossing.status === 'returned' : crossing.status === 'completed';
  return isContradiction ? `${nameOf(crossing)} was ${crossing.status}, and its arrival ${arrival.outcome}` : undefined;
}

/** A completed crossing has exactly one accepted arrival, and a returned one a refused arrival only. */
async function judgeCrossings(
  all: AllCells,
  workspaceId: number,
  crossings: readonly Crossing[],
): Promise<readonly Finding[]> {
  const payees = await workspacesOfCodes(all.home, crossings);
  const arrivals = await all.readWhereOpen([...payees.values()], (database, own) =>
    arrivalsOf(database, own, crossings, payees),
  );
  const outcomes = new Map<string, Arrival['outcome'][]>();
  for (const arrival of arrivals) {
    outcomes.set(keyOf(arrival), [...(outcomes.get(keyOf(arrival)) ?? []), arrival.outcome]);
  }
  return crossings.flatMap((crossing) => {
    const found = crossingFault(crossing, outcomes.get(keyOf(crossing)) ?? []);
    return found === undefined ? [] : [findingOf(workspaceId, `${nameOf(crossing)} ${found}`)];
  });
}

function crossingFault({ status }: Crossing, outcomes: readonly Arrival['outcome'][]): string | undefined {
  const accepted = outcomes.filter((outcome) => outcome === 'accepted').length;
  if (status === 'completed' && accepted !== 1) return `was completed and has ${accepted} accepted arrivals`;
  if (status === 'returned' && accepted > 0) return 'was returned, and an arrival was accepted';
  return status === 'returned' && outcomes.length === 0 ? 'was returned without a refused arrival' : undefined;
}

const findingOf = (workspaceId: number, detail: string): Finding => ({ check: HALVES_CHECK, workspaceId, detail });
