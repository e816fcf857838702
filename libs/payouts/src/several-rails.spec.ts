import { until } from '@banking/postgres/testing';
import { listWork } from '@banking/work-queue';
import type { Payment, Rail } from './rail.js';
import { receiveRailEvents } from './receive-rail-events.js';
import { SANDBOX_RAIL, SandboxRail } from './sandbox-rail.js';
import {
  CREDITED,
  faults,
  keyOf,
  openWorld,
  payOut,
  passTime,
  payoutWorker,
  Restored,
  work,
  type World,
} from './testing/world.js';

let world: World;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.owner.query('delete from work'));
afterAll(async () => {
  expect(await faults(world)).toEqual([]);
  await world.close();
});

const HANGING = 'hanging';

/** A network whose calls have no response until the spec ends. */
function hanging() {
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const submitted: Payment[] = [];
  const rail: Rail = Object.assign(Object.create(new SandboxRail(world.database)) as Rail, {
    submit: async (payment: Payment) => {
      submitted.push(payment);
      await released;
      return [];
    },
    find: async () => {
      await released;
      return undefined;
    },
  });
  return { rail, submitted, release };
}

const statuses = async (ids: readonly number[]) => {
  const { rows } = await world.owner.query<{ status: string }>(
    'select distinct status from payout where transaction_id = any($1::bigint[])',
    [ids],
  );
  return rows.map(({ status }) => status);
};

describe('a payment network that hangs', () => {
  it('delays none of the payouts of another network, however many of its own wait for longer', async () => {
    await payOut(world, { count: 1_100, rail: HANGING });
    const ids = await payOut(world, { count: 20 });
    const { rail, submitted, release } = hanging();
    const worker = payoutWorker(world, { others: new Map([[HANGING, rail]]), concurrency: 8 }).start();

    const settled = await until(
      () => statuses(ids),
      (found) => found.join() === 'submitted',
    );

    expect(settled).toEqual(['submitted']);
    expect(submitted.length).toBeLessThanOrEqual(8);
    release();
    await worker.stop();
  });

  it('has half of its own space for payouts that are handed over, and takes none of another', async () => {
    const { rail, release } = hanging();
    const worker = payoutWorker(world, { others: new Map([[HANGING, rail]]), concurrency: 8 });

    expect(worker.reserve('payout', 100, HANGING)?.space).toBe(4);
    expect(worker.reserve('payout', 100, HANGING)).toBeUndefined();
    expect(worker.reserve('payout', 100, SANDBOX_RAIL)?.space).toBe(4);
    expect(worker.reserve('payout', 100, 'removed')).toBeUndefined();
    expect(worker.reserve('payout', 100)).toBeUndefined();
    release();
    await worker.stop();
  });
});

describe('a payout of a network that is not configured', () => {
  it('waits, is submitted nowhere, and counts as unserved work', async () => {
    const [id] = (await payOut(world, { rail: 'removed' })) as [number];
    const worker = payoutWorker(world);

    await work(world, worker, 5);

    expect(await statuses([id])).toEqual(['due']);
    expect(await worker.readStatus()).toMatchObject({ unserved: { payout: 1 } });
    expect(await listWork(world.database)).toMatchObject([
      { subjectId: id, rail: 'removed', state: 'waiting', tries: 0 },
    ]);
    expect(await new SandboxRail(world.database).find(await keyOf(world, id))).toBeUndefined();
  });
});

describe('an event that a network reports of a payout of another', () => {
  it('moves no money, is logged, and is acknowledged', async () => {
    const [id] = (await payOut(world, { rail: HANGING })) as [number];
    const key = await keyOf(world, id);
    const sandbox = new SandboxRail(world.database);
    const payment = {
      key,
      amount: 1n as Payment['amount'],
      currency: 'USD',
      creditor: { name: 'A', account: CREDITED },
    };
    await sandbox.submit(payment, new AbortController().signal);
    await passTime(world, 60_000);
    const errors: unknown[] = [];

    const receive = () =>
      receiveRailEvents({
        ...{ books: world.books, name: SANDBOX_RAIL, rail: sandbox },
        onError: (error) => void errors.push(error),
      });

    while ((await receive()) > 0);
    expect(errors).toEqual([
      expect.objectContaining({ message: expect.stringMatching(/the books do not have.+\(3 events\)$/) }),
    ]);
    expect(await statuses([id])).toEqual(['due']);
  });
});

describe('an event of a payment whose amount is not that of the books', () => {
  it('ends no payout, and is acknowledged: a worker asks for the payment and parks the payout', async () => {
    const [id] = (await payOut(world)) as [number];
    const key = await keyOf(world, id);
    const acknowledged: string[] = [];
    const errors: unknown[] = [];
    const content = { amount: 1n as Payment['amount'], currency: 'INR' };
    const rail = {
      receive: () => Promise.resolve([{ id: '1', key, content, event: { providerEvent: 'e1', status: 'ACCC' } }]),
      acknowledge: (events: readonly { readonly id: string }[]) => {
        acknowledged.push(...events.map((event) => event.id));
        return Promise.resolve();
      },
    } as unknown as Rail;

    await receiveRailEvents({ books: world.books, name: SANDBOX_RAIL, rail, onError: (error) => errors.push(error) });

    expect(await statuses([id])).toEqual(['due']);
    expect(acknowledged).toEqual(['1']);
    expect(errors).toEqual([expect.objectContaining({ message: expect.stringMatching(/another amount or currency/) })]);
  });
});

describe('a payment that the network has with another amount', () => {
  it('is for an operator: its payout is not submitted, and not tracked', async () => {
    const [id] = (await payOut(world)) as [number];
    const sandbox = new SandboxRail(world.database);
    const payment = { key: await keyOf(world, id), amount: 1n as Payment['amount'], currency: 'USD' };
    await sandbox.submit({ ...payment, creditor: { name: 'A', account: CREDITED } }, new AbortController().signal);
    await world.owner.query(`update payout set status = 'submitting', tries = 1 where transaction_id = $1`, [id]);

    await payoutWorker(world).step();

    const reason = 'the network has the payment with another amount or currency: run banking work reconcile';
    expect(await listWork(world.database)).toMatchObject([{ subjectId: id, tries: 1, reason }]);
    expect(await statuses([id])).toEqual(['submitting']);
  });
});

describe('the reconciliation of several networks', () => {
  it('asks each network for its own payouts, and reports a payment that in the books another one carries', async () => {
    const restored = await Restored.open();
    const [here] = (await payOut(restored.world)) as [number];
    const [elsewhere] = (await payOut(restored.world, { rail: 'other' })) as [number];
    const [removed] = (await payOut(restored.world, { rail: 'removed' })) as [number];
    await restored.submitEarlier(await keyOf(restored.world, here));
    await restored.submitEarlier(await keyOf(restored.world, elsewhere));
    const other: Rail = Object.assign(Object.create(restored.rail) as Rail, {
      find: async () => undefined,
      listSubmitted: async () => [],
    });

    const found = await restored.reconcile({
      rails: new Map<string, Rail>([
        [SANDBOX_RAIL, restored.rail],
        ['other', other],
      ]),
    });

    expect(found).toMatchObject({ payments: 2, openPayouts: 3, unsubmitted: 1, withoutNetwork: 1 });
    expect(found.differences).toMatchObject([
      { kind: 'carried_elsewhere', rail: SANDBOX_RAIL, transactionId: elsewhere },
    ]);
    expect(removed).toBeGreaterThan(elsewhere);
    await restored.close();
  });
});
