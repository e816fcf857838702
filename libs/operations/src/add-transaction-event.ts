import { randomUUID } from 'node:crypto';
import {
  Refusal,
  type Created,
  type Intent,
  type Transaction,
  type TransactionEventWish,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import type { Books } from '@banking/ledger';
import { readyWord, sandboxMessage } from '@banking/payouts';
import { bind, statement } from '@banking/postgres';
import { WHOLE_TRANSACTION } from './edges.js';
import { commitOnce } from './idempotency.js';

/** Nothing takes one away again, so no lock is needed to know that it is there. */
const FIND_PAYOUT = statement<{ transaction_id: bigint }>(
  'find_payout',
  'select transaction_id from payout where workspace_id = $1 and transaction_id = $2',
);
const GET_TRANSACTION = statement<{ resource: Transaction }>(
  'get_transaction',
  `select ${WHOLE_TRANSACTION.item} as resource
   from transaction t ${WHOLE_TRANSACTION.joins}
   where t.workspace_id = $1 and t.id = $2`,
);

/**
 * Records what a network is made to say, as a worker records what it hears: under a name of its own, so that the same words said
 * twice are two events. The answer is the transaction as it then stands.
 *
 * @throws Refusal `transaction_not_found`, `balance_limit_exceeded`, and those of `commitOnce`
 */
export async function addTransactionEvent(
  books: Books,
  { workspaceId, actor }: { readonly workspaceId: WorkspaceId; readonly actor: UserId | undefined },
  { transactionId, status, reasonCode }: TransactionEventWish,
  intent: Intent,
): Promise<Created<Transaction>> {
  const { database } = books;
  const payout = await database.read({ workspaces: [workspaceId] }, bind(FIND_PAYOUT, workspaceId, transactionId));
  if (!payout) throw new Refusal('transaction_not_found');

  const content = { status, ...(reasonCode !== undefined && { reasonCode }) };
  const event = { ...content, message: sandboxMessage(status, reasonCode), providerEvent: `asked-${randomUUID()}` };
  const { workspaces, record } = await readyWord(books, workspaceId, transactionId, event);
  const request = { workspaceId, operation: `addTransactionEvent/${transactionId}`, content };
  return commitOnce(database, workspaces, request, intent, actor, async (tx, keeping) => {
    const { rows } = await record(tx, () => keeping(bind(GET_TRANSACTION, workspaceId, transactionId)));
    return rows;
  });
}
