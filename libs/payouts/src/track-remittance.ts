import { preparePosting, returnEntry, type Books } from '@banking/ledger';
import { bind, statement, type Bound, type Tx } from '@banking/postgres';
import { PAYOUT } from './open-payouts.js';

/** What the outside network said of a payout. */
export interface RailEvent {
  /** The provider's own name of the event; said twice, it is recorded once. */
  readonly providerEvent: string;
  /** ISO 20022 payment status, such as `ACSP`, `ACCC`, `RJCT`. */
  readonly status: string;
  /** The network's reason as it came, such as `G000` or `AC04`. */
  readonly reasonCode?: string | undefined;
  readonly message?: string | undefined;
}

const RECORD_EVENT = statement(
  'record_remittance_event',
  `with heard as (
     insert into remittance_event (workspace_id, remittance_id, provider_event, status, reason_code, message)
     select m.workspace_id, m.id, $3, $4, $5, $6 from remittance m where m.workspace_id = $1 and m.transaction_id = $2
     on conflict (workspace_id, remittance_id, provider_event) do nothing
     returning remittance_id
   )
   update remittance set updated_at = statement_timestamp() from heard where workspace_id = $1 and id = heard.remittance_id`,
);
/** Locked before any account is, by all who do: the words of one transaction are heard one after the other. */
const LOCK_TRANSACTION = statement<{ status: string }>(
  'lock_remitted_transaction',
  `select x.status from transaction x
   join remittance m on (m.workspace_id, m.transaction_id) = (x.workspace_id, x.id)
   where x.workspace_id = $1 and x.id = $2
   for no key update of x`,
);
/** A statement of its own behind the lock, so that it sees what the holder before wrote. */
const FIND_RETURN = statement<{ id: bigint }>(
  'find_return',
  'select id from transaction where workspace_id = $1 and return_of = $2',
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
 * Makes what the network said ready to be recorded, whatever it is: nothing is locked yet. Said again or too late, it changes nothing
 * but the list of what was said.
 *
 * @throws Error for `RJCT` of a transaction that is not there. Of one without a remittance, `record` throws.
 */
export async function readyWord(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<ReadyWord> {
  const word = recorded(workspaceId, transactionId, event);
  if (event.status !== 'RJCT') return readyEvent(workspaceId, transactionId, event.status === 'ACCC', word);
  return readyRejection(books, workspaceId, transactionId, word);
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

function readyEvent(workspaceId: number, transactionId: number, isLast: boolean, word: Bound<unknown>): ReadyWord {
  return {
    workspaces: [workspaceId],
    async record(tx, alongside = NOTHING) {
      const { status } = await hold(tx, workspaceId, transactionId, isLast);
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
  word: Bound<unknown>,
): Promise<ReadyWord> {
  const today = new Date().toISOString().slice(0, 10);
  const entry = await returnEntry(books.database, workspaceId, transactionId, today);
  const { workspaces, finish } = await preparePosting(books, [{ entries: [entry] }]);
  return {
    workspaces,
    async record(tx, alongside = NOTHING) {
      const { status, isReturned } = await hold(tx, workspaceId, transactionId, true);
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
async function hold(tx: Tx, workspaceId: number, transactionId: number, isLastWord: boolean) {
  const [, [held], returns] = await tx.flight([
    bind(LOCK_WORK, workspaceId, transactionId, isLastWord),
    bind(LOCK_TRANSACTION, workspaceId, transactionId),
    bind(FIND_RETURN, workspaceId, transactionId),
  ] as const);
  if (!held) throw new Error(`transaction ${transactionId} has no remittance`);
  return { status: held.status, isReturned: returns.length > 0 };
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

function recorded(workspaceId: number, transactionId: number, event: RailEvent): Bound<unknown> {
  const { providerEvent, status, reasonCode, message } = event;
  return bind(RECORD_EVENT, workspaceId, transactionId, providerEvent, status, reasonCode ?? null, message ?? null);
}
