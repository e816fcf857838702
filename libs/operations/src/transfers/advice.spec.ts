import * as fc from 'fast-check';
import type { RecipientId, TransferAmount, TransferId } from '@banking/domain';
import { payoutKey, uetrOf } from '@banking/payouts';
import { reasonOf } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';

let given: OrderWorld;

beforeAll(async () => {
  given = await orderWorld();
});
afterAll(() => given.world.close());

const adviceOf = (transferId: TransferId, scope = given.ada) => given.service.getPaymentAdvice(scope, { transferId });
const demo = (name: string) => given.world.demo.transfers[name] as TransferId;

describe('the advice of a payment', () => {
  it('has the rate, the fee and the amounts of a payment abroad, which add up with its transaction', async () => {
    const id = demo('spot');
    const advice = await adviceOf(id);
    const { rows } = await given.world.owner.query(
      'select source_amount, target_amount, rate, status from transaction where workspace_id = $1 and id = $2',
      [given.ada.workspaceId, advice.transactionID],
    );

    expect(rows).toEqual([
      {
        source_amount: BigInt(advice.amount),
        target_amount: BigInt(advice.targetAmount),
        rate: advice.rate,
        status: advice.status,
      },
    ]);
    const { feeAmount, edges } = await given.service.getTransfer(given.ada, { transferId: id });
    expect(advice).toMatchObject({ id, feeAmount, status: 'completed', endedAt: expect.any(String) as string });
    expect(advice.edges.recipient).toEqual(edges.recipient);
    expect([advice.edges.account.edges.currency.code, advice.edges.targetCurrency.code]).toEqual(['USD', 'INR']);
  });

  it('has no end while the payment is pending, and one after it has failed', async () => {
    const [pending, failed] = [await adviceOf(demo('pending')), await adviceOf(demo('returned'))];

    expect(pending).toMatchObject({ status: 'pending', uetr: expect.any(String) as string });
    expect(pending).not.toHaveProperty('endedAt');
    expect(failed).toMatchObject({ status: 'failed', endedAt: expect.any(String) as string });
    expect(failed.uetr).not.toBe(pending.uetr);
  });

  it('of a payment within the service has no reference at the banks, and no rate', async () => {
    const [from, to] = [await given.account(1, '1000'), await given.account(1, '0')];
    const recipientID: RecipientId = await given.near(to);
    const { resource } = await given.service.placeOrder(given.ada, given.order(from, recipientID));
    const [transfer] = resource.edges.executions![0]!.edges.transaction!.edges.transfers!;

    const advice = await adviceOf(transfer!.id);

    const amount = '100' as TransferAmount;
    expect(advice).toMatchObject({
      orderID: resource.id,
      status: 'completed',
      amount,
      targetAmount: amount,
      feeAmount: '0',
    });
    for (const field of ['uetr', 'rate', 'rateSource', 'rateAsOf']) expect(advice).not.toHaveProperty(field);
  });

  it('does not exist for a fee, a credit, and a transfer of another workspace', async () => {
    const { edges } = await given.service.getTransfer(given.ada, { transferId: demo('spot') });
    const fee = edges.transaction!.edges.transfers!.find(({ type }) => type === 'fee')!;

    expect(await reasonOf(adviceOf(fee.id))).toBe('advice_not_found');
    for (const type of ['return', 'funding']) {
      const { items } = await given.service.listTransfers(given.ada, { type, limit: 1 });
      expect([type, await reasonOf(adviceOf(items[0]!.id))]).toEqual([type, 'advice_not_found']);
    }
    expect(await reasonOf(adviceOf(demo('spot'), given.eve))).toBe('transfer_not_found');
  });
});

describe('the reference of a payout at the banks', () => {
  const keys = fc
    .record({
      workspaceId: fc.integer({ min: 1 }),
      transactionId: fc.integer({ min: 1 }),
      nonce: fc.stringMatching(/^[0-9a-f]{12}$/),
    })
    .map(payoutKey);

  it('is a UUID of version 4, and another one for another key', () => {
    fc.assert(
      fc.property(keys, keys, (one, other) => {
        expect(uetrOf(one)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
        expect(uetrOf(one) === uetrOf(other)).toBe(one === other);
      }),
    );
  });
});
