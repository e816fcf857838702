import { bind, statement, type Bound } from '@banking/postgres';
import { openWork } from './work/open-work.js';

/** Whose handler carries a payout out: the kind of its work. */
export const PAYOUT = 'payout';

/** A transaction that leaves us, or has left. */
export interface Outgoing {
  readonly workspaceId: number;
  readonly transactionId: number;
}

const OPEN_REMITTANCES = statement(
  'open_remittances',
  'insert into remittance (workspace_id, transaction_id) select * from unnest($1::bigint[], $2::bigint[])',
);
const OPEN_PAYOUTS = statement(
  'open_payouts',
  `insert into payout (workspace_id, transaction_id, status)
   select w, t, $3 from unnest($1::bigint[], $2::bigint[]) u(w, t)`,
);

/**
 * The writes that send pending transactions on their way: tracking, a payout that is due, and its work in the queue. They travel
 * with the posting and point at what is written there; one statement a table, however many there are.
 */
export function openPayouts(list: readonly Outgoing[]): readonly Bound<unknown>[] {
  if (list.length === 0) return [];
  const work = list.map(({ workspaceId, transactionId }) => ({ workspaceId, kind: PAYOUT, subjectId: transactionId }));
  return [...opened(list, 'due'), openWork(work)];
}

/** The writes that track transactions somebody else has handed to a network: nobody here will carry them out. */
export function openTracking(list: readonly Outgoing[]): readonly Bound<unknown>[] {
  return opened(list, 'submitted');
}

function opened(list: readonly Outgoing[], status: 'due' | 'submitted'): Bound<unknown>[] {
  const workspaces = list.map(({ workspaceId }) => workspaceId);
  const transactions = list.map(({ transactionId }) => transactionId);
  return [bind(OPEN_REMITTANCES, workspaces, transactions), bind(OPEN_PAYOUTS, workspaces, transactions, status)];
}
