import type {
  AccountId,
  Movement,
  Order,
  PlaceOrderInput,
  RecipientId,
  Transaction,
  TransactionId,
  TransferAmount,
} from '@banking/domain';
import { transactionHash } from '@banking/domain/proof';
import { bookedTransactions } from '@banking/ledger';
import { listDiscrepancies, resolveDiscrepancy, SANDBOX_ROUTING } from '@banking/payouts';
import { type Claim } from '@banking/work-queue';
import { OrderService } from '../orders/order-service.js';
import { runOrder } from '../orders/run-order.js';
import { DEMO_RATES } from '@banking/reference';
import { expectWellFormed, orderWorld, type OrderWorld } from '../testing/order-world.js';
import { EVER } from '../testing/statements.js';

let given: OrderWorld;
let ravi: RecipientId;

beforeAll(async () => {
  given = await orderWorld();
  ravi = given.world.demo.recipients['international'] as RecipientId;
});
afterAll(() => given.expectInOrder().finally(() => given.world.close()));

const place = async (input: PlaceOrderInput): Promise<Order> =>
  (await given.service.placeOrder(given.ada, input)).resource;
/** 100.00 USD to India, with a fee. */
const payAbroad = (accountId: AccountId) =>
  place(given.order(accountId, ravi, { amount: '10000' as TransferAmount, purposeCode: 'IR002' }));
const transactionOf = ({ edges }: Order): Transaction => edges.executions![0]!.edges.transaction!;
const say = async (transactionId: TransactionId, status: 'ACCC' | 'RJCT') =>
  (await given.service.addTransactionEvent(given.ada, { transactionId, status })).resource;

/** The links of each transfer of an account, oldest first, as a transfer, a list and both statements show them. */
async function linksOf(accountId: AccountId, scope = given.ada) {
  const { service } = given;
  const links = ({ orderID, returnOf, returnedBy }: Pick<Movement, 'orderID' | 'returnOf' | 'returnedBy'>) =>
    Object.fromEntries(Object.entries({ orderID, returnOf, returnedBy }).filter(([, id]) => id !== undefined));
  const { items } = await service.listTransfers(scope, { accountId });
  items.forEach((item) => expectWellFormed(item));
  const listed = [...items].reverse().map(({ id, type, edges }) => ({ id, type, ...links(edges.transaction!) }));
  for (const item of items) {
    expect((await service.getTransfer(scope, { transferId: item.id })).edges.transaction).toEqual(
      item.edges.transaction,
    );
  }
  for (const period of Object.values(EVER)) {
    const { movements } = await service.getStatement(scope, { accountId, ...period });
    expect(movements.map((movement) => ({ id: movement.id, type: movement.type, ...links(movement) }))).toEqual(listed);
  }
  return listed.map(({ id: _, ...rest }) => rest);
}

describe('the links of transactions', () => {
  it('lead from a payment and its fee to the order', async () => {
    const account = await given.account(1, '100000');
    const order = await payAbroad(account);

    expect(transactionOf(order)).toMatchObject({ orderID: order.id });
    expect(await linksOf(account)).toEqual([
      { type: 'funding' },
      { type: 'spot', orderID: order.id },
      { type: 'fee', orderID: order.id },
    ]);
    const stored = await given.service.getOrder(given.ada, { accountId: account, orderId: order.id });
    expect(transactionOf(stored)).toEqual(transactionOf(order));
    const [listed] = (await given.service.listOrders(given.ada, { accountId: account })).items;
    expect(transactionOf(listed!)).toEqual(transactionOf(order));
  });

  it('join a rejected payment and its return', async () => {
    const account = await given.account(1, '100000');
    const order = await payAbroad(account);
    const { id } = transactionOf(order);
    const rejected = await say(id, 'RJCT');
    const returnedBy = rejected.returnedBy!;
    expect(rejected).toMatchObject({ id, status: 'failed', orderID: order.id });
    expect(rejected).not.toHaveProperty('returnOf');
    expect(await linksOf(account)).toEqual([
      { type: 'funding' },
      { type: 'spot', orderID: order.id, returnedBy },
      { type: 'fee', orderID: order.id, returnedBy },
      { type: 'return', returnOf: id },
    ]);
    const stored = await given.service.getOrder(given.ada, { accountId: account, orderId: order.id });
    expect(transactionOf(stored)).toEqual(rejected);
  });

  it('lead from transaction to transaction for a returned return', async () => {
    const account = await given.account(1, '100000');
    const order = await payAbroad(account);
    const { id } = transactionOf(order);
    const { returnedBy: first } = await say(id, 'RJCT');
    await say(id, 'ACCC');
    const { workspaceId } = given.ada;
    const [open] = await listDiscrepancies(given.world.database, [workspaceId]);
    await resolveDiscrepancy(given.world.books, {
      workspaceId,
      discrepancyId: open!.id,
      resolution: 'reclaimed',
      note: 'checked',
    });

    const links = await linksOf(account);
    const [second] = links.flatMap((link) => ('returnedBy' in link && 'returnOf' in link ? [link['returnedBy']] : []));
    expect(second).toBeGreaterThan(first!);
    expect(links).toEqual([
      { type: 'funding' },
      { type: 'spot', orderID: order.id, returnedBy: first },
      { type: 'fee', orderID: order.id, returnedBy: first },
      { type: 'return', returnOf: id, returnedBy: second },
      { type: 'return', returnOf: first },
    ]);
  });

  it('show the order in its workspace only', async () => {
    const [from, to] = [await given.account(1, '1000'), await given.account(1, '0', given.eve)];
    const order = await place(given.order(from, await given.near(to, given.ada, given.eve)));

    expect(await linksOf(from)).toEqual([{ type: 'funding' }, { type: 'internal', orderID: order.id }]);
    expect(await linksOf(to, given.eve)).toEqual([{ type: 'internal' }]);
  });

  it('remain after the order is cancelled', async () => {
    const [from, to] = [await given.account(1, '1000'), await given.account(1, '0')];
    const startAt = '2099-01-31T09:00:00+01:00';
    const input = given.order(from, await given.near(to), {
      type: 'recurring',
      repeatUnit: 'monthly',
      repeatValue: 1,
      startAt,
    });
    const order = await place(input);
    const [{ id: subjectId } = { id: 0 }] = order.edges.executions!;
    const { rows } = await given.world.owner.query<{ fence: bigint }>(
      `update work set leased_until = clock_timestamp() + interval '30 s', fence = fence + 1
       where kind = 'execution' and subject_id = $1 returning fence`,
      [subjectId],
    );
    const { workspaceId } = given.ada;
    const claim: Claim = {
      workspaceId,
      kind: 'execution',
      subjectId,
      rail: '',
      fence: rows[0]!.fence,
      tries: 1,
      delays: 0,
    };
    await runOrder(new OrderService(given.world.books, DEMO_RATES, { rails: SANDBOX_ROUTING }), claim);

    const cancelled = await given.service.cancelOrder(given.ada, { accountId: from, orderId: order.id });

    expect(transactionOf(cancelled)).toMatchObject({ orderID: order.id });
    expect(await linksOf(from)).toEqual([{ type: 'funding' }, { type: 'internal', orderID: order.id }]);
  });

  it('are in the hash for the reversed transaction only', async () => {
    const { workspaceId } = given.ada;
    const booked = [];
    for await (const range of bookedTransactions(given.world.database, workspaceId)) booked.push(...range);

    expect(booked.filter(({ content }) => content.returnOf !== undefined)).not.toEqual([]);
    for (const { content, hash } of booked) {
      expect(await transactionHash(content)).toBe(hash);
      expect(await transactionHash({ ...content, orderID: 1, returnedBy: 2 } as never)).toBe(hash);
    }
  });
});
