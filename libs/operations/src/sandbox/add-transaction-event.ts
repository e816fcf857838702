import { randomUUID } from 'node:crypto';
import {
  Refusal,
  type Created,
  type RequestOptions,
  type Transaction,
  type AddTransactionEventInput,
} from '@banking/domain';
import type { Books } from '@banking/ledger';
import { decideRailEvents, prepareRailEvents, sandboxMessage } from '@banking/payouts';
import { bind, sqlStatement } from '@banking/postgres';
import type { AuditedCall } from '../audit/audited-call.js';
import type { Reading } from '../resources/reading.js';
import { createOnce } from '../idempotency/create-once.js';
import { transactionQuery } from '../transactions/get-transaction.js';

/** Needs no lock: a payout is never deleted. */
const FIND_PAYOUT = sqlStatement<{ transaction_id: bigint }>(
  'find_payout',
  'select transaction_id from payout where workspace_id = $1 and transaction_id = $2',
);

/**
 * Records a simulated event of the network, as a worker records a received one. Each call makes a provider event id of its own, so two
 * equal calls are two events. Returns the transaction after the event.
 *
 * @throws Refusal `transaction_not_found`, `balance_limit_exceeded`, and those of `createOnce`
 */
export async function addTransactionEvent(
  books: Books,
  reading: Reading,
  caller: AuditedCall,
  { transactionId, status, reasonCode }: AddTransactionEventInput,
  options: RequestOptions,
): Promise<Created<Transaction>> {
  const { workspaceId } = caller;
  const { database } = books;
  const payout = await database.read({ workspaces: [workspaceId] }, bind(FIND_PAYOUT, workspaceId, transactionId));
  if (!payout) throw new Refusal('transaction_not_found');

  const content = { status, ...(reasonCode !== undefined && { reasonCode }) };
  const event = { ...content, message: sandboxMessage(status, reasonCode), providerEvent: `asked-${randomUUID()}` };
  const prepared = await prepareRailEvents(books, [{ workspaceId, transactionId, event }]);
  const request = { workspaceId, operation: `addTransactionEvent/${transactionId}`, content };
  return createOnce(reading, request, options, caller, async (tx) => {
    const { effects, posted, statements } = await decideRailEvents(tx, prepared);
    if (effects[0] instanceof Error) throw effects[0];
    const resource = transactionQuery(workspaceId, transactionId);
    return { posted, writes: statements, audited: { type: 'transaction', id: transactionId }, resource };
  });
}
