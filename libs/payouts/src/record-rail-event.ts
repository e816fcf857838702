import {
  decide,
  lockAndRead,
  preparePosting,
  requirePosted,
  returnEntry,
  write,
  type Books,
  type PostedTransaction,
  type PreparedPosting,
} from '@banking/ledger';
import { bind, sqlStatement, type BoundStatement, type DbTransaction } from '@banking/postgres';
import type { DiscrepancyKind } from './discrepancies.js';
import { findPosition, lockTransaction } from './money-position.js';
import { PAYOUT } from './open-payouts.js';

/** An event of a payout that a network reported. */
export interface RailEvent {
  /** The provider's own id of the event. With the same status it is recorded once; with another it is an event of its own. */
  readonly providerEvent: string;
  /** ISO 20022 payment status, such as `ACSP`, `ACCC`, `RJCT`. */
  readonly status: string;
  /** The network's reason code, unchanged, such as `G000` or `AC04`. */
  readonly reasonCode?: string | undefined;
  readonly message?: string | undefined;
}

/** Opens the discrepancies together with the event. One that is open already stays the only one of its kind. */
const RECORD_EVENT = sqlStatement(
  'record_remittance_event',
  `with recorded as (
     insert into remittance_event (workspace_id, remittance_id, provider_event, status, reason_code, message)
     select m.workspace_id, m.id, $3, $4, $5, $6 from remittance m where m.workspace_id = $1 and m.transaction_id = $2
     on conflict (workspace_id, remittance_id, provider_event, status) do nothing
     returning id, remittance_id
   ), opened as (
     insert into discrepancy (workspace_id, transaction_id, kind, event_id)
     select $1, $2, kind, recorded.id from recorded cross join unnest($7::text[]) kind
     on conflict (workspace_id, transaction_id, kind) where resolved_at is null do nothing
   )
   update remittance set updated_at = statement_timestamp() from recorded where workspace_id = $1 and remittance.id = recorded.remittance_id`,
);
/** A separate SQL statement under the lock, so that it reads what the earlier holder wrote. */
const FIND_NAMESAKES = sqlStatement(
  'find_events_of_this_id',
  `select from remittance m join remittance_event e on (e.workspace_id, e.remittance_id) = (m.workspace_id, m.id)
   where m.workspace_id = $1 and m.transaction_id = $2 and e.provider_event = $3`,
);
const STEP_TRANSACTION = sqlStatement(
  'step_transaction',
  `update transaction set status = $3, updated_at = statement_timestamp() where workspace_id = $1 and id = $2`,
);
const STEP_PAYOUT = sqlStatement(
  'close_payout',
  `update payout set status = $3, parked_at = null, reason = null, updated_at = statement_timestamp()
   where workspace_id = $1 and transaction_id = $2`,
);
/** Before the transaction, as a worker does who holds the work: the two never wait for each other. */
const LOCK_WORK = sqlStatement(
  'lock_payout_work',
  `select from work where workspace_id = $1 and kind = '${PAYOUT}' and subject_id = $2 and $3::boolean for update`,
);
const END_WORK = sqlStatement(
  'end_payout_work',
  `delete from work where workspace_id = $1 and kind = '${PAYOUT}' and subject_id = $2`,
);

/** The effect of an event: it brought the money back, or it was recorded, repeated or too late, and moved no money. */
export type RailEventEffect = 'recorded' | 'returned' | 'repeated' | 'late';

/** An event of a network with all that is needed to decide it in a database transaction. */
export interface PreparedRailEvent {
  readonly workspaceId: number;
  readonly transactionId: number;
  readonly event: RailEvent;
  /** The return of the transaction, for a rejection only. */
  readonly posting?: PreparedPosting | undefined;
}

/** The decision on an event, still to be written with `write`. */
export interface DecidedRailEvent {
  readonly effect: RailEventEffect;
  /** The return, if there is one. */
  readonly posted: readonly PostedTransaction[];
  readonly statements: readonly BoundStatement<unknown>[];
}

/**
 * Prepares an event for `decideRailEvent`. Call it before the database transaction begins.
 *
 * @throws Error for `RJCT` of a transaction that does not exist
 */
export async function prepareRailEvent(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<PreparedRailEvent> {
  if (event.status !== 'RJCT') return { workspaceId, transactionId, event };
  const entry = await returnEntry(books.database, workspaceId, transactionId);
  return { workspaceId, transactionId, event, posting: await preparePosting(books, [{ entries: [entry] }]) };
}

/**
 * Locks the transaction of an event and decides the event. Nothing is written yet.
 *
 * `ACCC` completes a pending transaction. `RJCT` fails it and returns its money to the account. A repeated or late event moves no
 * money. An event that contradicts an earlier one opens a discrepancy.
 *
 * @throws Refusal `balance_limit_exceeded` if the account cannot hold the returned money
 * @throws Error for a transaction without a remittance
 */
export async function decideRailEvent(tx: DbTransaction, prepared: PreparedRailEvent): Promise<DecidedRailEvent> {
  const { workspaceId, transactionId, event, posting } = prepared;
  const { status, isReturned, record } = await lockRemittance(tx, workspaceId, transactionId, event);
  const finish = (to: 'completed' | 'failed') => finishPayout(workspaceId, transactionId, to);

  if (!posting) {
    const isFinal = event.status === 'ACCC';
    const steps = isFinal && status === 'pending' ? finish('completed') : [];
    return { effect: isFinal && status === 'failed' ? 'late' : 'recorded', posted: [], statements: [record, ...steps] };
  }
  if (status === 'failed' && !isReturned) throw new Error(`transaction ${transactionId} failed without its return`);
  if (status !== 'pending') {
    return { effect: status === 'failed' ? 'repeated' : 'late', posted: [], statements: [record] };
  }
  const { context } = await lockAndRead(tx, posting);
  const posted = posting.proposals.flatMap((proposal) => requirePosted(decide(context, proposal)));
  return { effect: 'returned', posted, statements: [record, ...finish('failed')] };
}

/** Records an event of any status in a database transaction of its own. @throws as `prepareRailEvent` and `decideRailEvent` */
export async function recordEvent(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<RailEventEffect> {
  const prepared = await prepareRailEvent(books, workspaceId, transactionId, event);
  return books.database.transaction({ workspaces: [workspaceId] }, async (tx) => {
    const { effect, posted, statements } = await decideRailEvent(tx, prepared);
    await write(tx, posted, statements);
    return effect;
  });
}

/** Records an event that is no rejection. @throws Error for `RJCT`, which returns money */
export async function recordRailEvent(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<RailEventEffect> {
  if (event.status === 'RJCT') throw new Error('record a rejection with recordRejection');
  return recordEvent(books, workspaceId, transactionId, event);
}

/** Records that a network rejected a payout. The status of the event is `RJCT`. */
export function recordRejection(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<RailEventEffect> {
  return recordEvent(books, workspaceId, transactionId, { ...event, status: 'RJCT' });
}

/** Locks a transaction with its remittance and returns its state. For a final status it locks the payout's work too. */
async function lockRemittance(tx: DbTransaction, workspaceId: number, transactionId: number, event: RailEvent) {
  const [, [held], [position], before] = await tx.pipeline([
    bind(LOCK_WORK, workspaceId, transactionId, isFinal(event)),
    lockTransaction(workspaceId, transactionId),
    findPosition(workspaceId, transactionId),
    bind(FIND_NAMESAKES, workspaceId, transactionId, event.providerEvent),
  ] as const);
  if (!held || !position) throw new Error(`transaction ${transactionId} has no remittance`);
  const { status } = held;
  const kinds = status === 'pending' ? [] : contradictions(event, position.isBack);
  if (before.length > 0) kinds.push('event_reused');
  return {
    status,
    isReturned: position.latestId !== BigInt(transactionId),
    // An exact repeat records nothing, so it opens nothing either.
    record: recordStatement(workspaceId, transactionId, event, kinds),
  };
}

const isFinal = ({ status }: RailEvent): boolean => status === 'ACCC' || status === 'RJCT';

/** The discrepancies between a final status and where the money is. */
function contradictions({ status }: RailEvent, isBack: boolean): DiscrepancyKind[] {
  if (status === 'RJCT' && !isBack) return ['credited_then_rejected'];
  return status === 'ACCC' && isBack ? ['rejected_then_credited'] : [];
}

/** The steps of a final status. The payout has a status of its own; customers see that of the transaction. */
function finishPayout(
  workspaceId: number,
  transactionId: number,
  status: 'completed' | 'failed',
): BoundStatement<unknown>[] {
  const payout = status === 'completed' ? 'settled' : 'failed';
  return [
    bind(STEP_TRANSACTION, workspaceId, transactionId, status),
    bind(STEP_PAYOUT, workspaceId, transactionId, payout),
    bind(END_WORK, workspaceId, transactionId),
  ];
}

function recordStatement(
  workspaceId: number,
  transactionId: number,
  { providerEvent, status, reasonCode, message }: RailEvent,
  discrepancies: readonly DiscrepancyKind[],
): BoundStatement<unknown> {
  return bind(
    RECORD_EVENT,
    workspaceId,
    transactionId,
    providerEvent,
    status,
    reasonCode ?? null,
    message ?? null,
    discrepancies,
  );
}
