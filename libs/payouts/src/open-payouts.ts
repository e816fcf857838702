import { bind, sqlStatement, type BoundStatement } from '@banking/postgres';
import { openWork } from '@banking/work-queue';

/** The kind of work that submits a payout. */
export const PAYOUT = 'payout';

/** A transaction that goes to a network, or has gone there. */
export interface Outgoing {
  readonly workspaceId: number;
  readonly transactionId: number;
  /** The id of its tracking. Default: the next one. */
  readonly remittanceId?: number | undefined;
  /** When it was written, in the text of PostgreSQL. Default: now. */
  readonly at?: string | undefined;
}

const OPEN_REMITTANCES = sqlStatement(
  'open_remittances',
  `insert into remittance (workspace_id, transaction_id, id, created_at, updated_at)
   select w, t, coalesce(id, nextval('remittance_id_seq')), coalesce(at, statement_timestamp()), coalesce(at, statement_timestamp())
   from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::timestamptz[]) u(w, t, id, at)`,
);
const OPEN_PAYOUTS = sqlStatement(
  'open_payouts',
  `insert into payout (workspace_id, transaction_id, status)
   select w, t, $3 from unnest($1::bigint[], $2::bigint[]) u(w, t)`,
);

/**
 * The writes that open the payouts of pending transactions: tracking, a payout that is due, and its work in the queue. They are sent
 * with the posting, whose transactions they refer to; one statement per table for any number of payouts.
 */
export function openPayouts(list: readonly Outgoing[]): readonly BoundStatement<unknown>[] {
  if (list.length === 0) return [];
  const work = list.map(({ workspaceId, transactionId }) => ({ workspaceId, kind: PAYOUT, subjectId: transactionId }));
  return [...opened(list, 'due'), openWork(work)];
}

/** The writes that track transactions which another system has submitted to a network: no worker submits them. */
export function openTracking(list: readonly Outgoing[]): readonly BoundStatement<unknown>[] {
  return opened(list, 'submitted');
}

function opened(list: readonly Outgoing[], status: 'due' | 'submitted'): BoundStatement<unknown>[] {
  const workspaces = list.map(({ workspaceId }) => workspaceId);
  const transactions = list.map(({ transactionId }) => transactionId);
  const ids = list.map(({ remittanceId }) => remittanceId ?? null);
  const times = list.map(({ at }) => at ?? null);
  return [
    bind(OPEN_REMITTANCES, workspaces, transactions, ids, times),
    bind(OPEN_PAYOUTS, workspaces, transactions, status),
  ];
}
