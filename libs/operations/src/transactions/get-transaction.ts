import { Refusal, type Transaction, type TransactionId, type WorkspaceId } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { TRANSACTION, type TransactionFacts } from '../resources/compose-transaction.js';
import { type Reading, readResource, type ResourceQuery } from '../resources/reading.js';

const GET_TRANSACTION = sqlStatement<TransactionFacts>(
  'get_transaction',
  `select ${TRANSACTION.columns} from transaction t ${TRANSACTION.joins}
   where t.workspace_id = $1 and t.id = $2`,
);

export const transactionQuery = (
  workspaceId: number,
  transactionId: number,
): ResourceQuery<TransactionFacts, Transaction> => ({
  bound: bind(GET_TRANSACTION, workspaceId, transactionId),
  compose: TRANSACTION.compose,
});

/** @throws Refusal `transaction_not_found` also for a transaction of another workspace */
export async function getTransaction(
  reading: Reading,
  workspaceId: WorkspaceId,
  transactionId: TransactionId,
): Promise<Transaction> {
  const transaction = await readResource(reading, workspaceId, transactionQuery(workspaceId, transactionId));
  if (!transaction) throw new Refusal('transaction_not_found');
  return transaction;
}
