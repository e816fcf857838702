import { orderWorld, recipientAbroad, type OrderWorld } from '../testing/order-world.js';
import { placeOrder } from '../orders/place-order.js';
import { OrderService } from '../orders/order-service.js';
import { NO_RATES } from '@banking/rates';

describe('the runs of transactions that get a final status in one statement', () => {
  let orders: OrderWorld;

  beforeAll(async () => {
    orders = await orderWorld();
  });
  afterAll(() => orders.world.close());

  it('have the status of their own transaction each, and a pending one stays pending', async () => {
    const { world, service, ada } = orders;
    const euros = (await service.listProducts()).find(({ edges }) => edges.currency?.code === 'EUR')!;
    const accountId = await orders.account(euros.id, '10000000');
    const recipientID = await recipientAbroad(service, ada, 'DE89370400440532013000');
    const order = orders.order(accountId, recipientID, { amount: '5000' as never, purposeCode: 'IR001' as never });
    const placing = new OrderService(world.books, NO_RATES, { hasPayoutNetwork: true });
    for (let count = 0; count < 3; count += 1) await placeOrder(placing, ada, order, orders.key());
    const runs = async () => {
      const { rows } = await world.owner.query<{ id: string; status: string; failure_code: string | null }>(
        `select e.transaction_id::text as id, e.status, e.failure_code
         from execution e join customer_order o on (o.workspace_id, o.id) = (e.workspace_id, e.order_id)
         where o.account_id = $1 order by e.transaction_id`,
        [accountId],
      );
      return rows;
    };
    const [paid, rejected, open] = (await runs()).map(({ id }) => id);

    await world.owner.query(
      `update transaction set updated_at = now(),
         status = case id when $1::bigint then 'completed' when $2::bigint then 'failed' else status end
       where id in ($1, $2, $3)`,
      [paid, rejected, open],
    );

    expect(await runs()).toEqual([
      { id: paid, status: 'completed', failure_code: null },
      { id: rejected, status: 'failed', failure_code: 'payout_rejected' },
      { id: open, status: 'pending', failure_code: null },
    ]);
  });
});
