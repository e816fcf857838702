import { Refusal } from '@banking/domain';
import { CommitInDoubtError } from '@banking/postgres';
import { claimWork } from './claims.js';
import { WorkError } from './work-handler.js';
import {
  deferred,
  KIND,
  NORTH,
  openQueue,
  openWork,
  passTime,
  type Queue,
  SOUTH,
  type World,
} from './testing/queue.js';
import {
  choreChannel,
  TRIES_MAX,
  WORK_RETRY_POLICIES,
  workChannel,
  type WorkHandler,
  type WorkMessage,
} from './work-handler.js';
import { Loop, startWorker, Worker } from './worker.js';

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});

afterEach(() => world.owner.query('delete from work'));

afterAll(() => world.close());

describe('work in the queue', () => {
  it('is removed when it is done', async () => {
    const subjects = [...(await queue.enqueue(2)), ...(await queue.enqueue(1, SOUTH))];
    const seen: number[] = [];
    const worker = queue.workerOf(async ({ subjectId }) => {
      seen.push(subjectId);
      return 'done';
    });

    expect(await worker.step()).toBe(3);
    expect(await worker.step()).toBe(0);

    expect(seen.sort()).toEqual(subjects);
    expect(await queue.list()).toEqual([]);
  });

  it('stays when it is due later, or of a kind without a handler', async () => {
    await queue.enqueue(1, NORTH, '2999-01-01T00:00:00Z');
    await openWork(world, 'other', [1]);

    expect(await queue.workerOf(async () => 'done').step()).toBe(0);

    expect(await queue.list()).toMatchObject([
      { kind: 'other', state: 'waiting' },
      { kind: KIND, state: 'waiting', dueAt: '2999-01-01T00:00:00.000000Z' },
    ]);
  });

  it('is due again when its handler says so, with all its tries', async () => {
    await queue.enqueue();
    const tries: number[] = [];
    const worker = queue.workerOf(async (claim) => {
      tries.push(claim.tries);
      return { laterMs: 60_000 };
    });

    await worker.step();
    expect(await worker.step()).toBe(0);
    await passTime(world, 61_000);
    await worker.step();

    expect(tries).toEqual([1, 1]);
    expect(await queue.list()).toMatchObject([{ state: 'waiting', tries: 0 }]);
  });

  it('goes to one of many workers', async () => {
    const subjects = await queue.enqueue(60);
    const seen: number[] = [];
    const workers = Array.from({ length: 6 }, () =>
      queue.workerOf(async ({ subjectId }) => {
        seen.push(subjectId);
        return 'done';
      }),
    );

    await Promise.all(workers.map((worker) => worker.step()));

    expect(seen.sort((a, b) => a - b)).toEqual(subjects);
  });
});

describe('a worker with running work', () => {
  it('is aborted by the next heartbeat after another worker has taken over', async () => {
    await queue.enqueue();
    const begun = deferred();
    const aborted = deferred();
    const worker = queue.workerOf(async (_claim, signal) => {
      signal.addEventListener('abort', () => aborted.resolve());
      begun.resolve();
      await aborted.promise;
      return 'done';
    });
    const step = worker.step();
    await begun.promise;

    await worker.beat();
    await passTime(world, 31_000);
    await worker.beat();

    await aborted.promise;
    await step;
    expect(await queue.list()).toHaveLength(1);
  });

  it('claims no more than its concurrency permits', async () => {
    await queue.enqueue(3);
    const begun = deferred();
    const finish = deferred();
    let most = 0;
    let now = 0;
    const worker = queue.workerOf(
      async () => {
        most = Math.max(most, ++now);
        if (now === 2) begun.resolve();
        await finish.promise;
        now--;
        return 'done';
      },
      { concurrency: 2 },
    );
    const first = worker.step();
    await begun.promise;
    const second = worker.step();
    finish.resolve();
    await Promise.all([first, second]);
    await worker.step();

    expect(most).toBe(2);
    expect(await queue.list()).toEqual([]);
  });
});

describe('a loop', () => {
  it('leaves no timer when a task that ends after the stop has more to do soon', async () => {
    const begun = deferred();
    const finish = deferred();
    const task = async () => {
      begun.resolve();
      await finish.promise;
      loop.wakeAfter(3_600_000);
      return false;
    };
    const loop: Loop = new Loop(task, {
      idleMs: 3_600_000,
      backoff: { firstMs: 1, maxMs: 1 },
      random: () => 0,
      onError: (error) => {
        throw error;
      },
    });
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    const before = timers();
    loop.start();
    await begun.promise;

    const stopped = loop.stop();
    finish.resolve();
    await stopped;

    expect(timers()).toBe(before);
  });
});

describe('the pauses of a loop', () => {
  it('grow to half a second while there is nothing to do, and are short again when it is woken', async () => {
    jest.useFakeTimers();
    const pauses = jest.spyOn(global, 'setTimeout');
    const loop = new Loop(async () => false, {
      idleMs: 100,
      backoff: { firstMs: 1, maxMs: 1 },
      random: () => 0,
      onError: (error) => {
        throw error;
      },
    });
    loop.start();
    await jest.advanceTimersByTimeAsync(100 + 200 + 400 + 500 + 10);
    loop.wake();
    await jest.advanceTimersByTimeAsync(100);
    await loop.stop();
    const lengths = pauses.mock.calls.map(([, ms]) => ms);
    jest.useRealTimers();

    expect(lengths).toEqual([100, 200, 400, 500, 500, 100, 200]);
  });
});

describe('the pause after a failure', () => {
  it('is not ended by what wakes the loop', async () => {
    jest.useFakeTimers();
    let runs = 0;
    const loop = new Loop(
      async () => {
        runs += 1;
        throw new Error('away');
      },
      { idleMs: 100, backoff: { firstMs: 1_000, maxMs: 1_000 }, random: () => 0.999, onError: () => undefined },
    );
    loop.start();
    for (let step = 0; step < 40; step += 1) {
      loop.wakeAfter(50);
      await jest.advanceTimersByTimeAsync(100);
    }
    await loop.stop();
    jest.useRealTimers();

    expect(runs).toBeLessThan(7);
  });
});

describe('a running worker', () => {
  it('wakes the chores that are nudged, and those that what another one did may concern', async () => {
    const runs: string[] = [];
    const done = deferred();
    let isRepeated = false;
    const chore = (name: string, run: () => Promise<number>, isNudged?: boolean) => ({
      name,
      isNudged,
      run: async () => {
        runs.push(name);
        return run();
      },
    });
    const worker = startWorker({
      database: world.database,
      idleMs: 3_600_000,
      handlers: {},
      chores: [
        chore('hourly', async () => 0),
        chore(
          'record',
          async () => {
            if (runs.filter((name) => name === 'record').length !== 2) return 0;
            isRepeated = true;
            return 1;
          },
          true,
        ),
        chore(
          'deliver',
          async () => {
            if (isRepeated) done.resolve();
            return 0;
          },
          true,
        ),
      ],
    });

    worker.nudge();
    await done.promise;
    await worker.stop();

    expect(runs.filter((name) => name === 'hourly')).toHaveLength(1);
    expect(runs.filter((name) => name === 'record').length).toBeGreaterThan(2);
  });

  it('asks for work soon when it is nudged, and finishes running work before it stops', async () => {
    const begun = deferred();
    const finish = deferred();
    const asked = deferred();
    const worker = startWorker({
      database: world.database,
      idleMs: 3_600_000,
      chores: [
        {
          name: 'ask',
          run: async () => {
            asked.resolve();
            return 0;
          },
        },
      ],
      handlers: {
        [KIND]: {
          run: async () => {
            begun.resolve();
            await finish.promise;
            return 'done';
          },
        },
      },
    });
    await asked.promise;
    await queue.enqueue();

    worker.nudge();
    await begun.promise;
    const stopped = worker.stop();
    finish.resolve();
    await stopped;

    expect(await queue.list()).toEqual([]);
  });

  it('repeats a chore at once after a full batch, and after a short time after a smaller one', async () => {
    const wakeAfter = jest.spyOn(Loop.prototype, 'wakeAfter');
    const counts = [10, 3, 0];
    const waits: number[] = [];
    const ended = deferred();
    const worker = startWorker({
      database: world.database,
      idleMs: 3_600_000,
      chores: [
        {
          name: 'receive',
          fullBatch: 10,
          run: async () => {
            waits.push(wakeAfter.mock.calls.length);
            const count = counts.shift() ?? 0;
            if (counts.length === 0) ended.resolve();
            return count;
          },
        },
      ],
      handlers: {},
    });

    await ended.promise;
    await worker.stop();

    // Each of the two also nudges the claims.
    expect(waits).toEqual([0, 1, 3]);
  });

  it('reports and retries every chore that fails, and does its work', async () => {
    const retried = { refused: deferred(), broken: deferred() };
    const done = deferred();
    const errors: unknown[] = [];
    const chore = (name: keyof typeof retried, error: Error) => {
      let tried = 0;
      return {
        name,
        run: async () => {
          if (++tried > 3) retried[name].resolve();
          throw error;
        },
      };
    };
    const worker = startWorker({
      database: world.database,
      idleMs: 1,
      backoff: { firstMs: 1, maxMs: 1 },
      handlers: { [KIND]: { run: async () => (done.resolve(), 'done') } },
      chores: [
        chore('refused', new Refusal('unavailable')),
        chore('broken', new Error('unhandled')),
        { name: 'silent', run: () => new Promise<number>(() => undefined) },
      ],
      onError: (error, failed) => errors.push([(error as Error).message, failed]),
    });

    await Promise.all([retried.refused.promise, retried.broken.promise]);
    await queue.enqueue();
    await done.promise;

    expect(errors).toContainEqual([new Refusal('unavailable').message, { chore: 'refused' }]);
    expect(errors).toContainEqual(['unhandled', { chore: 'broken' }]);
    jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      // The stop waits for the chore that never ends only as long as for work.
      const stopped = worker.stop();
      await jest.advanceTimersByTimeAsync(8_000);
      await stopped;
    } finally {
      jest.useRealTimers();
    }
  });

  it('reports that the database is unavailable, and continues once it is available', async () => {
    const reported = deferred();
    const done = deferred();
    const errors: unknown[] = [];
    const { pipeline } = world.database;
    let isDown = true;
    const database = Object.create(world.database, {
      pipeline: {
        value: (...args: Parameters<typeof pipeline>) =>
          isDown ? Promise.reject(new Refusal('unavailable')) : pipeline.apply(world.database, args),
      },
    }) as typeof world.database;
    const worker = startWorker({
      database,
      idleMs: 1,
      backoff: { firstMs: 1, maxMs: 1 },
      handlers: { [KIND]: { run: async () => (done.resolve(), 'done') } },
      onError: (error) => {
        errors.push(error);
        reported.resolve();
      },
    });
    await queue.enqueue();

    await reported.promise;
    isDown = false;
    await done.promise;
    await worker.stop();

    expect(errors[0]).toMatchObject({ reason: 'unavailable' });
    expect(await queue.list()).toEqual([]);
  });
});

const DELAY_MAX_MS = WORK_RETRY_POLICIES.work.maxMs;

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

describe('work channels', () => {
  let messages: unknown[];
  const listen = (message: unknown) => void messages.push({ ...(message as object) });

  beforeEach(() => {
    messages = [];
    workChannel.asyncEnd.subscribe(listen);
    choreChannel.asyncEnd.subscribe(listen);
  });

  afterEach(() => {
    workChannel.asyncEnd.unsubscribe(listen);
    choreChannel.asyncEnd.unsubscribe(listen);
  });

  describe('the channel of claimed work', () => {
    it.each<[WorkHandler['run'], Partial<WorkMessage>]>([
      [async () => 'done', { outcome: 'done' }],
      [async () => ({ laterMs: 1 }), { outcome: 'postponed' }],
      [async () => ({ laterMs: 1, heldFor: 'a stop' }), { outcome: 'held' }],
      [() => Promise.reject(new WorkError('no network')), { outcome: 'retried', reason: 'no network' }],
      [() => Promise.reject(new Refusal('unavailable')), { outcome: 'delayed', reason: 'unavailable' }],
      [() => Promise.reject(new Error('a value')), { outcome: 'retried', reason: 'unhandled error: see the log' }],
    ])('publishes the result of %s', async (run, expected) => {
      await queue.enqueue();

      await queue.workerOf(run).step();

      expect(messages).toEqual([{ kind: 'test', workspaceId: NORTH, tries: 1, result: undefined, ...expected }]);
    });

    it('publishes that work was parked, and that a claim was lost', async () => {
      const [id] = await queue.enqueue();
      const { owner } = queue.world;
      await owner.query('update work set tries = $1', [TRIES_MAX - 1]);
      await queue.workerOf(() => Promise.reject(new WorkError('no network'))).step();
      await owner.query('update work set parked_at = null, tries = 0, due_at = now() where subject_id = $1', [id]);
      await queue
        .workerOf(async () => {
          await passTime(queue.world, 60_000);
          await owner.query('update work set fence = fence + 1');
          return 'done';
        })
        .step();

      expect(messages).toMatchObject([{ outcome: 'parked', tries: TRIES_MAX }, { outcome: 'lost' }]);
    });
  });

  describe('the channel of chores', () => {
    it('publishes each run with its result or error', async () => {
      const error = new Error('no statistics');
      const chores = [
        { name: 'one', run: async () => 3 },
        { name: 'two', run: () => Promise.reject(error) },
      ];

      await queue.workerOf(async () => 'done', { chores }).step();

      expect(messages).toEqual([
        { name: 'one', result: 3 },
        { name: 'two', error },
      ]);
    });
  });
});
