import { KIND, openQueue, deferred, type Queue } from './testing/queue.js';
import { NORTH, SOUTH, passTime, type World } from './testing/world.js';
import { openWork } from './open-work.js';

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
    await world.database.pipeline({}, [openWork([{ workspaceId: NORTH, kind: 'other', subjectId: 1 }])]);

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
