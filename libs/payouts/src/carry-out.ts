import type { Books } from '@banking/ledger';
import { bind, statement } from '@banking/postgres';
import { payoutKey, type PaymentReader, type Rail } from './rail.js';
import { recordEvent, type RailEvent } from './track-remittance.js';
import { holdWork, type Claim } from './work/claims.js';
import { WorkError, type FailedTry, type WorkHandler, type WorkOutcome } from './work/handle-claim.js';

export interface CarryingOptions {
  readonly books: Books;
  readonly rail: Rail;
  readonly readPayment: PaymentReader;
  /** When a call to the network is given up. Default: after 10 s. */
  readonly deadline?: (() => AbortSignal) | undefined;
}

/** The network tells by itself how it goes on. Should a word of it get lost, it is asked. */
const ASK_AGAIN_MS = 15 * 60_000;

type PayoutStatus = 'due' | 'submitting' | 'submitted' | 'settled' | 'failed' | 'parked';

/** Says so before the network is called: from the second time on, nobody knows whether it has the payment. */
const BEGIN_SUBMITTING = statement(
  'begin_submitting',
  `update payout set status = 'submitting', tries = tries + 1, fence = $3, updated_at = statement_timestamp()
   where workspace_id = $1 and transaction_id = $2 and status in ('due', 'submitting')`,
);
const READ_PAYOUT = statement<{ status: PayoutStatus; tries: number }>(
  'read_payout',
  'select status, tries from payout where workspace_id = $1 and transaction_id = $2',
);
const MARK_SUBMITTED = statement(
  'mark_submitted',
  `update payout set status = 'submitted', reason = null, updated_at = statement_timestamp()
   where workspace_id = $1 and transaction_id = $2 and status = 'submitting'`,
);
const NOTE_FAILURE = statement(
  'note_payout_failure',
  `update payout set reason = $3, status = case when $4 then 'parked' else status end,
                     parked_at = case when $4 then statement_timestamp() end, updated_at = statement_timestamp()
   where workspace_id = $1 and transaction_id = $2 and status in ('submitting', 'submitted')`,
);

/** Hands payouts over to a network, once each: the handler of their work. */
export function carryOut(options: CarryingOptions): WorkHandler {
  return {
    run: (claim, signal) => carry(options, claim, signal),
    noteFailure: ({ workspaceId, subjectId }: Claim, { reason, isParked }: FailedTry) => [
      bind(NOTE_FAILURE, workspaceId, subjectId, reason, isParked),
    ],
  };
}

async function carry(
  { books, rail, readPayment, deadline = () => AbortSignal.timeout(10_000) }: CarryingOptions,
  claim: Claim,
  signal: AbortSignal,
): Promise<WorkOutcome> {
  const { workspaceId, subjectId: transactionId, fence } = claim;
  const scope = { workspaces: [workspaceId] };
  const [, , [payout]] = await books.database.flight(scope, [
    holdWork(claim),
    bind(BEGIN_SUBMITTING, workspaceId, transactionId, fence),
    bind(READ_PAYOUT, workspaceId, transactionId),
  ] as const);
  if (!payout) throw new Error(`transaction ${transactionId} has no payout`);
  const { status, tries } = payout;
  if (status === 'settled' || status === 'failed') return 'done';

  const key = payoutKey(workspaceId, transactionId);
  const within = <T>(call: (signal: AbortSignal) => Promise<T>) => inTime(call, AbortSignal.any([signal, deadline()]));
  let said: readonly RailEvent[] | undefined;
  if (status === 'submitted' || tries > 1) said = await within((until) => rail.find(key, until));
  if (said === undefined) {
    if (status === 'submitted') throw new WorkError('the network has forgotten a payment that it had taken');
    const payment = { ...(await readPayment(workspaceId, transactionId)), key };
    said = await within((until) => rail.submit(payment, until));
  }
  await books.database.flight(scope, [holdWork(claim), bind(MARK_SUBMITTED, workspaceId, transactionId)]);
  for (const event of said) await recordEvent(books, workspaceId, transactionId, event);
  return { laterMs: ASK_AGAIN_MS };
}

/** Gives up when it is time, also where the call itself does not notice. Whether it took place is unknown then. */
async function inTime<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  let giveUp: () => void = () => undefined;
  const late = new Promise<never>((_, reject) => {
    giveUp = () => reject(new WorkError('the network did not answer in time'));
    if (signal.aborted) giveUp();
    else signal.addEventListener('abort', giveUp, { once: true });
  });
  try {
    return await Promise.race([call(signal), late]);
  } catch (error) {
    if (signal.aborted) throw new WorkError('the network did not answer in time', { cause: error });
    throw error;
  } finally {
    signal.removeEventListener('abort', giveUp);
  }
}
