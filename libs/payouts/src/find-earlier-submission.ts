import type { PayoutStatus } from '@banking/domain';
import { WorkError } from '@banking/work-queue';
import type { Rail } from './rail.js';
import type { RailEvent } from './rail-event-writes.js';

/** A payout at the start of a try. `tries` includes this one, except of a payout that is `submitted` already. */
export interface PayoutAttempt {
  readonly status: PayoutStatus;
  readonly tries: number;
  /** Of the key. */
  readonly keyNonce: string;
  /** Whether it waited for its first try for long, as after a restore. */
  readonly isLate: boolean;
}

/**
 * Retries a payout, or checks a submitted one. The network may already have the payment of an earlier try, so the payment is found by
 * key before it is submitted again. The time of the next try is decided by `run-claimed-work.ts` of the work queue.
 *
 * A late first try asks too: in books that were restored, the try that the network received may be lost.
 *
 * @returns the events of the payment if the network has it; undefined if the payment must be submitted
 */
export async function findEarlierSubmission(
  { status, tries, isLate }: PayoutAttempt,
  find: () => ReturnType<Rail['find']>,
): Promise<readonly RailEvent[] | undefined> {
  if (status !== 'submitted' && tries <= 1 && !isLate) return undefined;
  const events = await find();
  if (events === undefined && status === 'submitted') {
    throw new WorkError('the network no longer has a payment that it had accepted');
  }
  return events;
}
