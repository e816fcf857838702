import { parseAmount, type AccountId, type RecipientId, type TransferAmount, type WorkspaceId } from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { until } from '@banking/postgres/testing';
import { claimWork, ResultRecorder, runClaimedWork } from '@banking/work-queue';
import { cancelOrder } from '../orders/change-orders.js';
import { OrderService } from '../orders/order-service.js';
import { placeOrder } from '../orders/place-order.js';
import { DEMO_RATES } from '@banking/rates';
import { NO_RATES } from '@banking/rates';
import { paymentReader, startBankingWorker, workOf } from './start-banking-worker.js';
import { demoDatabase } from '../testing/test-databases.js';
import { verifyPayments } from '../testing/order-world.js';
import { openReading } from '../resources/reading.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let northwind: number;

beforeAll(async () => {
  world = await demoDatabase();
  northwind = world.demo.workspaces['Northwind Trading']!;
});
afterAll(() => world.close());

const orderService = () => new OrderService(world.books, NO_RATES, { hasPayoutNetwork: true });

/** The transaction of the demo data whose first transfer has this description. */
async function transactionOf(description: string): Promise<number> {
  const { rows } = await world.owner.query<{ id: bigint }>(
    'select transaction_id as id from transfer where description = $1 limit 1',
    [description],
  );
  return Number(rows[0]!.id);
}

describe('the payment of a payout', () => {
  it('has its amount, currency and beneficiary', async () => {
    expect(await paymentReader(world.database)(northwind, await transactionOf('Float for Berlin'))).toEqual({
      amount: parseAmount('18750.00', 'EUR'),
      currency: 'EUR',
      creditor: {
        name: 'Northwind Trading Berlin',
        account: 'DE89370400440532013000',
        routing: { type: 'SWIFT', code: 'DEUTDEFF' },
      },
      description: 'Float for Berlin',
      purpose: 'IR001',
    });
  });

  it('has the arriving amount of a conversion', async () => {
    expect(await paymentReader(world.database)(northwind, await transactionOf('Family support'))).toMatchObject({
      amount: parseAmount('207500.00', 'INR'),
      currency: 'INR',
      creditor: { account: '50100123456789', routing: { type: 'IFSC', code: 'HDFC0000001' } },
    });
  });

  it.each(['Payroll for the month', 'Opening funds'])('is not read for %j', async (words) => {
    const id = await transactionOf(words);
    await expect(paymentReader(world.database)(northwind, id)).rejects.toThrow('is no payout');
  });

  it('is not read for another workspace', async () => {
    const southwind = world.demo.workspaces['Southwind Imports']!;
    const id = await transactionOf('Float for Berlin');
    await expect(paymentReader(world.database)(southwind, id)).rejects.toThrow('is no payout');
  });
});

describe('a deployment with a worker', () => {
  const statusOf = async (id: number) => {
    const { rows } = await world.owner.query<{ status: string }>(
      'select status from payout where transaction_id = $1',
      [id],
    );
    return rows[0]!.status;
  };

  const untilStatus = (id: number, status: string) =>
    until(
      () => statusOf(id),
      (found) => found === status,
    );

  /** A payout to Berlin that is due. */
  async function due(): Promise<number> {
    const { rows } = await world.owner.query<{ recipient_id: bigint }>(
      `select recipient_id from transfer where description = 'Float for Berlin' and recipient_id is not null`,
    );
    const { resource } = await placeOrder(
      orderService(),
      { workspaceId: northwind as WorkspaceId, actor: undefined },
      {
        accountId: world.demo.accounts['Northwind Trading EUR'] as AccountId,
        recipientID: Number(rows[0]!.recipient_id) as RecipientId,
        amount: '1000' as TransferAmount,
        type: 'instant',
        purposeCode: 'IR001',
      },
      {},
    );
    return resource.edges.executions![0]!.edges.transaction!.id;
  }

  it('hands a due payout over in a sandbox and has it credited', async () => {
    const id = await due();
    const errors: unknown[] = [];
    const worker = startBankingWorker(world, {
      orders: orderService(),
      sandbox: true,
      onError: (error) => errors.push(error),
    });
    try {
      await untilStatus(id, 'submitted');
      await world.owner.query(`update sandbox_rail_event set due_at = now()`);
      worker.nudge();
      await untilStatus(id, 'settled');
    } finally {
      await worker.stop();
    }

    expect(errors).toEqual([]);
    const all = Object.values(world.demo.workspaces);
    expect((await verifyBooks(world.database, all)).findings).toEqual([]);
    expect(await verifyPayments(world.database, all)).toEqual([]);
  });

  it('leaves a payout waiting without a network', async () => {
    const id = await due();
    const worker = startBankingWorker(world, { orders: orderService(), sandbox: false });
    worker.nudge();
    await worker.stop();

    expect(await statusOf(id)).toBe('due');
  });
});

describe('a run that fails for the last time while its order is cancelled', () => {
  it('leaves no work in the queue when it is parked', async () => {
    const scope = { workspaceId: northwind as WorkspaceId, actor: undefined };
    const accountId = world.demo.accounts['Northwind Trading USD'] as AccountId;
    const recipientID = world.demo.recipients['international'] as RecipientId;
    const later = {
      accountId,
      recipientID,
      amount: '250000' as TransferAmount,
      type: 'scheduled',
      purposeCode: 'IR002',
      startAt: '2099-01-01T00:00:00Z',
    } as const;
    const { resource } = await placeOrder(
      new OrderService(world.books, DEMO_RATES, { hasPayoutNetwork: true }),
      scope,
      later,
      {},
    );
    await world.owner.query(`update work set due_at = now(), tries = 9 where kind = 'execution' and subject_id = $1`, [
      resource.edges.executions![0]!.id,
    ]);
    const handler = workOf(world, { orders: orderService(), sandbox: true }).handlers['execution']!;
    const [claim] = await claimWork(world.database, ['execution'], 1);

    await cancelOrder(openReading(world.database), scope, { accountId, orderId: resource.id });
    const failing = { ...handler, run: () => Promise.reject(new Error('out of order')) };
    const recorder = new ResultRecorder(world.database);
    await runClaimedWork({}, recorder, failing, claim!, new AbortController().signal);

    const { rows } = await world.owner.query(`select from work where kind = 'execution' and subject_id = $1`, [
      claim!.subjectId,
    ]);
    expect(rows).toEqual([]);
  });
});
