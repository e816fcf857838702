import type { Books } from '@banking/ledger';
import { bind, sqlStatement } from '@banking/postgres';
import { payoutKey } from './payout-key.js';
import type { PaymentReader, Rail } from './rail.js';
import { recordEvent } from './record-rail-event.js';
import { findEarlierSubmission, type PayoutAttempt } from './find-earlier-submission.js';
import {
  holdWork,
  WorkError,
  type Claim,
  type FailedAttempt,
  type WorkHandler,
  type WorkOutcome,
} from '@banking/work-queue';

export interface PayoutOptions {
  readonly books: Books;
  readonly rail: Rail;
  readonly readPayment: PaymentReader;
  /** Aborts a call to the network. Default: after 10 s. */
  readonly deadline?: (() => AbortSignal) | undefined;
}

/** How often a submitted payout is checked with the network, in case an event was lost. */
const CHECK_INTERVAL_MS = 15 * 60_000;

/** How long a payout is left while payouts are stopped. */
const STOPPED_MS = 5 * 60_000;
const STOPPED = 'payouts are stopped';

/**
 * Recorded before the network is called: at a second try the network may already have the payment. Begins nothing while payouts are
 * stopped, and its row alone proves that it has begun.
 */
const BEGIN_SUBMITTING = sqlStatement<{ tries: number }>(
  'begin_submitting',
  `update payout set status = 'submitting', tries = tries + 1, fence = $3, updated_at = statement_timestamp()
   where workspace_id = $1 and transaction_id = $2 and status in ('due', 'submitting')
     and not exists (select from payout_stop where resumed_at is null)
   returning tries`,
);
const READ_PAYOUT = sqlStatement<PayoutAttempt>(
  'read_payout',
  `select status, tries, key_nonce as "keyNonce", created_at < statement_timestamp() - interval '1 minute' as "isLate"
   from payout where workspace_id = $1 and transaction_id = $2`,
);
const MARK_SUBMITTED = sqlStatement(
  'mark_submitted',
  `update payout set status = 'submitted', reason = null, updated_at = statement_timestamp()
   where workspace_id = $1 and transaction_id = $2 and status = 'submitting'`,
);
const NOTE_FAILURE = sqlStatement(
  'note_payout_failure',
  `update payout set reason = $3, status = case when $4 then 'parked' else status end,
                     parked_at = case when $4 then statement_timestamp() end, updated_at = statement_timestamp()
   where workspace_id = $1 and transaction_id = $2 and status in ('submitting', 'submitted')`,
);

/** The handler of payouts: submits each of them to a network once, and none while payouts are stopped. */
export function payoutHandler(options: PayoutOptions): WorkHandler {
  return {
    run: (claim, signal) => submitPayout(options, claim, signal),
    noteFailure: ({ workspaceId, subjectId }: Claim, { reason, isParked }: FailedAttempt) => [
      bind(NOTE_FAILURE, workspaceId, subjectId, reason, isParked),
    ],
  };
}

async function submitPayout(
  { books, rail, readPayment, deadline = () => AbortSignal.timeout(10_000) }: PayoutOptions,
  claim: Claim,
  signal: AbortSignal,
): Promise<WorkOutcome> {
  const { workspaceId, subjectId: transactionId, fence } = claim;
  const scope = { workspaces: [workspaceId] };
  const [, [begun], [payout]] = await books.database.pipeline(scope, [
    holdWork(claim),
    bind(BEGIN_SUBMITTING, workspaceId, transactionId, fence),
    bind(READ_PAYOUT, workspaceId, transactionId),
  ] as const);
  if (!payout) throw new Error(`transaction ${transactionId} has no payout`);
  if (payout.status === 'settled' || payout.status === 'failed') return 'done';
  if (payout.status === 'due') return { laterMs: STOPPED_MS, heldFor: STOPPED };

  const key = payoutKey({ workspaceId, transactionId, nonce: payout.keyNonce ?? undefined });
  const within = <T>(call: (signal: AbortSignal) => Promise<T>) =>
    beforeAbort(call, AbortSignal.any([signal, deadline()]));
  const find = () => within((until) => rail.find(key, until));
  const isStopped = payout.status === 'submitting' && !begun;
  // An earlier try may have submitted the payment. That is recorded, and nothing is submitted.
  let events = isStopped ? await find() : await findEarlierSubmission(payout, find);
  if (events === undefined && isStopped) return { laterMs: STOPPED_MS, heldFor: STOPPED };
  if (events === undefined) {
    const payment = { ...(await readPayment(workspaceId, transactionId)), key };
    events = await within((until) => rail.submit(payment, until));
  }
  await books.database.pipeline(scope, [holdWork(claim), bind(MARK_SUBMITTED, workspaceId, transactionId)]);
  for (const event of events) await recordEvent(books, workspaceId, transactionId, event);
  return { laterMs: CHECK_INTERVAL_MS };
}

/** Ends at the abort, even where the call ignores its signal. The outcome of the call is unknown then. */
async function beforeAbort<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort);
  });
  try {
    return await Promise.race([call(signal), aborted]);
  } catch (error) {
    if (signal.aborted) throw new WorkError('the network did not answer in time', { cause: error });
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
