import { currencyCode } from '@banking/ledger';
import { bind, type Database, sqlStatement } from '@banking/postgres';

/** What both halves of a payment between cells state alike. */
interface Half {
  readonly origin_workspace_id: bigint;
  readonly origin_transaction_id: bigint;
  readonly key_nonce: string;
  readonly account_code: string;
  readonly currency_id: number;
  readonly amount: bigint;
}

/** The payer's half. */
export interface Crossing extends Half {
  readonly status: 'due' | 'completed' | 'returned';
}

/** The payee's half. */
export interface Arrival extends Half {
  readonly workspace_id: bigint;
  readonly outcome: 'accepted' | 'refused';
}

const CROSSING = `workspace_id as origin_workspace_id, transaction_id as origin_transaction_id, key_nonce, account_code, currency_id,
  amount, status`;
const ARRIVAL = `workspace_id, origin_workspace_id, origin_transaction_id, key_nonce, account_code, currency_id, amount, outcome`;

const FINISHED_CROSSINGS = sqlStatement<Crossing>(
  'finished_crossings',
  `select ${CROSSING} from crossing
   where workspace_id = $1 and transaction_id > $2 and status <> 'due'
   order by transaction_id limit $3`,
);
const ARRIVALS = sqlStatement<Arrival>(
  'arrivals_to_verify',
  `select ${ARRIVAL} from arrival
   where workspace_id = $1 and (origin_workspace_id, origin_transaction_id, key_nonce) > ($2, $3, $4)
   order by origin_workspace_id, origin_transaction_id, key_nonce limit $5`,
);
/** Each `offset 0` keeps its subquery one index search for each key, whatever the planner knows of the tables. */
const CROSSINGS_OF = sqlStatement<Crossing>(
  'crossings_of_arrivals',
  `select c.* from unnest($1::bigint[], $2::bigint[]) u(workspace, transaction)
   cross join lateral (
     select ${CROSSING} from crossing where workspace_id = u.workspace and transaction_id = u.transaction offset 0
   ) c`,
);
const ARRIVALS_OF = sqlStatement<Arrival>(
  'arrivals_of_crossings',
  `select a.* from unnest($1::bigint[], $2::bigint[], $3::bigint[]) u(workspace, origin, transaction)
   cross join lateral (
     select ${ARRIVAL} from arrival
     where workspace_id = u.workspace and origin_workspace_id = u.origin and origin_transaction_id = u.transaction offset 0
   ) a`,
);
const WORKSPACES_OF_CODES = sqlStatement<{ code: string; workspace_id: bigint }>(
  'workspaces_of_account_codes',
  'select code, workspace_id from account_place where code = any($1::text[])',
);

/** The next crossings of a workspace that are not due any more. Without a last one, the first. */
export async function nextFinishedCrossings(
  database: Database,
  workspaceId: number,
  last: Crossing | undefined,
  limit: number,
): Promise<readonly Crossing[]> {
  const query = bind(FINISHED_CROSSINGS, workspaceId, last?.origin_transaction_id ?? 0n, limit);
  return (await database.pipeline({ workspaces: [workspaceId] }, [query] as const))[0];
}

/** The next arrivals of a workspace. Without a last one, the first. */
export async function nextArrivals(
  database: Database,
  workspaceId: number,
  last: Arrival | undefined,
  limit: number,
): Promise<readonly Arrival[]> {
  const after = [last?.origin_workspace_id ?? 0n, last?.origin_transaction_id ?? 0n, last?.key_nonce ?? ''];
  const query = bind(ARRIVALS, workspaceId, ...after, limit);
  return (await database.pipeline({ workspaces: [workspaceId] }, [query] as const))[0];
}

/** The crossings of arrivals whose payers are in workspaces of one cell. */
export async function crossingsOf(
  database: Database,
  workspaces: readonly number[],
  halves: readonly Half[],
): Promise<readonly Crossing[]> {
  const own = halves.filter(({ origin_workspace_id }) => workspaces.includes(Number(origin_workspace_id)));
  const query = bind(CROSSINGS_OF, ...transactionsOf(own));
  return (await database.pipeline({ workspaces }, [query] as const))[0];
}

/** The arrivals of crossings in workspaces of one cell. @param payees the workspace of each code of an account */
export async function arrivalsOf(
  database: Database,
  workspaces: readonly number[],
  halves: readonly Half[],
  payees: ReadonlyMap<string, number>,
): Promise<readonly Arrival[]> {
  const own = halves.filter(({ account_code }) => workspaces.includes(payees.get(account_code) ?? 0));
  const query = bind(
    ARRIVALS_OF,
    own.map(({ account_code }) => payees.get(account_code)),
    ...transactionsOf(own),
  );
  return (await database.pipeline({ workspaces }, [query] as const))[0];
}

/** The workspace of each code of an account, from home. */
export async function workspacesOfCodes(home: Database, halves: readonly Half[]): Promise<ReadonlyMap<string, number>> {
  const codes = [...new Set(halves.map(({ account_code }) => account_code))];
  const [rows] = await home.pipeline({}, [bind(WORKSPACES_OF_CODES, codes)] as const);
  return new Map(rows.map(({ code, workspace_id }) => [code, Number(workspace_id)]));
}

/** The same for both halves of one payment. */
export const keyOf = ({ origin_workspace_id, origin_transaction_id, key_nonce }: Half): string =>
  `${origin_workspace_id}/${origin_transaction_id}/${key_nonce}`;

/** As findings name it. */
export const nameOf = ({ origin_workspace_id, origin_transaction_id }: Half): string =>
  `the crossing of transaction ${origin_transaction_id} of workspace ${origin_workspace_id}`;

/** How two halves of one payment differ; undefined if they state the same. */
export function differenceOf(crossing: Crossing, arrival: Arrival): string | undefined {
  if (crossing.amount !== arrival.amount || crossing.currency_id !== arrival.currency_id) {
    return `has ${shown(crossing)}, and its arrival in workspace ${arrival.workspace_id} has ${shown(arrival)}`;
  }
  return crossing.account_code === arrival.account_code
    ? undefined
    : `and its arrival in workspace ${arrival.workspace_id} name different accounts`;
}

const shown = ({ amount, currency_id }: Half) => `${amount} ${currencyCode(currency_id)}`;

const transactionsOf = (halves: readonly Half[]) => [
  halves.map(({ origin_workspace_id }) => origin_workspace_id),
  halves.map(({ origin_transaction_id }) => origin_transaction_id),
];
