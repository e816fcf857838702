import type { Books } from '@banking/ledger';
import { bind, sqlStatement } from '@banking/postgres';
import { PAYOUT } from './open-payouts.js';
import { transactionOf, type Rail, type DeliveredRailEvent } from './rail.js';
import { recordEvent } from './record-rail-event.js';
import { isTransientFailure } from '@banking/work-queue';

export interface ReceivingOptions {
  readonly books: Books;
  readonly rail: Rail;
  /** Receives the error of an event that could not be recorded; for the log. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

const EVENTS_MAX = 100;

/** A parked payout stays parked: after its release a worker finds its events by key. */
const MAKE_DUE = sqlStatement<{ subject_id: bigint }>(
  'make_payout_due',
  `update work set due_at = case when parked_at is null then clock_timestamp() else due_at end
   where workspace_id = $1 and kind = '${PAYOUT}' and subject_id = $2
   returning subject_id`,
);

/**
 * Receives and records the events of the network: a chore of the worker. Each event is acknowledged after it is recorded, so none is
 * lost; received twice, it is recorded once. An event that cannot be recorded delays no other: its payout becomes due, and the worker
 * that claims it finds the event by key, tries again, and at last parks the payout with the reason. A payout with a final status has no
 * work: its event is not acknowledged, so that the network delivers it again.
 *
 * @returns the number of events received
 * @throws Refusal for a transient failure, such as `unavailable` and `outcome_unknown`; the network delivers the rest again
 */
export async function receiveRailEvents({ books, rail, onError = () => undefined }: ReceivingOptions): Promise<number> {
  const delivered = await rail.receive(EVENTS_MAX);
  const recorded: DeliveredRailEvent[] = [];
  try {
    for (const event of delivered) if (await recordDelivered(books, event, onError)) recorded.push(event);
  } finally {
    if (recorded.length > 0) await rail.acknowledge(recorded);
  }
  return delivered.length;
}

/** Returns whether to acknowledge the event: it is recorded, or a worker will find it by key. */
async function recordDelivered(
  books: Books,
  { key, event }: DeliveredRailEvent,
  onError: (error: unknown) => void,
): Promise<boolean> {
  const payout = payoutOf(key, onError);
  if (!payout) return true;
  const { workspaceId, transactionId } = payout;
  try {
    await recordEvent(books, workspaceId, transactionId, event);
    return true;
  } catch (error) {
    if (isTransientFailure(error)) throw error;
    onError(error);
    const [due] = await books.database.pipeline({ workspaces: [workspaceId] }, [
      bind(MAKE_DUE, workspaceId, transactionId),
    ] as const);
    return due.length > 0;
  }
}

/** A key of another service is reported and acknowledged, so that it is reported once. */
function payoutOf(key: string, onError: (error: unknown) => void): ReturnType<typeof transactionOf> | undefined {
  try {
    return transactionOf(key);
  } catch (error) {
    onError(error);
    return undefined;
  }
}
