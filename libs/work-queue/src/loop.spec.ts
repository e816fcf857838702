import { Refusal } from '@banking/domain';
import { KIND, openQueue, deferred, type Queue } from './testing/queue.js';
import type { World } from './testing/world.js';
import { Loop } from './loop.js';
import { startWorker } from './worker.js';

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

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

describe('a running worker', () => {
  it('asks for work at once when it is nudged, and finishes running work before it stops', async () => {
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

    expect(waits).toEqual([0, 0, 1]);
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
