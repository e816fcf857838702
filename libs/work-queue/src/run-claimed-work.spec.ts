import { Refusal } from '@banking/domain';
import { CommitInDoubtError } from '@banking/postgres';
import { KIND, openQueue, type Queue } from './testing/queue.js';
import { passTime, type World } from './testing/world.js';
import { claimWork } from './claims.js';
import { WorkError } from './run-claimed-work.js';
import { WORK_RETRY_POLICIES, TRIES_MAX } from './work-retry-policies.js';
import { Worker } from './worker.js';

const DELAY_MAX_MS = WORK_RETRY_POLICIES.work.maxMs;

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

describe('work that fails', () => {
  it('is parked after ten tries, with a reason and the writes of its handler', async () => {
    await queue.enqueue();
    const recorded: unknown[] = [];
    const worker = new Worker({
      database: world.database,
      random: () => 0.999,
      handlers: {
        [KIND]: {
          run: async () => Promise.reject(new WorkError('the other side is closed')),
          noteFailures: (failures) => {
            recorded.push(...failures.map(({ isParked }) => isParked));
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
    expect(recorded).toEqual([...Array.from({ length: TRIES_MAX - 1 }, () => false), true]);
    expect(await queue.list()).toMatchObject([
      { state: 'parked', tries: TRIES_MAX, reason: 'the other side is closed', parkedAt: expect.any(String) },
    ]);
  });

  it.each([
    [new Refusal('balance_limit_exceeded'), 'balance_limit_exceeded'],
    [new Error('account 50100123456789 of Ravi Menon'), 'unhandled error: see the log'],
  ])('records no more of %s than the queue may contain', async (error, reason) => {
    await queue.enqueue();
    const errors: unknown[] = [];
    await queue.workerOf(async () => Promise.reject(error), { onError: (one) => errors.push(one) }).step();

    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: 1, reason }]);
    expect(errors).toEqual([error]);
  });
});

describe('work with a transient failure', () => {
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
  const delayMs = async () => {
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
  ])('is delayed by %s without a limit, and uses no try', async (_what, error, reason) => {
    await queue.enqueue();
    const worker = failing(error);

    await fail(worker, 1);
    expect(await delayMs()).toBeLessThan(2_000);
    await fail(worker, 3 * TRIES_MAX);

    expect(await delayMs()).toBeGreaterThan(800_000);
    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: 0, delays: 3 * TRIES_MAX + 1, reason }]);
  });

  it('is parked by the tenth failure that is not transient', async () => {
    await queue.enqueue();
    const worker = failing((time) => (time % 3 === 0 ? new WorkError('closed') : new Refusal('unavailable')));

    await fail(worker, 3 * TRIES_MAX - 1);
    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: TRIES_MAX - 1, delays: 2 }]);
    await fail(worker, 1);

    expect(await queue.list()).toMatchObject([{ state: 'parked', tries: TRIES_MAX, reason: 'closed' }]);
  });

  it('uses no try when its worker is killed', async () => {
    await queue.enqueue();
    for (let time = 0; time < 2 * TRIES_MAX; time++) {
      expect(await claimWork(world.database, [KIND], 1)).toMatchObject([{ tries: 1 }]);
      await passTime(world, 30_000);
    }

    await queue.workerOf(async () => Promise.reject(new WorkError('closed'))).step();

    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: 1 }]);
  });
});
