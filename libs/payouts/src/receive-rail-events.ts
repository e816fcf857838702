import type { Books } from '@banking/ledger';
import { bind, isServedElsewhere, sqlStatement } from '@banking/postgres';
import { isTransientFailure, WorkError } from '@banking/work-queue';
import { outgoingColumns } from './discrepancies.js';
import { parsePayoutKey, PAYOUT, servedHere } from './open-payouts.js';
import { type DeliveredRailEvent, type PayoutEvent, type Rail, traceNetwork } from './rail.js';
import { findPayouts, isSameContent } from './reconcile-payouts.js';
import { recordEvents } from './record-rail-events.js';
import { CONTENT_DIFFERS } from './submit-payout.js';

export interface ReceivingOptions {
  readonly books: Books;
  /** The name of the network. */
  readonly name: string;
  readonly rail: Rail;
  /** Ends the wait for events, as at the end of the process. */
  readonly signal?: AbortSignal | undefined;
  /** Receives the error of an event that could not be recorded, with its payout; for the log. */
  readonly onError?: ((error: unknown, failed?: FailedPayout) => void) | undefined;
}

/** The payout of an event that could not be recorded, as its work is named. */
interface FailedPayout {
  readonly workspaceId: number;
  readonly kind: typeof PAYOUT;
  readonly subjectId: number;
}

/** Events that are received at a time at most. */
export const EVENTS_MAX = 100;

/**
 * A parked payout stays parked: after its release a worker finds its events by key. One that is tried again keeps its delay, although its
 * event is delivered meanwhile. In the order of the key, as every batch locks.
 */
const MAKE_DUE = sqlStatement(
  'make_payouts_of_events_due',
  `with failed as (
     select w.workspace_id, w.kind, w.subject_id
     from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
     join work w on (w.workspace_id, w.kind, w.subject_id) = (u.workspace_id, '${PAYOUT}', u.transaction_id)
     where w.parked_at is null and w.tries = 0 and w.delays = 0
     order by w.workspace_id, w.subject_id
     for update of w
   )
   update work w set due_at = clock_timestamp()
   from failed f
   where (w.workspace_id, w.kind, w.subject_id) = (f.workspace_id, f.kind, f.subject_id)`,
);

/**
 * Receives and records the events of the network: a chore of the worker. Each event is acknowledged after it is recorded, so none is
 * lost; received twice, it is recorded once. An event that cannot be recorded delays no other, and the network delivers it again. Its payout
 * becomes due: the worker that claims it finds the event by key, tries again, and at last parks the payout with the reason. A payout with
 * a final status has no work, and waits for the next delivery.
 *
 * An event of a payment that the books do not have, as after a restore, that another network carries, or of another amount is reported and
 * acknowledged. `reconcilePayouts` lists the payment.
 *
 * Of several databases, each receives the events of the workspaces that it serves. Other events are left to the worker of their database: they
 * are neither recorded nor acknowledged.
 *
 * @returns the number of events received
 * @throws Refusal for a transient failure, such as `unavailable` and `outcome_unknown`; the network delivers the rest again
 */
export async function receiveRailEvents({
  books,
  name,
  rail,
  signal,
  onError = () => undefined,
}: ReceivingOptions): Promise<number> {
  const received = await traceNetwork({ rail: name, operation: 'receive' }, () =>
    rail.receive(EVENTS_MAX, signal, onError),
  );
  if (received.length === 0) return 0;
  const delivered = await servedHere(books.database, received);
  const booked = await findPayouts(
    books.database,
    delivered.flatMap(({ key }) => parsePayoutKey(key) ?? []),
  ).catch((error: unknown) => {
    // A workspace has left this database meanwhile. The network delivers the events again.
    if (isServedElsewhere(error)) return undefined;
    throw error;
  });
  if (booked === undefined) return 0;
  const [own, differing, foreign]: [OwnEvent[], OwnEvent[], DeliveredRailEvent[]] = [[], [], []];
  for (const event of delivered) {
    const payout = booked.get(event.key);
    if (payout?.rail !== name) {
      foreign.push(event);
      continue;
    }
    const { workspaceId, transactionId } = payout;
    const isSame = event.content === undefined || isSameContent(event.content, payout);
    (isSame ? own : differing).push({ delivered: event, workspaceId, transactionId, event: event.event });
  }
  reportUnrecorded(foreign, differing.length, onError);
  // A worker finds the payment by key, and parks the payout with the reason.
  if (differing.length > 0) await makeDue(books, differing);
  const { recorded, failure } = await recordDelivered(books, own, onError);
  const done = [...foreign, ...[...differing, ...recorded].map((event) => event.delivered)];
  if (done.length > 0) await traceNetwork({ rail: name, operation: 'acknowledge' }, () => rail.acknowledge(done));
  if (failure !== undefined) throw failure;
  return delivered.length;
}

const NOT_OURS = 'the network reports a payment of another service';
const NOT_BOOKED = 'the network reports a payment that the books do not have: run banking work reconcile';

/** Once for each reason: a network may list many. */
function reportUnrecorded(
  foreign: readonly DeliveredRailEvent[],
  differing: number,
  onError: (error: unknown) => void,
): void {
  const lost = foreign.filter(({ key }) => parsePayoutKey(key) !== undefined).length;
  const counts = [
    [NOT_OURS, foreign.length - lost],
    [NOT_BOOKED, lost],
    [CONTENT_DIFFERS, differing],
  ] as const;
  for (const [reason, events] of counts) {
    if (events > 0) onError(new WorkError(events === 1 ? reason : `${reason} (${events} events)`));
  }
}

/** An event of a payout that the books have, as the network delivered it. */
interface OwnEvent extends PayoutEvent {
  readonly delivered: DeliveredRailEvent;
}

/** Returns the events to acknowledge: those that are recorded. `failure` ends the chore after they are acknowledged. */
async function recordDelivered(
  books: Books,
  events: readonly OwnEvent[],
  onError: NonNullable<ReceivingOptions['onError']>,
): Promise<{ readonly recorded: readonly OwnEvent[]; readonly failure: Error | undefined }> {
  const effects = await recordEvents(books, events);
  const recorded = events.filter((_, index) => !(effects[index] instanceof Error));
  const failed: OwnEvent[] = [];
  let failure: Error | undefined;
  for (const [index, event] of events.entries()) {
    const effect = effects[index];
    // A workspace may leave between the two: its event is delivered again, to the worker of its database.
    if (!(effect instanceof Error) || isServedElsewhere(effect)) continue;
    if (isTransientFailure(effect)) failure ??= effect;
    else {
      failed.push(event);
      onError(effect, { workspaceId: event.workspaceId, kind: PAYOUT, subjectId: event.transactionId });
    }
  }
  if (failed.length > 0) {
    try {
      await makeDue(books, failed);
    } catch (error) {
      failure ??= error as Error;
    }
  }
  return { recorded, failure };
}

async function makeDue({ database }: Books, events: readonly OwnEvent[]): Promise<void> {
  await database.pipeline({}, [bind(MAKE_DUE, ...outgoingColumns(events))]);
}
