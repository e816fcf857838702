import { until } from '@banking/postgres/testing';
import { claimWork, listWork } from '@banking/work-queue';
import { PAYOUT } from './open-payouts.js';
import { stopPayouts } from './payout-stop.js';
import type { Rail } from './rail.js';
import { SandboxRail, SANDBOX_RAIL } from './sandbox-rail.js';
import { payoutHandler } from './submit-payout.js';
import {
  AMOUNT,
  countedDatabase,
  faults,
  Halt,
  keepWorld,
  keyOf,
  NORTH,
  openWorld,
  passTime,
  passTimeHere,
  payOut,
  payoutWorker,
  SOUTH,
  work,
  type World,
} from './testing/world.js';

const CREDITED = '50100123456789';
let world: World;
let restore: () => Promise<World>;

beforeAll(async () => {
  world = await openWorld();
  restore = await keepWorld(world);
});

afterEach(async () => {
  expect(await faults(world)).toEqual([]);
  world = await restore();
});
afterAll(() => world.close());

const LEASE_EXPIRED_MS = 31_000;

/** The sandbox network with other calls. */
const railWith = (calls: Partial<Rail>): Rail => Object.assign(Object.create(new SandboxRail(world.database)), calls);

/** Status and tries of each payout, and how often the network received it. */
async function seen(ids: readonly number[]) {
  const { rows } = await world.owner.query<{ status: string; tries: number; submissions: number | null }>(
    `select p.status, p.tries, n.submissions
     from payout p left join sandbox_rail_payment n
       on n.key = format('payout-%s-%s-%s', p.workspace_id, p.transaction_id, p.key_nonce)
     where p.transaction_id = any($1) order by p.transaction_id`,
    [ids],
  );
  return rows;
}

function countedWorker() {
  const { database, names } = countedDatabase(world.database);
  const books = { ...world.books, database };
  return { worker: payoutWorker(world, { books, rail: new SandboxRail(database) }), names };
}

const submitted = { status: 'submitted', tries: 1, submissions: 1 };

describe('payouts that are submitted together', () => {
  it('need as many statements for fifty as for one', async () => {
    const counted: (readonly string[])[] = [];
    for (const count of [1, 50]) {
      const ids = await payOut(world, { count });
      const { worker, names } = countedWorker();
      await worker.step();
      counted.push(names);
      expect(await seen(ids)).toEqual(ids.map(() => submitted));
    }

    expect(counted[0]).toContain('mark_submitted');
    expect(counted[1]).toEqual(counted[0]);
  });

  it('need as many statements for the events of thirty-three, which are a page of the network, as for those of one', async () => {
    const counted: (readonly string[])[] = [];
    for (const count of [1, 33]) {
      const ids = await payOut(world, { count });
      const { worker, names } = countedWorker();
      await worker.step();
      await passTime(world, 10_000);
      names.length = 0;
      await worker.step();
      counted.push(names);
      expect(await seen(ids)).toMatchObject(ids.map(() => ({ status: 'settled' })));
    }

    expect(counted[0]).toContain('settle_payments');
    expect(counted[1]).toEqual(counted[0]);
  });

  it('do not affect each other where one fails, one gets no response, one is lost and one is known by the network', async () => {
    const ids = await payOut(world, { count: 12 });
    const [failing, silent, lost, known] = ids as [number, number, number, number];
    const others = ids.slice(4);
    const keys = new Map<string, number>();
    for (const id of ids) keys.set(await keyOf(world, id), id);
    const sandbox = new SandboxRail(world.database);
    const creditor = { name: 'Ravi Menon', account: CREDITED };
    const earlier = { key: await keyOf(world, known), amount: AMOUNT, currency: 'USD', creditor };
    await sandbox.submit(earlier, new AbortController().signal);
    await world.owner.query(`update payout set status = 'submitting', tries = 1 where transaction_id = $1`, [known]);
    let deadline = new AbortController();
    const rail = railWith({
      submit: async (payment, signal) => {
        const [id, own] = [keys.get(payment.key), deadline];
        if (id === failing) throw new Error('refused by the network');
        if (id === lost) await world.owner.query('update work set fence = fence + 1 where subject_id = $1', [lost]);
        const events = await sandbox.submit(payment, signal);
        if (id !== silent) return events;
        own.abort();
        return new Promise<never>(() => undefined);
      },
    });
    const errors: unknown[] = [];
    const worker = payoutWorker(world, {
      rail,
      onError: (error) => errors.push(error),
      deadline: () => (deadline = new AbortController()).signal,
    });

    await worker.step();

    expect(errors).toHaveLength(2);
    expect(await seen([failing, silent])).toEqual([
      { status: 'submitting', tries: 1, submissions: null },
      { status: 'submitting', tries: 1, submissions: 1 },
    ]);
    expect(await seen([lost])).toEqual([{ status: 'submitting', tries: 1, submissions: 1 }]);
    expect(await seen([known])).toEqual([{ ...submitted, tries: 2 }]);
    expect(await seen(others)).toEqual(others.map(() => submitted));
  });

  it('are recorded while the network has not answered for one of them', async () => {
    const ids = await payOut(world, { count: 10 });
    const slow = await keyOf(world, ids[0]!);
    const sandbox = new SandboxRail(world.database);
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const worker = payoutWorker(world, {
      rail: railWith({
        submit: async (payment, signal) => {
          if (payment.key === slow) await answered;
          return sandbox.submit(payment, signal);
        },
      }),
      deadline: () => new AbortController().signal,
    });

    const step = worker.step();
    await until(
      () => seen(ids.slice(1)),
      (payouts) => payouts.every(({ status }) => status === 'submitted'),
    );
    expect(await seen([ids[0]!])).toEqual([{ status: 'submitting', tries: 1, submissions: null }]);
    answer();
    await step;

    expect(await seen(ids)).toEqual(ids.map(() => submitted));
  });

  it('are all held where payouts are stopped before they begin', async () => {
    const ids = [...(await payOut(world, { count: 5 })), ...(await payOut(world, { workspaceId: SOUTH, count: 5 }))];
    await stopPayouts(world.database, [{ check: 'a rule', detail: 'a difference between workspaces' }]);

    await payoutWorker(world).step();

    expect(await seen(ids)).toEqual(ids.map(() => ({ status: 'due', tries: 0, submissions: null })));
    const reasons = (await listWork(world.database)).map(({ reason }) => reason);
    expect(new Set(reasons)).toEqual(new Set(['payouts are stopped']));
  });
});

describe('a batch of payouts whose worker dies', () => {
  const COUNT = 12;

  // The first two calls receive events and claim the work, the third begins. One call for each payment follows, then the record.
  it.each([
    ['after it has begun, before it has submitted any', 3, 'after', 0],
    ['while it submits', 9, 'before', 5],
    ['after it has submitted all, before it has recorded any', 4 + COUNT, 'before', COUNT],
    ['after it has recorded all', 4 + COUNT, 'after', COUNT],
  ] as const)('%s, is finished by another worker, each payment once', async (_when, nth, where, sent) => {
    const ids = await payOut(world, { count: COUNT });
    const halt = new Halt(nth, where);
    const books = { ...world.books, database: halt.database(world.database) };
    const stopping = payoutWorker(world, { books, rail: halt.rail(new SandboxRail(world.database)) });
    void stopping.step();
    await halt.reached;
    await until(
      () => seen(ids),
      (payouts) => payouts.filter(({ submissions }) => submissions !== null).length === sent,
    );

    await passTimeHere(world, LEASE_EXPIRED_MS);
    await work(world, payoutWorker(world), 12);

    const recorded = where === 'after' && nth > 3;
    expect(await seen(ids)).toEqual(ids.map(() => ({ status: 'settled', tries: recorded ? 1 : 2, submissions: 1 })));
  });
});

describe('events of several workspaces', () => {
  it('are received in turns, so that the events of one workspace do not delay another', async () => {
    await payOut(world, { count: 150 });
    const [quiet] = (await payOut(world, { workspaceId: SOUTH })) as [number];
    const worker = payoutWorker(world, { concurrency: 200 });
    await worker.step();
    await passTime(world, 10_000);
    await world.owner.query(
      `update sandbox_rail_event set due_at = due_at - interval '1 hour' where key like 'payout-${NORTH}-%'`,
    );

    await worker.step();

    expect(await seen([quiet])).toMatchObject([{ status: 'settled' }]);
    const { rows } = await world.owner.query('select from sandbox_rail_event where acknowledged');
    expect(rows).toHaveLength(100);
  });
});

const REJECTED = '50100123459001';

/** Minutes until the work of a payout is due. */
async function minutesLeft(id: number): Promise<number> {
  const { rows } = await world.owner.query<{ minutes: number }>(
    'select ceil(extract(epoch from due_at - clock_timestamp()) / 60)::int as minutes from work where subject_id = $1',
    [id],
  );
  return rows[0]!.minutes;
}

describe('work of a payout with a final status', () => {
  it.each([
    ['settled', CREDITED],
    ['failed', REJECTED],
  ])('ends without a call to the network where it is %s', async (status, account) => {
    const [id] = (await payOut(world)) as [number];
    await work(world, payoutWorker(world, { to: { [id]: account } }), 10);
    await world.owner.query(`insert into work (workspace_id, kind, subject_id, rail) values ($1, $2, $3, $4)`, [
      NORTH,
      PAYOUT,
      id,
      SANDBOX_RAIL,
    ]);
    const called: string[] = [];
    const call = (name: string) => async () => void called.push(name);
    const rail = Object.assign(Object.create(new SandboxRail(world.database)) as Rail, {
      submit: call('submit'),
      find: call('find'),
    });

    await payoutWorker(world, { rail }).step();

    expect(called).toEqual([]);
    const { rows } = await world.owner.query('select status, tries from payout where transaction_id = $1', [id]);
    expect(rows).toEqual([{ status, tries: 1 }]);
    expect((await world.owner.query('select from work')).rowCount).toBe(0);
  });
});

describe('a payout', () => {
  it('is checked with the network a quarter of an hour after its submission', async () => {
    const [id] = (await payOut(world)) as [number];

    await payoutWorker(world).step();

    expect(await minutesLeft(id)).toBe(15);
  });

  it.each([
    ['that is due', 'due', 0],
    ['whose earlier try did not reach the network', 'submitting', 1],
  ])('%s is held for five minutes while payouts are stopped', async (_what, status, tries) => {
    const [id] = (await payOut(world)) as [number];
    await world.owner.query('update payout set status = $2, tries = $3 where transaction_id = $1', [id, status, tries]);
    await stopPayouts(world.database, [{ check: 'a rule', detail: 'a difference between workspaces' }]);

    await payoutWorker(world).step();

    expect(await minutesLeft(id)).toBe(5);
  });

  it('is recorded while payouts are stopped, where an earlier try had submitted it', async () => {
    const [id] = (await payOut(world)) as [number];
    await payoutWorker(world).step();
    await world.owner.query(`
      alter table payout disable trigger legal_step;
      update payout set status = 'submitting';
      alter table payout enable trigger legal_step;
      update work set due_at = clock_timestamp()`);
    await stopPayouts(world.database, [{ check: 'a rule', detail: 'a difference between workspaces' }]);

    await payoutWorker(world).step();

    const { rows } = await world.owner.query('select status, tries from payout where transaction_id = $1', [id]);
    expect(rows).toEqual([{ status: 'submitted', tries: 1 }]);
    expect(await minutesLeft(id)).toBe(15);
  });

  it.each([
    ['before it begins', () => AbortSignal.abort(), () => undefined, 'the network was not called'],
    ['while it runs', undefined, (control: AbortController) => control.abort(), 'the network did not answer in time'],
  ])(
    'fails its try where the call is aborted %s, even if the network never answers',
    async (_what, aborted, during, message) => {
      const [id] = (await payOut(world)) as [number];
      const control = new AbortController();
      const never = () => {
        during(control);
        return new Promise<never>(() => undefined);
      };
      const rail = Object.assign(Object.create(new SandboxRail(world.database)) as Rail, {
        submit: never,
        find: never,
      });
      const readPayment = async () => ({
        ...{ amount: AMOUNT, currency: 'USD' },
        creditor: { name: 'Ravi Menon', account: CREDITED },
      });
      const [claim] = await claimWork(world.database, [PAYOUT], new Map([[SANDBOX_RAIL, 1]]));
      const handler = payoutHandler({ books: world.books, rails: new Map([[SANDBOX_RAIL, rail]]), readPayment });
      const run = handler.run(claim!, aborted?.() ?? control.signal);

      await expect(run).rejects.toThrow(message);
      const { rows } = await world.owner.query('select status, tries from payout where transaction_id = $1', [id]);
      expect(rows).toEqual([{ status: 'submitting', tries: 1 }]);
    },
  );
});
