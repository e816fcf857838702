import { currencyCode, type Finding, rangeKey, rangesOf, settledInstant } from '@banking/ledger';
import { bind, isServedElsewhere, sqlStatement } from '@banking/postgres';
import { type AllCells, beingMoved } from './cell-books.js';
import type { VerifiedStep } from './verify-halves.js';

export const SUMS_CHECK =
  'interworkspace balances of all cells sum to zero in every currency, without payments between cells';

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
   join transfer t on t.workspace_id = a.workspace_id and t.account_id = a.id
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
 *
 * @throws Refusal `unavailable` if a database is away, or workspaces are moved one after another
 */
export async function* verifySums(all: AllCells, stepRows: number): AsyncGenerator<VerifiedStep, void, undefined> {
  let before = '';
  let cause: unknown;
  for (let pass = 1; pass <= PASSES_MAX; pass += 1) {
    const byTime = await settledEverywhere(all);
    const places = await all.places();
    const sums: Sums = new Map();
    try {
      yield* addAll(all, places, { byTime, stepRows }, sums);
    } catch (error) {
      if (!isServedElsewhere(error)) throw error;
      cause = error;
      continue;
    }
    const later = await all.places();
    if ([...places].some(([workspaceId, number]) => later.get(workspaceId) !== number)) continue;
    const findings = findingsOf([...sums.values()]);
    const found = JSON.stringify(findings);
    if (findings.length === 0 || found === before) return yield { rows: 0, findings };
    before = found;
  }
  throw beingMoved(cause);
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
