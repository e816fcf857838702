import { post, type Books, type Entry, type PostedTransaction } from '@banking/ledger';
import { bind, statement, type Bound } from '@banking/postgres';

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

const OPEN_REMITTANCE = statement(
  'open_remittance',
  'insert into remittance (workspace_id, transaction_id) values ($1, $2)',
);
const RECORD_EVENT = statement(
  'record_remittance_event',
  `with heard as (
     insert into remittance_event (workspace_id, remittance_id, provider_event, status, reason_code, message)
     select m.workspace_id, m.id, $3, $4, $5, $6 from remittance m where m.workspace_id = $1 and m.transaction_id = $2
     on conflict (workspace_id, remittance_id, provider_event) do nothing
     returning remittance_id
   )
   update remittance set updated_at = now() from heard where workspace_id = $1 and id = heard.remittance_id`,
);
/** A transaction already at its last word stays there. */
const STEP_TRANSACTION = statement(
  'step_transaction',
  `update transaction set status = $3, updated_at = now() where workspace_id = $1 and id = $2 and status = 'pending'`,
);

/** The write that gives a transaction its tracking, to travel with the posting. */
export function openRemittance({ workspaceId, id }: PostedTransaction): Bound<unknown> {
  return bind(OPEN_REMITTANCE, workspaceId, id);
}

/** Records what the network said. `ACCC` is its last good word: the transaction is completed. */
export async function recordRailEvent(
  books: Books,
  workspaceId: number,
  transactionId: number,
  event: RailEvent,
): Promise<void> {
  await books.database.flight({ workspaces: [workspaceId] }, [
    recorded(workspaceId, transactionId, event),
    ...(event.status === 'ACCC' ? [bind(STEP_TRANSACTION, workspaceId, transactionId, 'completed')] : []),
  ]);
}

/**
 * Records that the network refused a payout: the transaction has failed, and `back`, a return of its money, is posted
 * in the same database transaction. The database takes one return for a transaction, so a repeated refusal pays nothing twice.
 */
export async function recordRejection(
  books: Books,
  transactionId: number,
  event: RailEvent,
  back: Entry,
  alongside: () => readonly Bound<unknown>[] = () => [],
): Promise<void> {
  const [outcome] = await post(books, [{ entries: [{ ...back, returnOf: transactionId }] }], () => [
    recorded(back.workspaceId, transactionId, event),
    bind(STEP_TRANSACTION, back.workspaceId, transactionId, 'failed'),
    ...alongside(),
  ]);
  if (outcome?.refused) throw outcome.refused;
}

function recorded(workspaceId: number, transactionId: number, event: RailEvent): Bound<unknown> {
  const { providerEvent, status, reasonCode, message } = event;
  return bind(RECORD_EVENT, workspaceId, transactionId, providerEvent, status, reasonCode ?? null, message ?? null);
}
