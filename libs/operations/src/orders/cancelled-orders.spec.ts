import type { AccountId, PlaceOrderInput, RecipientId, TransactionId, TransferAmount } from '@banking/domain';
import { SQLSTATE } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { verifyBooks } from '@banking/ledger';
import { Worker } from '@banking/work-queue';
import { startBankingWorker, workOf } from '../worker/start-banking-worker.js';
import { verifyPayments } from '../testing/order-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, service, ada } = {} as OrderWorld;
let worker: Worker;
let from: AccountId;
const errors: unknown[] = [];

beforeAll(async () => {
  ({ world, service, ada } = await orderWorld());
  const onError = (error: unknown) => errors.push(error);
  worker = new Worker(workOf(world, { orders: service.orders, sandbox: true, onError }));
});
afterAll(() => world.close());
beforeEach(async () => {
  from = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  await service.fundAccount(ada, { accountId: from, amount: '1000000' as TransferAmount });
});
afterEach(async () => {
  const all = Object.values(world.demo.workspaces);
  expect((await verifyBooks(world.database, all)).findings).toEqual([]);
  expect(await verifyPayments(world.database, all)).toEqual([]);
  expect(errors).toEqual([]);
});

const place = async (more: Partial<PlaceOrderInput> = {}) => {
  const recipientID = world.demo.recipients['international'] as RecipientId;
  const input = {
    accountId: from,
    recipientID,
    amount: '100000' as TransferAmount,
    type: 'instant',
    purposeCode: 'IR001',
    ...more,
  } as const;
  const { resource } = await service.placeOrder(ada, input);
  return {
    resource,
    transactionId: resource.edges.executions?.[0]?.edges.transaction?.id ?? (0 as TransactionId),
    read: () => service.getOrder(ada, { accountId: from, orderId: resource.id }),
  };
};
const balance = async () =>
  (await service.getAccount(ada, { accountId: from })).edges.balances[0]?.amount as unknown as number;
/** Does work until none is due. */
const work = async () => {
  while ((await worker.step()) > 0);
};

describe('a payment abroad', () => {
  it('is completed with its run and its events if the network credits it', async () => {
    const { transactionId, read } = await place();
    await work();
    await service.addTransactionEvent(ada, { transactionId, status: 'ACCC' });

    await work();

    const [execution] = (await read()).edges.executions ?? [];
    expect(execution).toMatchObject({ status: 'completed', edges: { transaction: { status: 'completed' } } });
    const events = execution?.edges.transaction?.edges.internationalRemittance?.edges.events ?? [];
    expect(events.map(({ status }) => status)).toContain('ACCC');
  });

  it('fails with its run, and returns the money without the fee, if the network rejects it', async () => {
    const { resource, transactionId, read } = await place();
    const fee = BigInt(resource.edges.executions?.[0]?.edges.transaction?.edges.transfers?.[0]?.feeAmount ?? '');
    await work();
    await service.addTransactionEvent(ada, { transactionId, status: 'RJCT', reasonCode: 'AC04' });

    await work();

    expect(await read()).toMatchObject({
      status: 'completed',
      edges: {
        executions: [
          { status: 'failed', failureCode: 'payout_rejected', edges: { transaction: { status: 'failed' } } },
        ],
      },
    });
    expect(BigInt(await balance())).toBe(1_000_000n - fee);
    expect(fee).toBeGreaterThan(0n);
  });

  it('gives the network the beneficiary, and the amount in the target currency', async () => {
    const { transactionId } = await place();
    await work();

    const { rows } = await world.owner.query(
      `select p.amount, p.currency from sandbox_rail_payment p where p.key like $1`,
      [`payout-${ada.workspaceId}-${transactionId}-%`],
    );
    expect(rows).toEqual([{ amount: 8_300_000n, currency: 'INR' }]);
  });
});

describe('a scheduled order', () => {
  it('is run by the worker when it is due', async () => {
    const { resource, read } = await place({ type: 'scheduled', startAt: '2099-01-01T00:00:00Z' });
    await work();
    expect(await balance()).toBe(1_000_000);
    await world.owner.query(`update work set due_at = now() where kind = 'execution' and subject_id = $1`, [
      resource.edges.executions?.[0]?.id,
    ]);

    await work();

    expect((await read()).edges.executions?.[0]).toMatchObject({ status: 'pending' });
    expect(await balance()).toBeLessThan(900_001);
  });
});

describe('a network whose events cannot be received', () => {
  it('does not stop due runs, and its failure is reported', async () => {
    const told: unknown[] = [];
    const { resource, read } = await place({ type: 'scheduled', startAt: '2099-01-01T00:00:00Z' });
    const grant = 'update (handed_until, acknowledged) on sandbox_rail_event';
    await world.owner.query(`revoke ${grant} from banking_app`);
    const running = startBankingWorker(world, {
      orders: service.orders,
      sandbox: true,
      onError: (error, failed) => told.push([(error as { code?: string }).code, failed?.chore]),
    });
    try {
      await until(() => told.length > 0);
      await world.owner.query(`update work set due_at = now() where kind = 'execution' and subject_id = $1`, [
        resource.edges.executions?.[0]?.id,
      ]);
      running.nudge();
      await until(read, ({ edges }) => edges.executions?.[0]?.status !== 'scheduled');
    } finally {
      await running.stop();
      await world.owner.query(`grant ${grant} to banking_app`);
    }

    expect((await read()).edges.executions?.[0]).toMatchObject({ status: 'pending' });
    expect(told[0]).toEqual([SQLSTATE.insufficientPrivilege, 'rail-events']);
    await work();
  });
});
