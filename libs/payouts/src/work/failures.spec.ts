import { Refusal } from '@banking/domain';
import { CommitInDoubtError } from '@banking/postgres';
import { KIND, openQueue, type Queue } from '../testing/queue.js';
import { passTime, type World } from '../testing/world.js';
import { claimWork } from './claims.js';
import { DELAY_MAX_MS, delayMs, TRIES_MAX, WorkError } from './handle-claim.js';
import { Worker } from './worker.js';

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

describe('Given work that fails', () => {
  it('When it fails ten times, Then it is parked with a reason and its handler has noted it', async () => {
    await queue.lay();
    const noted: unknown[] = [];
    const worker = new Worker({
      database: world.database,
      random: () => 0.999,
      handlers: {
        [KIND]: {
          run: async () => Promise.reject(new WorkError('the other side is closed')),
          noteFailure: (_claim, failure) => {
            noted.push(failure.isParked);
            return [];
          },
        },
      },
    });

    for (let tried = 1; tried <= TRIES_MAX; tried++) {
      expect(await worker.step()).toBe(1);
      expect(await worker.step()).toBe(0);
      await passTime(world, DELAY_MAX_MS);
    }

    expect(await worker.step()).toBe(0);
    expect(noted).toEqual([...Array.from({ length: TRIES_MAX - 1 }, () => false), true]);
    expect(await queue.list()).toMatchObject([
      { state: 'parked', tries: TRIES_MAX, reason: 'the other side is closed', parkedAt: expect.any(String) },
    ]);
  });

  it.each([
    [new Refusal('balance_limit_exceeded'), 'balance_limit_exceeded'],
    [new Error('account 50100123456789 of Ravi Menon'), 'something that is not foreseen went wrong: see the log'],
  ])('When it throws %s, Then the queue says no more than it may', async (error, reason) => {
    await queue.lay();
    const told: unknown[] = [];
    await queue.workerOf(async () => Promise.reject(error), { onError: (one) => told.push(one) }).step();

    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: 1, reason }]);
    expect(told).toEqual([error]);
  });

  it('When delays are drawn, Then they grow to 15 minutes, and spread over the whole of it', () => {
    expect([1, 2, 3, 8, 9, 10].map((tries) => delayMs(tries, 0.5))).toEqual([1_000, 2_000, 4_000, 128_000, 256_000, 450_000]); // prettier-ignore
    expect([100, 10_000].map((tries) => delayMs(tries, 0.999))).toEqual([899_100, 899_100]);
    expect([0, 0.25, 0.999].map((random) => delayMs(5, random))).toEqual([100, 8_000, 31_968]);
  });
});

describe('Given work that fails by something that passes', () => {
  const failing = (errors: (error: number) => Error) => {
    let failed = 0;
    return queue.workerOf(async () => Promise.reject(errors(++failed)), { random: () => 0.999 });
  };
  const fail = async (worker: Worker, times: number) => {
    for (let time = 0; time < times; time++) {
      expect(await worker.step()).toBe(1);
      await passTime(world, DELAY_MAX_MS);
    }
  };
  const later = async () => {
    const { rows } = await world.owner.query<{ ms: number }>(
      'select extract(epoch from due_at - clock_timestamp())::float8 * 1000 as ms from work',
    );
    return rows[0]!.ms + DELAY_MAX_MS;
  };

  it.each<[string, () => Error, string]>([
    ['a refusal `unavailable`', () => new Refusal('unavailable'), 'unavailable'],
    ['a refusal `rate_unavailable`', () => new Refusal('rate_unavailable'), 'rate_unavailable'],
    ['a refusal `outcome_unknown`', () => new Refusal('outcome_unknown'), 'outcome_unknown'],
    ['a commit in doubt', () => new CommitInDoubtError(new Error('lost')), 'outcome_unknown'],
  ])(
    'When it is %s, however often, Then it is no try, the delay grows, and the queue says why',
    async (_what, error, reason) => {
      // prettier-ignore
      await queue.lay();
      const worker = failing(error);

      await fail(worker, 1);
      expect(await later()).toBeLessThan(2_000);
      await fail(worker, 3 * TRIES_MAX);

      expect(await later()).toBeGreaterThan(800_000);
      expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: 0, delays: 3 * TRIES_MAX + 1, reason }]);
    },
  );

  it('When it fails for good now and then, Then only those are tries, and the tenth of them parks', async () => {
    await queue.lay();
    const worker = failing((time) => (time % 3 === 0 ? new WorkError('closed') : new Refusal('unavailable')));

    await fail(worker, 3 * TRIES_MAX - 1);
    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: TRIES_MAX - 1, delays: 2 }]);
    await fail(worker, 1);

    expect(await queue.list()).toMatchObject([{ state: 'parked', tries: TRIES_MAX, reason: 'closed' }]);
  });

  it('When a worker is killed over and over, Then no try is used up', async () => {
    await queue.lay();
    for (let time = 0; time < 2 * TRIES_MAX; time++) {
      expect(await claimWork(world.database, [KIND], 1)).toMatchObject([{ tries: 1 }]);
      await passTime(world, 30_000);
    }

    await queue.workerOf(async () => Promise.reject(new WorkError('closed'))).step();

    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: 1 }]);
  });
});
