import { type Finding, currencyCode, rangeKey, rangesOf, settledInstant } from '@banking/ledger';
import { isServedElsewhere, bind, sqlStatement } from '@banking/postgres';
import {
  AllCells,
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
  beingMoved,
  type CellBooks,
} from './halves.js';

const HALVES_CHECK = 'every payment between cells has arrived once or has come back';

/** One step of a verification: rows that were read, and their findings. */
interface VerifiedStep {
  readonly rows: number;
  readonly findings: readonly Finding[];
}

/** A step, and what is not verified. */
interface StepOverCells extends VerifiedStep {
  /** The workspaces that were left out so far, because their cell does not serve them. Without them, sums are not verified. */
  readonly leftOut: ReadonlySet<number>;
}

/**
 * Compares both halves of the payments between cells, in steps of bounded size. Payments may go on: a crossing exists before its arrival,
 * and an arrival before its crossing is finished, so each half is read after the one that follows it.
 *
 * @param stepRows rows that a step reads of one kind
 * @throws Refusal `unavailable` if a database is away
 */
async function* verifyHalves(all: AllCells, stepRows: number): AsyncGenerator<VerifiedStep, void, undefined> {
  for (const workspaceId of (await all.places()).keys()) {
    yield* pages(
      (last: Arrival | undefined) =>
        all.readWhereOpen([workspaceId], (database) => nextArrivals(database, workspaceId, last, stepRows)),
      (arrivals) => judgeArrivals(all, workspaceId, arrivals),
      stepRows,
    );
    yield* pages(
      (last: Crossing | undefined) =>
        all.readWhereOpen([workspaceId], (database) => nextFinishedCrossings(database, workspaceId, last, stepRows)),
      (crossings) => judgeCrossings(all, workspaceId, crossings),
      stepRows,
    );
  }
}

async function* pages<Row>(
  next: (last: Row | undefined) => Promise<readonly Row[]>,
  judge: (rows: readonly Row[]) => Promise<readonly Finding[]>,
  stepRows: number,
): AsyncGenerator<VerifiedStep, void, undefined> {
  let last: Row | undefined;
  for (;;) {
    const rows = await next(last);
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
    if (all.leftOut.has(Number(arrival.origin_workspace_id))) return [];
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
    if (all.leftOut.has(payees.get(crossing.account_code) ?? 0)) return [];
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

const SUMS_CHECK = 'interworkspace balances of all cells sum to zero in every currency, without payments between cells';

const TRANSACTIONS = ['interworkspace transfers', rangeKey('transaction')] as const;
/** How many workspaces a finding names. */
const NAMED_MAX = 20;
/** Passes that moves may disturb, one after another. */
const PASSES_MAX = 6;

/** The two halves of a payment between cells are one crossing and one arrival, which `verifyHalves` compares. They are taken out here. */
const PLAIN_SUMS = sqlStatement<{ currency_id: number; amount: string }>(
  'interworkspace_without_crossings',
  `select t.currency_id,
          sum(case t.direction when 'credit' then t.amount else -t.amount end
              - coalesce(c.amount, 0) + coalesce(o.amount, 0) + coalesce(r.amount, 0))::text as amount
   from account a
   join leg t on t.workspace_id = a.workspace_id and t.account_id = a.id
   join transaction x on x.workspace_id = t.workspace_id and x.id = t.transaction_id
   left join crossing c on c.workspace_id = $1 and c.transaction_id = x.id and c.currency_id = t.currency_id
   left join crossing o on o.workspace_id = $1 and o.transaction_id = x.return_of and o.currency_id = t.currency_id
   left join arrival r on r.workspace_id = $1 and r.transaction_id = x.id and r.currency_id = t.currency_id
   where a.workspace_id = $1 and a.kind = 'interworkspace'
     and t.workspace_id = $1 and t.transaction_id > $2 and t.transaction_id <= $3 and t.created_at <= $4::timestamptz
   group by t.currency_id`,
);

/**
 * Sums the `interworkspace` accounts of all cells, in steps of bounded size. Both sides of a payment within one cell have the time of
 * their statement, also after one of the workspaces has moved, so an instant at which all cells are settled never separates them. A pass
 * during which a workspace has moved is repeated. So is a pass with a difference, because a commit that took very long causes one too.
 * Without the rows of a workspace that is left out, a sum says nothing.
 *
 * @throws Refusal `unavailable` if a database is away, or workspaces are moved one after another
 */
async function* verifySums(all: AllCells, stepRows: number): AsyncGenerator<VerifiedStep, void, undefined> {
  let before = '';
  let cause: unknown;
  for (let pass = 1; pass <= PASSES_MAX && all.leftOut.size === 0; pass += 1) {
    const byTime = await settledEverywhere(all);
    const places = await all.places();
    const sums: Sums = new Map();
    try {
      yield* addAll(all, places, { byTime, stepRows }, sums);
    } catch (error) {
      if (!isServedElsewhere(error)) throw error;
      cause = error;
      await all.untilOpen([...places.keys()]);
      continue;
    }
    const later = await all.places();
    if ([...places].some(([workspaceId, number]) => later.get(workspaceId) !== number)) continue;
    const findings = findingsOf([...sums.values()]);
    const found = JSON.stringify(findings);
    if (findings.length === 0 || found === before) return yield { rows: 0, findings };
    before = found;
  }
  if (all.leftOut.size === 0) throw beingMoved(cause);
}

interface WorkspaceSum {
  readonly workspaceId: number;
  readonly currencyId: number;
  amount: bigint;
}

type Sums = Map<string, WorkspaceSum>;

async function* addAll(
  all: AllCells,
  places: ReadonlyMap<number, number>,
  { byTime, stepRows }: { readonly byTime: string; readonly stepRows: number },
  sums: Sums,
): AsyncGenerator<VerifiedStep, void, undefined> {
  for (const [workspaceId, number] of places) {
    const { database } = all.of(number);
    for await (const { after, upto } of rangesOf(database, workspaceId, TRANSACTIONS, { rangeRows: stepRows })) {
      const query = bind(PLAIN_SUMS, workspaceId, after, upto, byTime);
      const [rows] = await database.pipeline({ workspaces: [workspaceId] }, [query] as const);
      for (const { currency_id: currencyId, amount } of rows) {
        const key = `${workspaceId}/${currencyId}`;
        const sum = sums.get(key) ?? { workspaceId, currencyId, amount: 0n };
        sum.amount += BigInt(amount);
        if (sum.amount === 0n) sums.delete(key);
        else sums.set(key, sum);
      }
      yield { rows: stepRows, findings: [] };
    }
  }
}

/** RFC 3339 with the same form everywhere, so the texts are ordered as the instants are. */
async function settledEverywhere({ cells }: AllCells): Promise<string> {
  const instants: string[] = [];
  for (const { database } of cells) instants.push(await settledInstant(database));
  return instants.sort()[0]!;
}

function findingsOf(sums: readonly WorkspaceSum[]): Finding[] {
  const currencies = [...new Set(sums.map(({ currencyId }) => currencyId))];
  return currencies.flatMap((currencyId) => {
    const own = sums.filter((sum) => sum.currencyId === currencyId && sum.amount !== 0n);
    const total = own.reduce((sum, { amount }) => sum + amount, 0n);
    if (total === 0n) return [];
    const named = own.slice(0, NAMED_MAX).map(({ workspaceId, amount }) => `${amount} in workspace ${workspaceId}`);
    const detail = `interworkspace accounts of all cells are out by ${total} ${currencyCode(currencyId)}: ${named.join(', ')}`;
    return [{ check: SUMS_CHECK, detail }];
  });
}

/** What is proved over all cells of a deployment, besides the books of each. */
export const CELLS_CHECKS: readonly string[] = [HALVES_CHECK, SUMS_CHECK];

/** Rows that one database transaction reads. */
const STEP_ROWS = 20_000;
const HALVES_MAX = 1_000;

interface StepsOptions {
  /** Default 20,000. */
  readonly stepRows?: number | undefined;
  /** How long a workspace that is being moved is waited for before it is left out. Default 15 seconds. */
  readonly movedWithinMs?: number | undefined;
}

interface CellsVerifyOptions extends StepsOptions {
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
  { stepRows = STEP_ROWS, movedWithinMs }: StepsOptions = {},
): AsyncGenerator<StepOverCells, void, undefined> {
  const all = new AllCells(cells, movedWithinMs);
  const { leftOut } = all;
  for await (const step of verifyHalves(all, Math.min(stepRows, HALVES_MAX))) yield { ...step, leftOut };
  for await (const step of verifySums(all, stepRows)) yield { ...step, leftOut };
  // The last workspaces may have been left out without a further step.
  yield { rows: 0, findings: [], leftOut };
}

/** What is between all cells, as far as their workspaces were open. */
export interface CellsReport extends Pick<VerifiedStep, 'findings'> {
  readonly leftOut: readonly number[];
}

/** Verifies what is between all cells of a deployment, while the service runs. @throws Refusal `unavailable` if a database is away */
export async function verifyCells(
  cells: readonly CellBooks[],
  { onStep, ...options }: CellsVerifyOptions = {},
): Promise<CellsReport> {
  const findings: Finding[] = [];
  let done = 0;
  let leftOut: readonly number[] = [];
  for await (const step of stepsOverCells(cells, options)) {
    for (const finding of step.findings) findings.push(finding);
    leftOut = [...step.leftOut];
    done += step.rows;
    onStep?.(done);
  }
  return { findings, leftOut };
}

/** Those of the workspaces that their cell does not serve. @throws Refusal `unavailable` if a database is away */
export const closedWorkspaces = (cells: readonly CellBooks[], workspaceIds: readonly number[]) =>
  new AllCells(cells).closedAmong(workspaceIds);
