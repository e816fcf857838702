import {
  Refusal,
  type Order,
  type OrderId,
  type PlaceOrderInput,
  type RecipientId,
  type TransactionId,
  type TransferAmount,
  type UserId,
} from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import type { DemoAccount, DemoBank } from './demo-bank.js';
import { findStep, keyOf, once, recordStep } from './demo-steps.js';

/** Written directly: a worker pauses an order when its run is due, and this run is due in 2099. */
const PAUSE = sqlStatement(
  'pause_demo_order',
  `update customer_order set paused_at = statement_timestamp(), pause_reason = 'placer_without_role'
   where workspace_id = $1 and id = $2 and status = 'active'`,
);

type OrderInput = Omit<PlaceOrderInput, 'accountId'>;

/** The status and the reason code, if the network gives one. */
export type NetworkEvent = readonly [status: 'ACSP' | 'ACCC' | 'RJCT', reasonCode?: string];

/** An instant order at a quote, and the events of the network about its payment. */
export async function payAtQuote(
  bank: DemoBank,
  step: string,
  from: DemoAccount,
  input: OrderInput,
  events: readonly NetworkEvent[],
): Promise<void> {
  await bank.transfer(step, async () => {
    const { workspaceId, id: accountID } = from;
    const { recipientID, amount } = input;
    const quote = await bank.service.createQuote({ workspaceId }, { accountID, recipientID, amount }, keyOf(step));
    const order = await place(bank, step, from, { ...input, quoteID: quote.resource.id }).catch((refusal: unknown) => {
      // An earlier start was interrupted between the two, and the quote has expired since.
      if (!(refusal instanceof Refusal && refusal.reason === 'quote_expired')) throw refusal;
      return place(bank, step, from, input);
    });
    const transaction = order.edges.executions?.[0]?.edges.transaction;
    const transfer = transaction?.edges?.transfers?.[0];
    if (!transaction || !transfer) throw new Error('the instant order has no transfer');
    for (const [index, [status, reasonCode]] of events.entries()) {
      const event = { transactionId: transaction.id as TransactionId, status, reasonCode };
      await bank.service.addTransactionEvent({ workspaceId }, event, keyOf(`${step} ${index + 1}`));
    }
    return { transactionId: transaction.id, transferId: transfer.id };
  });
}

/** Orders that are due in 2099, so that none of them runs in a demo. */
export async function makeLaterOrders(
  bank: DemoBank,
  from: DemoAccount,
  recipientID: RecipientId,
  withoutRole: UserId,
): Promise<void> {
  const { database } = bank.books;
  const rent = { recipientID, amount: '150000' as TransferAmount, purposeCode: 'IR001' };
  const placeOnce = (step: string, input: OrderInput) =>
    once(database, step, async () => (await place(bank, step, from, input)).id);

  await placeOnce('more orders:monthly', {
    ...rent,
    type: 'recurring',
    description: 'Float for the rent',
    repeatUnit: 'monthly',
    repeatValue: 1,
    startAt: '2099-01-31T09:00:00+01:00',
  });
  const single: OrderInput = {
    ...rent,
    type: 'scheduled',
    description: 'Float for the new year',
    startAt: '2099-12-31T12:00:00Z',
  };
  await placeOnce('more orders:scheduled', single);
  const mistake = await placeOnce('more orders:cancelled', { ...single, description: 'Placed by mistake' });
  await once(database, 'more cancellations:cancelled', () => cancel(bank, from, mistake as OrderId));
  await pauseOnce(bank, from, { ...single, description: 'Float that Cy placed' }, withoutRole);
}

async function place(
  bank: DemoBank,
  step: string,
  from: DemoAccount,
  input: OrderInput,
  actor?: UserId,
): Promise<Order> {
  const { workspaceId, id: accountId } = from;
  const { resource } = await bank.service.placeOrder({ workspaceId, actor }, { ...input, accountId }, keyOf(step));
  return resource;
}

async function cancel(bank: DemoBank, { workspaceId, id: accountId }: DemoAccount, orderId: OrderId): Promise<OrderId> {
  await bank.service.cancelOrder({ workspaceId }, { accountId, orderId }).catch((refusal: unknown) => {
    // An earlier start cancelled it and was interrupted before it recorded the step.
    if (!(refusal instanceof Refusal && refusal.reason === 'order_not_cancellable')) throw refusal;
  });
  return orderId;
}

/** An order of a user without a role, already paused. */
async function pauseOnce(bank: DemoBank, from: DemoAccount, input: OrderInput, placer: UserId): Promise<void> {
  const step = 'more orders:paused';
  const { database } = bank.books;
  if ((await findStep(database, step)) !== undefined) return;
  const { id } = await place(bank, step, from, input, placer);
  const { workspaceId } = from;
  await database.pipeline({ workspaces: [workspaceId] }, [bind(PAUSE, workspaceId, id), recordStep(step, id)]);
}
