import {
  decide,
  lockAndRead,
  postReturns,
  preparePosting,
  requirePosted,
  returnEntry,
  type Books,
} from '@banking/ledger';
import { bind, sqlStatement } from '@banking/postgres';
import type { PayoutStatus, TransactionStatus } from '@banking/domain';
import { lockPayoutWork } from './record-rail-events.js';
import { lockTransactions } from './discrepancies.js';
import { type NoteChanges, payoutKey } from './open-payouts.js';
import type { OpenRails } from './rail.js';
import { settlePayments } from './settle-payments.js';

interface PayoutRow {
  readonly payout_status: PayoutStatus;
  readonly transaction_status: TransactionStatus;
  readonly tries: number;
  readonly is_accepted: boolean;
  readonly key_nonce: string;
  readonly rail: string;
}

const FIND_PAYOUT = sqlStatement<PayoutRow>(
  'find_payout_to_return',
  `select p.status as payout_status, x.status as transaction_status, p.tries, p.accepted_at is not null as is_accepted,
          p.key_nonce, p.rail
   from payout p join transaction x on (x.workspace_id, x.id) = (p.workspace_id, p.transaction_id)
   where p.workspace_id = $1 and p.transaction_id = $2`,
);

export interface ReturnPayoutInput {
  readonly workspaceId: number;
  readonly transactionId: number;
  /** Why the payout cannot leave. Stored as the reason of the payout. */
  readonly note: string;
  /** Of them, the network of the payout is asked whether it has the payment. One that is not configured is not asked. */
  readonly rails: OpenRails;
  /** Writes the return to the audit trail. */
  readonly noteChanges: NoteChanges;
}

/**
 * `not_found`: the workspace has no payout of this transaction. `final`: the transaction is completed or failed.
 * `outcome_unknown`: the network has the payment, or may have it, because a worker submits it or the network of a tried one is not known.
 */
export type ReturnPayoutOutcome = 'not_found' | 'final' | 'outcome_unknown' | { readonly returnId: number };

/**
 * Returns the money of a payout that no network has: the full debit without the fee, as a new linked transaction. Payout and
 * transaction fail in the same database transaction, which also takes the payout from the queue.
 *
 * Only a payout that no worker submits is returned: before its first try, or parked after its last one. The network is asked for it. One that
 * is not configured is not asked, and may have received a payout that was tried.
 *
 * @throws Refusal `balance_limit_exceeded` if the account cannot hold the returned money. Nothing was written.
 * @throws the errors of the network
 */
export async function returnPayout(books: Books, input: ReturnPayoutInput): Promise<ReturnPayoutOutcome> {
  const { workspaceId, transactionId, note, noteChanges } = input;
  const { database } = books;
  const find = bind(FIND_PAYOUT, workspaceId, transactionId);
  const found = await database.read({ workspaces: [workspaceId] }, find);
  const obstacle = obstacleOf(found) ?? (await obstacleAtNetwork(input, found));
  if (obstacle) return obstacle;

  const payouts = [{ workspaceId, transactionId }];
  const entry = await returnEntry(database, workspaceId, transactionId);
  const posting = await preparePosting(books, [{ entries: [entry] }]);
  return database.transaction({ workspaces: [workspaceId], actorType: 'operator' }, async (tx) => {
    // A worker begins a payout under the lock of its work, so behind this lock it has begun before, or never does. Each try is counted: after
    // another one, what the network answered is old.
    const [, , [current]] = await tx.pipeline([lockPayoutWork(payouts), lockTransactions(payouts), find] as const);
    const overtaken = obstacleOf(current) ?? (current?.tries === found?.tries ? undefined : 'outcome_unknown');
    if (overtaken) return overtaken;
    const { context } = await lockAndRead(tx, posting);
    const posted = posting.proposals.flatMap((proposal) => requirePosted(decide(context, proposal)));
    const [returned] = posted;
    if (!returned) throw new Error(`transaction ${transactionId} has no return to post`);
    const resource = { type: 'transaction', id: transactionId };
    await tx.commit([
      ...postReturns(posted),
      ...settlePayments([{ workspaceId, transactionId, finalStatus: 'failed', reason: note }], undefined),
      noteChanges([{ workspaceId, operation: 'returnPayout', resource }]),
    ]);
    return { returnId: returned.id };
  });
}

function obstacleOf(payout: PayoutRow | undefined): 'not_found' | 'final' | 'outcome_unknown' | undefined {
  if (!payout) return 'not_found';
  if (payout.transaction_status !== 'pending') return 'final';
  const { payout_status: status, tries, is_accepted: isAccepted } = payout;
  const isSubmittedByNone = status === 'parked' || (status === 'due' && tries === 0);
  return isSubmittedByNone && !isAccepted ? undefined : 'outcome_unknown';
}

/** In books that were restored, also the try that the network received may be lost. */
async function obstacleAtNetwork(
  { workspaceId, transactionId, rails }: ReturnPayoutInput,
  payout: PayoutRow | undefined,
): Promise<'outcome_unknown' | undefined> {
  if (!payout) return undefined;
  const rail = rails.get(payout.rail);
  if (!rail) return payout.tries === 0 ? undefined : 'outcome_unknown';
  const key = payoutKey({ workspaceId, transactionId, nonce: payout.key_nonce });
  const found = await rail.find(key, AbortSignal.timeout(10_000));
  return found === undefined ? undefined : 'outcome_unknown';
}
