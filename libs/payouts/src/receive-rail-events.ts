import type { Books } from '@banking/ledger';
import { bind, sqlStatement } from '@banking/postgres';
import { PAYOUT } from './open-payouts.js';
import { parsePayoutKey, payoutKey, type PayoutName } from './payout-key.js';
import type { DeliveredRailEvent, Rail } from './rail.js';
import { recordEvent } from './record-rail-event.js';
import { isTransientFailure, WorkError } from '@banking/work-queue';

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

const FIND_NONCES = sqlStatement<{ workspace_id: bigint; transaction_id: bigint; key_nonce: string | null }>(
  'find_payout_nonces',
  `select p.workspace_id, p.transaction_id, p.key_nonce
   from unnest($1::bigint[], $2::bigint[]) u(workspace_id, transaction_id)
   join payout p on (p.workspace_id, p.transaction_id) = (u.workspace_id, u.transaction_id)`,
);

/**
 * Receives and records the events of the network: a chore of the worker. Each event is acknowledged after it is recorded, so none is
 * lost; received twice, it is recorded once. An event that cannot be recorded delays no other: its payout becomes due, and the worker
 * that claims it finds the event by key, tries again, and at last parks the payout with the reason. A payout with a final status has no
 * work: its event is not acknowledged, so that the network delivers it again.
 *
 * An event of a payment that the books do not have, as after a restore, is reported and acknowledged. `reconcilePayouts` lists the payment.
 *
 * @returns the number of events received
 * @throws Refusal for a transient failure, such as `unavailable` and `outcome_unknown`; the network delivers the rest again
 */
export async function receiveRailEvents({ books, rail, onError = () => undefined }: ReceivingOptions): Promise<number> {
  const delivered = await rail.receive(EVENTS_MAX);
  if (delivered.length === 0) return 0;
  const names = new Map(delivered.map(({ key }) => [key, parsePayoutKey(key)]));
  const booked = await findBookedKeys(
    books,
    [...names.values()].flatMap((name) => name ?? []),
  );
  const recorded: DeliveredRailEvent[] = [];
  try {
    for (const event of delivered) {
      const name = names.get(event.key);
      if (name === undefined) onError(new WorkError('the network reports a payment of another service'));
      else if (!booked.has(event.key)) onError(new WorkError(NOT_BOOKED));
      else if (!(await recordDelivered(books, name, event, onError))) continue;
      recorded.push(event);
    }
  } finally {
    if (recorded.length > 0) await rail.acknowledge(recorded);
  }
  return delivered.length;
}

const NOT_BOOKED = 'the network reports a payment that the books do not have: run banking work reconcile';

/** The keys of those payouts that are in the books. A payout of the same ids and another key is not the payment of the event. */
async function findBookedKeys({ database }: Books, names: readonly PayoutName[]): Promise<ReadonlySet<string>> {
  const workspaces = names.map(({ workspaceId }) => workspaceId);
  const transactions = names.map(({ transactionId }) => transactionId);
  const [rows] = await database.pipeline({ workspaces: [...new Set(workspaces)] }, [
    bind(FIND_NONCES, workspaces, transactions),
  ] as const);
  return new Set(
    rows.map(({ workspace_id, transaction_id, key_nonce }) =>
      payoutKey({
        workspaceId: Number(workspace_id),
        transactionId: Number(transaction_id),
        nonce: key_nonce ?? undefined,
      }),
    ),
  );
}

/** Returns whether to acknowledge the event: it is recorded, or a worker will find it by key. */
async function recordDelivered(
  books: Books,
  { workspaceId, transactionId }: PayoutName,
  { event }: DeliveredRailEvent,
  onError: (error: unknown) => void,
): Promise<boolean> {
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
