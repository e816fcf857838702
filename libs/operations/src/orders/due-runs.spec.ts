import type { AccountId, RecipientId, TransferAmount } from '@banking/domain';
import { SANDBOX_ROUTING } from '@banking/payouts';
import { until } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { Worker } from '@banking/work-queue';
import { ReferenceData } from '../reference/reference.js';
import { placerWorld, turn } from '../testing/order-world.js';
import { workOf } from '../worker/start-banking-worker.js';
import { DueRuns } from './due-runs.js';
import { OrderBatcher, OrderService } from './order-service.js';
import { postOrders } from './post-orders.js';
import type { DueRun } from './prepared-order.js';
import { RememberedAccounts } from './remembered-accounts.js';

let given: Awaited<ReturnType<typeof placerWorld>>;

beforeAll(async () => {
  given = await placerWorld();
});

afterAll(() => given.expectInOrder().finally(() => given.close()));

/** An account of Ada's workspace with so much money. */
async function account(amount: string): Promise<{ readonly id: AccountId; readonly code: string }> {
  const { service, ada } = given;
  const { resource } = await service.openAccount(ada, { productID: 1 as never });
  if (amount !== '0') {
    await service.fundAccount(ada, { accountId: resource.id, amount: amount as TransferAmount });
  }
  return { id: resource.id, code: resource.code! };
}

async function recipient(code?: string): Promise<RecipientId> {
  const accountCode = code ?? (await account('0')).code;
  return (await given.service.addInternalRecipient(given.ada, { accountCode })).resource.id;
}

/** Places an order of 1.00 that runs once. */
async function once(accountId: AccountId, recipientID: RecipientId, startAt: string) {
  const { service, ada } = given;
  const amount = '100' as TransferAmount;
  const { resource } = await service.placeOrder(ada, { accountId, recipientID, amount, type: 'scheduled', startAt });
  /** Reads the status of its run. */
  return async (): Promise<string> => {
    const { edges } = await service.getOrder(ada, { accountId, orderId: resource.id });
    return edges.executions![0]!.status;
  };
}

/** Does work until none is due, with an order service that calls `before` in front of its first batch. */
async function workAfter(before: () => Promise<unknown>, concurrency = 64): Promise<void> {
  const { db: database, books } = given;
  let isFirst = true;
  const posting = { books, reference: new ReferenceData(database), remembered: new RememberedAccounts() };
  const batcher = new OrderBatcher(async (batch, waitsForLocks) => {
    if (isFirst) await before();
    isFirst = false;
    return postOrders(posting, batch, waitsForLocks);
  });
  const orders = new OrderService(books, DEMO_RATES, { batcher, rails: SANDBOX_ROUTING, isSandbox: true });
  const worker = new Worker({ ...workOf(given, { orders }), chores: [], concurrency });
  while ((await worker.step()) > 0);
}

/** Resolves when a session waits for a lock. */
const untilWaiting = () =>
  until(async () => {
    // A database transaction sees the sessions as they were at its first look.
    await given.owner.query('select pg_stat_clear_snapshot()');
    const { rowCount } = await given.owner.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return rowCount !== 0;
  });

const passTo = (now: string) => given.service.moveClock(given.ada, { now });

describe('overdue runs of one account', () => {
  it('are carried out in the order in which they fell due, however the orders were placed', async () => {
    const recipientID = await recipient();
    const placements = [
      [1, 2, 3, 4, 5, 6],
      [6, 5, 4, 3, 2, 1],
      [4, 1, 6, 2, 5, 3],
      [2, 6, 1, 5, 3, 4],
    ];
    const accounts = await Promise.all(
      placements.map(async (days) => {
        const { id } = await account('300');
        const runs = new Map<number, () => Promise<string>>();
        for (const day of days) runs.set(day, await once(id, recipientID, `2081-01-0${day}T00:00:00Z`));
        return runs;
      }),
    );

    await passTo('2081-02-01T00:00:00Z');
    await given.work();

    for (const runs of accounts) {
      const statuses = await Promise.all([1, 2, 3, 4, 5, 6].map((day) => runs.get(day)!()));
      expect(statuses).toEqual(['completed', 'completed', 'completed', 'failed', 'failed', 'failed']);
    }
  });

  it('are carried out in their order if a claim takes a few of them', async () => {
    const [{ id }, recipientID] = [await account('500'), await recipient()];
    const runs = new Map<number, () => Promise<string>>();
    for (const day of [7, 2, 8, 4, 1, 6, 3, 5]) {
      runs.set(day, await once(id, recipientID, `2083-01-0${day}T00:00:00Z`));
    }

    await passTo('2083-02-01T00:00:00Z');
    await workAfter(async () => undefined, 2);

    const days = [1, 2, 3, 4, 5, 6, 7, 8];
    const paid = days.map((day) => (day <= 5 ? 'completed' : 'failed'));
    expect(await Promise.all(days.map((day) => runs.get(day)!()))).toEqual(paid);
  });

  it('wait for the first of them if another session has locked its payee', async () => {
    const [payer, payee] = [await account('100'), await account('0')];
    const first = await once(payer.id, await recipient(payee.code), '2084-01-01T00:00:00Z');
    const second = await once(payer.id, await recipient(), '2084-01-02T00:00:00Z');
    await passTo('2084-02-01T00:00:00Z');
    await given.owner.query('begin');
    await given.owner.query('select from account where id = $1 for update', [payee.id]);

    // The first batch leaves out what is locked. The second one waits.
    const working = workAfter(async () => undefined);
    await untilWaiting();
    const meanwhile = [await first(), await second()];
    await given.owner.query('commit');
    await working;

    expect(meanwhile).toEqual(['scheduled', 'scheduled']);
    expect([await first(), await second()]).toEqual(['completed', 'failed']);
  });

  it('are prepared again together if the recipient of the first of them was changed', async () => {
    const [{ id }, changed] = [await account('100'), await recipient()];
    const first = await once(id, changed, '2085-01-01T00:00:00Z');
    const second = await once(id, await recipient(), '2085-01-02T00:00:00Z');
    await passTo('2085-02-01T00:00:00Z');

    await workAfter(() => given.owner.query('update recipient set name = name where id = $1', [changed]));

    expect([await first(), await second()]).toEqual(['completed', 'failed']);
  });
});

describe('a due run', () => {
  const run = (accountId: number, day: number, executionId = day) =>
    ({ workspaceId: 1, executionId, order: { accountId }, scheduledAt: `2026-01-0${day}T00:00:00.000000Z` }) as DueRun;

  /** Runs that are submitted in this order, when `prepare` says so. */
  function prepared() {
    const dueRuns = new DueRuns(given.db);
    const submitted: number[] = [];
    const add = (one: DueRun) => {
      let prepare!: () => void;
      let fail!: (error: Error) => void;
      const preparing = new Promise<void>((resolve, reject) => ((prepare = resolve), (fail = reject)));
      const outcome = dueRuns.inTurn(
        one,
        () => preparing,
        async () => submitted.push(one.executionId),
      );
      return { prepare, fail, outcome };
    };
    return { submitted, add };
  }

  it('is submitted after those of its account that fell due before it, and beside those of other accounts', async () => {
    const { submitted, add } = prepared();
    const [third, first, second, other] = [run(1, 3), run(1, 1, 8), run(1, 1, 9), run(2, 4)].map(add);

    third!.prepare();
    second!.prepare();
    other!.prepare();
    await turn();
    expect(submitted).toEqual([4]);
    first!.prepare();
    await turn();

    expect(submitted).toEqual([4, 8, 9, 3]);
  });

  it('is not held up by one that could not be prepared', async () => {
    const { submitted, add } = prepared();
    const [first, second] = [run(1, 1), run(1, 2)].map(add);

    second!.prepare();
    first!.fail(new Error('no rate'));

    await expect(first!.outcome).rejects.toThrow('no rate');
    await second!.outcome;
    expect(submitted).toEqual([2]);
  });
});
