import { Refusal } from '@banking/domain';
import { KIND, openQueue, promised, type Queue } from '../testing/queue.js';
import type { World } from '../testing/world.js';
import { startWorker } from './worker.js';

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

describe('Given a worker that runs', () => {
  it('When it is nudged, Then it looks at once, and when it is stopped, what it does is done first', async () => {
    const begun = promised();
    const goOn = promised();
    const looked = promised();
    const worker = startWorker({
      database: world.database,
      idleMs: 3_600_000,
      chores: [
        {
          name: 'look',
          run: async () => {
            looked.keep();
            return 0;
          },
        },
      ],
      handlers: {
        [KIND]: {
          run: async () => {
            begun.keep();
            await goOn.kept;
            return 'done';
          },
        },
      },
    });
    await looked.kept;
    await queue.lay();

    worker.nudge();
    await begun.kept;
    const stopped = worker.stop();
    goOn.keep();
    await stopped;

    expect(await queue.list()).toEqual([]);
  });

  it('When chores fail without end, Then each is told and retried, and the work is done all the same', async () => {
    const retried = { refused: promised(), broken: promised() };
    const done = promised();
    const errors: unknown[] = [];
    const chore = (name: keyof typeof retried, error: Error) => {
      let tried = 0;
      return {
        name,
        run: async () => {
          if (++tried > 3) retried[name].keep();
          throw error;
        },
      };
    };
    const worker = startWorker({
      database: world.database,
      idleMs: 1,
      handlers: { [KIND]: { run: async () => (done.keep(), 'done') } },
      chores: [
        chore('refused', new Refusal('unavailable')),
        chore('broken', new Error('a bug')),
        { name: 'silent', run: () => new Promise<number>(() => undefined) },
      ],
      onError: (error, failed) => errors.push([(error as Error).message, failed]),
    });

    await Promise.all([retried.refused.kept, retried.broken.kept]);
    await queue.lay();
    await done.kept;

    expect(errors).toContainEqual([new Refusal('unavailable').message, { chore: 'refused' }]);
    expect(errors).toContainEqual(['a bug', { chore: 'broken' }]);
    jest.useFakeTimers({ doNotFake: ['performance', 'nextTick', 'setImmediate', 'queueMicrotask'] });
    try {
      // The silent chore never ends: stopping waits for it as long as for work, and no longer.
      const stopped = worker.stop();
      await jest.advanceTimersByTimeAsync(8_000);
      await stopped;
    } finally {
      jest.useRealTimers();
    }
  });

  it('When the database cannot be asked, Then it says so, and goes on when it can', async () => {
    const told = promised();
    const done = promised();
    const errors: unknown[] = [];
    const { flight } = world.database;
    let isDown = true;
    const database = Object.create(world.database, {
      flight: {
        value: (...args: Parameters<typeof flight>) =>
          isDown ? Promise.reject(new Refusal('unavailable')) : flight.apply(world.database, args),
      },
    }) as typeof world.database;
    const worker = startWorker({
      database,
      idleMs: 1,
      handlers: { [KIND]: { run: async () => (done.keep(), 'done') } },
      onError: (error) => {
        errors.push(error);
        told.keep();
      },
    });
    await queue.lay();

    await told.kept;
    isDown = false;
    await done.kept;
    await worker.stop();

    expect(errors[0]).toMatchObject({ reason: 'unavailable' });
    expect(await queue.list()).toEqual([]);
  });
});
