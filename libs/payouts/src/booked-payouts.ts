import { minorUnits, type MinorUnits, type PayoutStatus } from '@banking/domain';
import { bind, sqlStatement, type Database } from '@banking/postgres';
import { PAYOUT } from './open-payouts.js';
import { payoutKey, type PayoutName } from './payout-key.js';

/** A payout in the books, with what a network must have of it. */
export interface BookedPayout {
  readonly key: string;
  readonly workspaceId: number;
  readonly transactionId: number;
  readonly status: PayoutStatus;
  /** The amount that arrives. */
  readonly amount: MinorUnits;
  /** ISO 4217. */
  readonly currency: string;
  /** Id and status of each recorded event, as `nameOfEvent` writes them. */
  readonly events: ReadonlySet<string>;
}

interface PayoutRow {
  workspace_id: bigint;
  transaction_id: bigint;
  key_nonce: string;
  status: BookedPayout['status'];
  amount: bigint;
  currency: string;
  events: string[];
}

/** After a conversion the amount that arrives is in the target currency: the credit of the settlement account. */
const PAYOUT_COLUMNS = `
  p.workspace_id, p.transaction_id, p.key_nonce, p.status, s.amount, c.code as currency,
  array(
    select e.provider_event || ' ' || e.status
    from remittance m join remittance_event e on (e.workspace_id, e.remittance_id) = (m.workspace_id, m.id)
    where (m.workspace_id, m.transaction_id) = (p.workspace_id, p.transaction_id)
  ) as events`;
const SETTLEMENT = `
  join transfer s on (s.workspace_id, s.transaction_id) = (p.workspace_id, p.transaction_id) and s.direction = 'credit'
  join account o on (o.workspace_id, o.id) = (s.workspace_id, s.account_id) and o.kind = 'settlement'
  join currency c on c.id = s.currency_id`;

const FIND_PAYOUTS = sqlStatement<PayoutRow>(
  'find_payouts',
  `select ${PAYOUT_COLUMNS}
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   join payout p on (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) ${SETTLEMENT}`,
);
const PAGE_SIZE = 500;
/** Payouts with work: the others were submitted by another system, or have a final status. */
const LIST_OPEN_PAYOUTS = sqlStatement<PayoutRow>(
  'list_open_payouts',
  `select ${PAYOUT_COLUMNS}
   from work k join payout p on (p.workspace_id, p.transaction_id) = (k.workspace_id, k.subject_id) ${SETTLEMENT}
   where k.kind = '${PAYOUT}' and (k.workspace_id, k.subject_id) > ($1, $2) and p.status not in ('settled', 'failed')
   order by k.workspace_id, k.subject_id limit ${PAGE_SIZE}`,
);
const LAST_TRANSACTION = sqlStatement<{ at: string | null }>(
  'find_last_transaction',
  `select rfc3339(max(x.created_at) - $2 * interval '1 day') as at
   from unnest($1::bigint[]) w cross join lateral (
     select created_at from transaction where workspace_id = w order by id desc limit 1
   ) x`,
);

/** Finds the payouts of these ids, by key. A payout of the same ids and another key is not among them. */
export async function findPayouts(
  database: Database,
  names: readonly PayoutName[],
): Promise<ReadonlyMap<string, BookedPayout>> {
  const workspaces = names.map(({ workspaceId }) => workspaceId);
  const transactions = names.map(({ transactionId }) => transactionId);
  const [rows] = await database.pipeline({ workspaces: [...new Set(workspaces)] }, [
    bind(FIND_PAYOUTS, workspaces, transactions),
  ] as const);
  return new Map(rows.map(bookedPayoutOf).map((payout) => [payout.key, payout]));
}

/** The payouts of these workspaces that have no final status, page by page. */
export async function* listOpenPayouts(
  database: Database,
  workspaces: readonly number[],
): AsyncGenerator<readonly BookedPayout[]> {
  let last: Pick<BookedPayout, 'workspaceId' | 'transactionId'> = { workspaceId: 0, transactionId: 0 };
  for (;;) {
    const query = bind(LIST_OPEN_PAYOUTS, last.workspaceId, last.transactionId);
    const [rows] = await database.pipeline({ workspaces }, [query] as const);
    const page = rows.map(bookedPayoutOf);
    const end = page.at(-1);
    if (end === undefined) return;
    yield page;
    last = end;
  }
}

/** Some days before the last transaction of the books: RFC 3339. Undefined for empty books. */
export async function findDaysBeforeLastTransaction(
  database: Database,
  workspaces: readonly number[],
  days: number,
): Promise<string | undefined> {
  const row = await database.read({ workspaces }, bind(LAST_TRANSACTION, workspaces, days));
  return row?.at ?? undefined;
}

export const nameOfEvent = ({ providerEvent, status }: { providerEvent: string; status: string }): string =>
  `${providerEvent} ${status}`;

function bookedPayoutOf({ workspace_id, transaction_id, key_nonce, amount, events, ...row }: PayoutRow): BookedPayout {
  const workspaceId = Number(workspace_id);
  const transactionId = Number(transaction_id);
  return {
    key: payoutKey({ workspaceId, transactionId, nonce: key_nonce }),
    ...{ workspaceId, transactionId, status: row.status, amount: minorUnits(amount), currency: row.currency },
    events: new Set(events),
  };
}
