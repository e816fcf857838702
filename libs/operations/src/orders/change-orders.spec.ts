import type { AccountId, Order, PlaceOrderInput, RecipientId, TransactionId, TransferAmount } from '@banking/domain';
import { recordEvent, releaseParkedWork, SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { reasonOf, testOrProve, until } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { listWork, Worker } from '@banking/work-queue';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { resumePausedOrder } from '../provisioning/index.js';
import { onceReadRun, orderWorld, type OrderWorld, recipientAbroad } from '../testing/order-world.js';
import { startBankingWorker, workOf } from '../worker/start-banking-worker.js';

let worker: Worker;
const errors: unknown[] = [];
let given: OrderWorld;
let { world, ada, service } = {} as OrderWorld;

beforeAll(async () => {
  given = await orderWorld();
  ({ world, ada, service } = given);
});

afterAll(() => given.world.close());

describe('paused orders', () => {
  let accountId: AccountId;
  let year = 2040;

  beforeAll(async () => {
    service = new LedgerBankingService(
      world.database,
      world.books,
      { rates: DEMO_RATES, rails: SANDBOX_ROUTING },
      true,
    );
    worker = new Worker(
      workOf(world, { orders: service.orders, rails: sandboxRails, onError: (error) => errors.push(error) }),
    );
    accountId = world.demo.accounts['Northwind Trading EUR'] as AccountId;
  });

  afterEach(() => expect(errors).toEqual([]));
  afterAll(() => given.expectInOrder());

  /** IBANs with valid check digits. The last four characters select the behaviour of the sandbox network. */
  const REJECTED = 'DE52370400440532019001';
  const UNDECIDED = 'DE73370400440532019011';

  /** Does due work. The network reports all its events at once. */
  async function work() {
    do
      await world.owner.query(
        'update sandbox_rail_event set due_at = now(), handed_until = null where not acknowledged',
      );
    while ((await worker.step()) > 0);
  }

  /** Places a daily order to an account abroad, in a year of its own. */
  async function daily(account = REJECTED) {
    year += 1;
    const recipientID = await recipientAbroad(service, ada, account);
    const { resource } = await service.placeOrder(ada, {
      accountId,
      recipientID,
      amount: '10000' as TransferAmount,
      type: 'recurring',
      repeatUnit: 'daily',
      repeatValue: 1,
      startAt: `${year}-03-01T09:00:00Z`,
      purposeCode: 'IR001',
    });
    const orderId = resource.id;
    const read = () => service.getOrder(ada, { accountId, orderId });
    return {
      orderId,
      read,
      cancel: () => service.cancelOrder(ada, { accountId, orderId }),
      resume: () => reasonOf(resumePausedOrder(world.database, { workspaceId: ada.workspaceId, orderId })),
      /** Moves the clock to a day of March and does due work. */
      day: async (day: number) => {
        await service.moveClock(ada, { now: `${year}-03-${String(day).padStart(2, '0')}T09:00:00Z` });
        await work();
        return read();
      },
    };
  }

  const statesOf = ({ edges }: Order) => edges.executions?.map(({ status }) => status);
  const lastOf = ({ edges }: Order) => edges.executions?.at(-1)?.id ?? 0;

  const parked = async (order: Order) => {
    const work = await listWork(world.database, { isParked: true, limit: 1_000 });
    return work.filter(({ subjectId }) => subjectId === lastOf(order));
  };

  async function report(order: Order, run: number, status: string) {
    const id = order.edges.executions?.[run - 1]?.edges.transaction?.id ?? 0;
    await recordEvent(world.books, ada.workspaceId, id, { providerEvent: `event-${status}`, status });
  }

  async function paused() {
    const order = await daily();
    for (const day of [1, 2, 3, 4]) await order.day(day);
    return order;
  }

  const PAUSED = { status: 'active', pausedAt: expect.any(String), pauseReason: 'payouts_rejected' };
  const THREE = ['failed', 'failed', 'failed'];

  describe('a recurring order whose payouts are rejected', () => {
    it('is paused after three in a row, without a further fee, and its run is parked', async () => {
      const order = await daily();
      const fees = async () => {
        const { rows } = await world.owner.query(`select from transfer where account_id = $1 and type = 'fee'`, [
          accountId,
        ]);
        return rows.length;
      };
      const before = await fees();

      for (const day of [1, 2, 3]) expect((await order.day(day)).pausedAt).toBeUndefined();
      for (const day of [4, 5, 6]) expect(await order.day(day)).toMatchObject(PAUSED);

      const read = await order.read();
      expect(statesOf(read)).toEqual([...THREE, 'scheduled']);
      expect(read.edges.executions?.[0]?.failureCode).toBe('payout_rejected');
      expect((await fees()) - before).toBe(3);
      const reason = `order ${order.orderId} is paused after three rejected payouts; see banking order resume`;
      expect(await parked(read)).toMatchObject([{ kind: 'execution', state: 'parked', reason }]);
    });

    it('is counted anew after a credited payout', async () => {
      const order = await daily(UNDECIDED);
      for (const [index, status] of ['RJCT', 'RJCT', 'ACCC', 'RJCT', 'RJCT'].entries()) {
        await report(await order.day(index + 1), index + 1, status);
      }

      expect((await order.day(6)).pausedAt).toBeUndefined();
      await report(await order.read(), 6, 'RJCT');
      expect(await order.day(7)).toMatchObject(PAUSED);
    });

    it('is counted without pending payouts', async () => {
      const order = await daily(UNDECIDED);
      for (const day of [1, 2, 3, 4, 5]) await order.day(day);
      for (const run of [1, 3]) await report(await order.read(), run, 'RJCT');
      expect((await order.day(6)).pausedAt).toBeUndefined();
      await report(await order.read(), 5, 'RJCT');

      expect(await order.day(7)).toMatchObject({ ...PAUSED, edges: { executions: { length: 7 } } });
    });

    it('does not fail of a refused run after two rejected payouts', async () => {
      const order = await daily();
      for (const day of [1, 2]) await order.day(day);
      await service.changeAccount(ada, { accountId, status: 'disabled' });
      const refused = await order.day(3);
      await service.changeAccount(ada, { accountId, status: 'enabled' });

      expect([refused.status, statesOf(refused)]).toEqual(['active', [...THREE, 'scheduled']]);
      expect((await order.day(4)).pausedAt).toBeUndefined();
      expect(await order.day(5)).toMatchObject(PAUSED);
    });

    it('is paused by the database if the third rejection arrives while the fourth run is decided', async () => {
      const order = await daily(UNDECIDED);
      for (const day of [1, 2, 3]) await order.day(day);
      for (const run of [1, 2]) await report(await order.read(), run, 'RJCT');
      onceReadRun(world.database, async () => report(await order.read(), 3, 'RJCT'));

      const after = await order.day(4);

      expect(after).toMatchObject(PAUSED);
      expect(statesOf(after)).toEqual([...THREE, 'scheduled']);
    });
  });

  describe('a paused order', () => {
    it('makes up one missed run when it is resumed, and is paused again by later rejections only', async () => {
      const order = await paused();
      await order.day(9);

      expect(await order.resume()).toBeUndefined();
      await work();

      const resumed = await order.read();
      expect([resumed.pausedAt, resumed.pauseReason]).toEqual([undefined, undefined]);
      expect(statesOf(resumed)).toEqual([...THREE, 'failed', 'scheduled']);
      for (const day of [10, 11]) expect((await order.day(day)).pausedAt).toBeUndefined();
      expect(await order.day(12)).toMatchObject(PAUSED);
      expect(await order.resume()).toBeUndefined();
      expect(await order.resume()).toMatch(/ is not paused\.$/);
      await order.cancel();
    });

    it('is parked again if its work is retried without a resumption', async () => {
      const order = await paused();
      const before = await order.read();
      const released = { workspaceId: ada.workspaceId, kind: 'execution', subjectId: lastOf(before) };
      expect(await releaseParkedWork(world.database, released)).toBe(true);
      await work();

      expect(await order.read()).toEqual({ ...before, updatedAt: expect.any(String) });
      expect(await parked(before)).toHaveLength(1);
    });

    it('runs if it is resumed while its retried work is decided', async () => {
      const order = await paused();
      await releaseParkedWork(world.database, {
        workspaceId: ada.workspaceId,
        kind: 'execution',
        subjectId: lastOf(await order.read()),
      });
      onceReadRun(world.database, order.resume);

      await work();

      const after = await order.read();
      expect([after.pausedAt, statesOf(after)]).toEqual([undefined, [...THREE, 'failed', 'scheduled']]);
    });

    it('has no parked work and no pause once it is cancelled', async () => {
      const order = await paused();
      const before = await order.read();
      const cancelled = await order.cancel();

      expect([cancelled.status, cancelled.pausedAt]).toEqual(['cancelled', undefined]);
      expect(statesOf(cancelled)).toEqual([...THREE, 'cancelled']);
      expect(await parked(before)).toEqual([]);
      expect(await order.resume()).toMatch(/ is not paused\.$/);
    });

    it('ends cancelled or runs once if it is cancelled, resumed and retried at once', async () => {
      for (let round = 0; round < testOrProve(2, 5); round += 1) {
        const order = await paused();
        const before = await order.read();
        const retried = { workspaceId: ada.workspaceId, kind: 'execution', subjectId: lastOf(before) };

        await Promise.all([order.resume(), order.cancel(), releaseParkedWork(world.database, retried)]);
        await work();

        const after = await order.read();
        expect(after.status).toBe('cancelled');
        expect(statesOf(after)?.filter((status) => status === 'scheduled')).toEqual([]);
        expect(await parked(before)).toEqual([]);
      }
    });

    it('is not found by another workspace', async () => {
      const order = { orderId: (await daily()).orderId, workspaceId: world.demo.workspaces['Southwind Imports']! };
      expect(await reasonOf(resumePausedOrder(world.database, order))).toMatch(
        /^There is no order \d+ of workspace \d+\.$/,
      );
    });

    it('has a reason, is active and does not run under any SQL', async () => {
      const { orderId, read } = await paused();
      const run = lastOf(await read());
      const rejected = (text: string, id: number) => expect(world.owner.query(text, [id])).rejects;
      const constraint = 'customer_order_pause';

      await rejected('update customer_order set pause_reason = null where id = $1', orderId).toMatchObject({
        constraint,
      });
      await rejected(`update customer_order set status = 'completed' where id = $1`, orderId).toMatchObject({
        constraint,
      });
      const fail = `update execution set status = 'failed', failure_code = 'x' where id = $1`;
      await rejected(fail, run).toMatchObject({ code: RULE_VIOLATION.orderPaused });
    });
  });
});

describe('cancelled orders', () => {
  let from: AccountId;

  beforeAll(async () => {
    const onError = (error: unknown) => errors.push(error);
    worker = new Worker(workOf(world, { orders: service.orders, rails: sandboxRails, onError }));
  });

  beforeEach(async () => {
    from = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
    await service.fundAccount(ada, { accountId: from, amount: '1000000' as TransferAmount });
  });

  afterEach(() => expect(errors).toEqual([]));
  afterAll(() => given.expectInOrder());

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
      await world.owner.query(`revoke ${grant} from banking_worker`);
      const running = startBankingWorker(world, {
        orders: service.orders,
        rails: sandboxRails,
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
        await world.owner.query(`grant ${grant} to banking_worker`);
      }

      expect((await read()).edges.executions?.[0]).toMatchObject({ status: 'pending' });
      expect(told[0]).toEqual([SQLSTATE.insufficientPrivilege, 'rail-events-sandbox']);
      await work();
    });
  });
});
