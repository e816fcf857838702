import { preparePosting, returnEntry, type Books } from '@banking/ledger';
import { bind, statement, type Bound, type Tx } from '@banking/postgres';
import type { DiscrepancyKind } from './discrepancies.js';
import { findPosition, lockTransaction } from './money-position.js';
import { PAYOUT } from './open-payouts.js';

/** What the outside network said of a payout. */
export interface RailEvent {
  /** The provider's own id of the event. With the same status it is recorded once; with another it is an event of its own. */
  readonly providerEvent: string;
  /** ISO 20022 payment status, such as `ACSP`, `ACCC`, `RJCT`. */
  readonly status: string;
  /** The network's reason as it came, such as `G000` or `AC04`. */
  readonly reasonCode?: string | undefined;
  readonly message?: string | undefined;
}

/** Opens the discrepancies together with the event. One that is open already stays the only one of its kind. */
const RECORD_EVENT = statement(
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
/** A statement of its own behind the lock, so that it sees what the holder before wrote. */
const FIND_NAMESAKES = statement(
  'find_events_of_this_id',
  `select from remittance m join remittance_event e on (e.workspace_id, e.remittance_id) = (m.workspace_id, m.id)
   where m.workspace_id = $1 and m.transaction_id = $2 and e.provider_event = $3`,
);
const STEP_TRANSACTION = statement(
  'step_transaction',
  `update transaction set status = $3, updated_at = statement_timestamp() where workspace_id = $1 and id = $2`,
);
const STEP_PAYOUT = statement(
  'close_payout',
  `update payout set status = $3, parked_at = null, reason = null, updated_at = statement_timestamp()
   where workspace_id = $1 and transaction_id = $2`,
);
/** Before the transaction, as a worker does who holds the work: the two never wait for each other. */
const LOCK_WORK = statement(
  'lock_payout_work',
  `select from work where workspace_id = $1 and kind = '${PAYOUT}' and subject_id = $2 and $3::boolean for update`,
);
const END_WORK = statement(
  'end_payout_work',
  `delete from work where workspace_id = $1 and kind = '${PAYOUT}' and subject_id = $2`,
);

/** What became of a word: it brought the money back, was recorded, or came again or too late, which moves nothing. */
type Heard = 'recorded' | 'returned' | 'repeated' | 'late';

/** What the network said, ready to be recorded in a database transaction of the caller's. */
export interface ReadyWord {
  /** Whose rows it touches. */
  readonly workspaces: readonly number[];
  /** Records it and commits, with what `alongside` makes as the last of the writes. Answers with the rows of what was sent. */
  record(tx: Tx, alongside?: Alongside): Promise<{ heard: Heard; rows: readonly (readonly unknown[])[] }>;
}

type Alongside = (heard: Heard) => readonly Bound<unknown>[];
const NOTHING: Alongside = () => [];

/**
 * Makes what the network said ready to be recorded, whatever it is: nothing is locked yet. Said again or too late, it moves no money.
 * What contradicts an earlier event opens a discrepancy.
 *
 * @throws Error for `RJCT` of a transaction that is not there. Of one without a remittance, `record` throws.
 */
export async function readyWord(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<ReadyWord> {
  if (event.status !== 'RJCT') return readyEvent(workspaceId, transactionId, event);
  return readyRejection(books, workspaceId, transactionId, event);
}

/** Records what the network said, whatever it is, as `readyWord` says. */
export async function recordEvent(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
  alongside: Alongside = NOTHING,
): Promise<Heard> {
  const { workspaces, record } = await readyWord(books, workspaceId, transactionId, event);
  const { heard } = await books.database.transaction({ workspaces }, (tx) => record(tx, alongside));
  return heard;
}

/**
 * Records what the network said. `ACCC` is its last good word: a pending transaction is completed, and one that has failed stays
 * so, which is answered with `late`.
 *
 * @throws Error for a transaction without a remittance, and for `RJCT`, which brings money back.
 */
export async function recordRailEvent(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<Heard> {
  if (event.status === 'RJCT') throw new Error('a rejection brings money back: record it as one');
  return recordEvent(books, workspaceId, transactionId, event);
}

function readyEvent(workspaceId: number, transactionId: number, event: RailEvent): ReadyWord {
  const isLast = event.status === 'ACCC';
  return {
    workspaces: [workspaceId],
    async record(tx, alongside = NOTHING) {
      const { status, word } = await hold(tx, workspaceId, transactionId, event);
      const heard = isLast && status === 'failed' ? 'late' : 'recorded';
      const steps = isLast && status === 'pending' ? closed(workspaceId, transactionId, 'completed') : [];
      return { heard, rows: await tx.commit([word, ...steps, ...alongside(heard)]) };
    },
  };
}

/**
 * Records that the network refused a payout. A pending transaction has failed, and its money comes back to the account in the same
 * database transaction, together with `alongside`: `returned`. Said again, it is `repeated`; said of a transaction that was
 * completed, it is `late`: both are recorded as events and move nothing.
 *
 * @throws Refusal `balance_limit_exceeded` when the account cannot hold the money. Nothing was written.
 * @throws Error for a transaction without a remittance.
 */
export function recordRejection(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
  alongside: () => readonly Bound<unknown>[] = () => [],
): Promise<Heard> {
  const ifReturned: Alongside = (heard) => (heard === 'returned' ? alongside() : []);
  return recordEvent(books, workspaceId, transactionId, { ...event, status: 'RJCT' }, ifReturned);
}

async function readyRejection(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<ReadyWord> {
  const entry = await returnEntry(books.database, workspaceId, transactionId);
  const { workspaces, finish } = await preparePosting(books, [{ entries: [entry] }]);
  return {
    workspaces,
    async record(tx, alongside = NOTHING) {
      const { status, isReturned, word } = await hold(tx, workspaceId, transactionId, event);
      if (status !== 'pending') {
        if (status === 'failed' && !isReturned)
          throw new Error(`transaction ${transactionId} failed without its return`);
        const heard = status === 'failed' ? 'repeated' : 'late';
        return { heard, rows: await tx.commit([word, ...alongside(heard)]) };
      }
      const failed = closed(workspaceId, transactionId, 'failed');
      const { outcomes, rows } = await finish(tx, {
        alongside: ([decided]) => (decided?.posted ? [word, ...failed, ...alongside('returned')] : []),
      });
      const [outcome] = outcomes;
      if (outcome?.refused) throw outcome.refused;
      return { heard: 'returned', rows };
    },
  };
}

/** Locks a transaction on its way, and says where it stands. A last word will end its work too. */
async function hold(tx: Tx, workspaceId: number, transactionId: number, event: RailEvent) {
  const [, [held], [position], before] = await tx.flight([
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
    word: recorded(workspaceId, transactionId, event, kinds),
  };
}

const isFinal = ({ status }: RailEvent): boolean => status === 'ACCC' || status === 'RJCT';

/** What the final status says of the money, against where it is. */
function contradictions({ status }: RailEvent, isBack: boolean): DiscrepancyKind[] {
  if (status === 'RJCT' && !isBack) return ['credited_then_rejected'];
  return status === 'ACCC' && isBack ? ['rejected_then_credited'] : [];
}

/** The steps that a last word makes: the payout's word for it is its own, the transaction's what customers see. */
function closed(workspaceId: number, transactionId: number, status: 'completed' | 'failed'): Bound<unknown>[] {
  const payout = status === 'completed' ? 'settled' : 'failed';
  return [
    bind(STEP_TRANSACTION, workspaceId, transactionId, status),
    bind(STEP_PAYOUT, workspaceId, transactionId, payout),
    bind(END_WORK, workspaceId, transactionId),
  ];
}

function recorded(
  workspaceId: number,
  transactionId: number,
  { providerEvent, status, reasonCode, message }: RailEvent,
  discrepancies: readonly DiscrepancyKind[],
): Bound<unknown> {
  return bind(RECORD_EVENT, workspaceId, transactionId, providerEvent, status, reasonCode ?? null, message ?? null, discrepancies); // prettier-ignore
}
