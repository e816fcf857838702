import type { Books } from '@banking/ledger';
import { BatchedCalls, bind, sqlStatement } from '@banking/postgres';
import { WorkError, type Claim, type WorkHandler, type WorkOutcome } from '@banking/work-queue';
import { PayoutBeginner } from './begin-submitting.js';
import type { RailEventEffect } from './decide-rail-events.js';
import { findEarlierSubmission } from './find-earlier-submission.js';
import { outgoingColumns } from './money-position.js';
import { traceNetwork, type NetworkMessage } from './network-channel.js';
import type { Outgoing } from './open-payouts.js';
import { payoutKey } from './payout-key.js';
import type { PaymentReader, Rail } from './rail.js';
import type { PayoutEvent } from './rail-event-writes.js';
import { recordEvents } from './record-rail-event.js';

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

const MARK_SUBMITTED = sqlStatement(
  'mark_submitted',
  `update payout p set status = 'submitted', reason = null, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) and p.status = 'submitting'`,
);
const NOTE_FAILURES = sqlStatement(
  'note_payout_failures',
  `update payout p set reason = u.reason, status = case when u.is_parked then 'parked' else p.status end,
                       parked_at = case when u.is_parked then statement_timestamp() end, updated_at = statement_timestamp()
   from unnest($1::bigint[], $2::bigint[], $3::text[], $4::boolean[]) u(workspace_id, transaction_id, reason, is_parked)
   where (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id) and p.status in ('submitting', 'submitted')`,
);

/**
 * The handler of payouts: submits each of them to a network once, and none while payouts are stopped. Each payout is handled separately.
 * The steps that several payouts take at the same time share one database transaction (`BatchedCalls`), in which a payout that fails
 * or whose claim is lost affects no other.
 */
export function payoutHandler(options: PayoutOptions): WorkHandler {
  const { books } = options;
  const steps = {
    beginner: new PayoutBeginner(books.database),
    events: new BatchedCalls((events: readonly PayoutEvent[]) => recordEvents(books, events)),
  };
  return {
    run: (claim, signal) => submitPayout(options, steps, claim, signal),
    notePostponed: (claims) => [bind(MARK_SUBMITTED, ...outgoingColumns(claims.map(outgoingOf)))],
    noteFailures: (failures) => [
      bind(
        NOTE_FAILURES,
        ...outgoingColumns(failures.map(({ claim }) => outgoingOf(claim))),
        failures.map(({ reason }) => reason),
        failures.map(({ isParked }) => isParked),
      ),
    ],
  };
}

/** The steps that concurrent payouts take together. */
interface SharedSteps {
  readonly beginner: PayoutBeginner;
  readonly events: BatchedCalls<PayoutEvent, RailEventEffect | Error>;
}

const outgoingOf = ({ workspaceId, subjectId }: Claim): Outgoing => ({ workspaceId, transactionId: subjectId });

async function submitPayout(
  { rail, readPayment, deadline = () => AbortSignal.timeout(10_000) }: PayoutOptions,
  { beginner, events: recorder }: SharedSteps,
  claim: Claim,
  signal: AbortSignal,
): Promise<WorkOutcome> {
  const { workspaceId, transactionId } = outgoingOf(claim);
  const payout = await beginner.begin(claim);
  if (payout.status === 'settled' || payout.status === 'failed') return 'done';
  if (payout.status === 'due') return { laterMs: STOPPED_MS, heldFor: STOPPED };

  const key = payoutKey({ workspaceId, transactionId, nonce: payout.keyNonce });
  const within = <T>(operation: NetworkMessage['operation'], call: (signal: AbortSignal) => Promise<T>) => {
    const until = AbortSignal.any([signal, deadline()]);
    return traceNetwork({ operation, signal: until }, () => beforeAbort(call, until));
  };
  const find = () => within('find', (until) => rail.find(key, until));
  const isStopped = payout.status === 'submitting' && !payout.isBegun;
  // An earlier try may have submitted the payment. That is recorded, and nothing is submitted.
  let events = isStopped ? await find() : await findEarlierSubmission(payout, find);
  if (events === undefined && !payout.isBegun) return { laterMs: STOPPED_MS, heldFor: STOPPED };
  if (events === undefined) {
    const payment = { ...(await readPayment(workspaceId, transactionId)), key };
    events = await within('submit', (until) => rail.submit(payment, until));
  }
  const effects = await Promise.all(events.map((event) => recorder.call({ workspaceId, transactionId, event })));
  for (const effect of effects) if (effect instanceof Error) throw effect;
  // Recorded as submitted together with the result, under the fence of the claim.
  return { laterMs: CHECK_INTERVAL_MS };
}

/** Ends at the abort, even where the call ignores its signal. The outcome of the call is unknown then. */
async function beforeAbort<T>(call: (signal: AbortSignal) => Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) throw new WorkError('the network was not called', { cause: signal.reason });
  let abort: () => void = () => undefined;
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason as Error);
    signal.addEventListener('abort', abort);
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
