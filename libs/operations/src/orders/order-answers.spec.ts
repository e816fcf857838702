import { orderWorld, type OrderWorld, recipientAbroad } from '../testing/order-world.js';
import { answerOf } from './order-answers.js';

let given: OrderWorld;

beforeAll(async () => {
  given = await orderWorld();
});
afterAll(() => given.world.close());

describe('the record of an answer', () => {
  const answer = (record: string) => answerOf(given.service.orders.reading, given.ada.workspaceId, record);

  it('is short, and holds no name and no account number', async () => {
    const recipientId = await recipientAbroad(given.service, given.ada, 'DE89370400440532013000');
    const accountId = await given.account(1, '1000000');
    const input = given.order(accountId, recipientId, { amount: '20000' as never, purposeCode: 'IR001' });
    const { resource } = await given.service.placeOrder(given.ada, input, { idempotencyKey: 'recorded' });

    const { rows } = await given.world.owner.query<{ answer: string }>(
      `select answer from idempotency where key = 'recorded'`,
    );
    const record = rows[0]!.answer;
    expect(record.length).toBeLessThan(300);
    expect(record).not.toMatch(/Asha|DE89/);
    expect(await answer(record)).toEqual(resource);
  });

  it('of a version to come is not read', async () => {
    await expect(answer('[2,7,1]')).rejects.toThrow('a record of an answer has the unknown version 2');
  });

  it('of an order that is not there is an error', async () => {
    const [{ version }] = (await given.world.owner.query<{ version: string }>('select version from reference_version'))
      .rows as [{ version: string }];
    await expect(answer(`[1,${version},999999999]`)).rejects.toThrow('the order of an answer is not there');
  });
});
