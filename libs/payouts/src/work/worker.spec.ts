import { KIND, openQueue, promised, type Queue } from '../testing/queue.js';
import { NORTH, SOUTH, passTime, type World } from '../testing/world.js';
import { openWork } from './open-work.js';

let queue: Queue;
let world: World;

beforeAll(async () => {
  queue = await openQueue();
  world = queue.world;
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

describe('Given work in the queue', () => {
  it('When it is done, Then it is gone, and nobody does it again', async () => {
    const subjects = [...(await queue.lay(2)), ...(await queue.lay(1, SOUTH))];
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

  it('When it is due later, or somebody else’s kind, Then it is left', async () => {
    await queue.lay(1, NORTH, '2999-01-01T00:00:00Z');
    await world.database.flight({}, [openWork([{ workspaceId: NORTH, kind: 'other', subjectId: 1 }])]);

    expect(await queue.workerOf(async () => 'done').step()).toBe(0);

    expect(await queue.list()).toMatchObject([
      { kind: 'other', state: 'waiting' },
      { kind: KIND, state: 'waiting', dueAt: '2999-01-01T00:00:00.000000Z' },
    ]);
  });

  it('When it is to be looked at later, Then it is, and the tries begin anew', async () => {
    await queue.lay();
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

  it('When many workers want it, Then each piece goes to one', async () => {
    const subjects = await queue.lay(60);
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

describe('Given a worker that is doing something', () => {
  it('When its claim is taken over, Then the next heartbeat tells it', async () => {
    await queue.lay();
    const begun = promised();
    const told = promised();
    const worker = queue.workerOf(async (_claim, signal) => {
      signal.addEventListener('abort', () => told.keep());
      begun.keep();
      await told.kept;
      return 'done';
    });
    const step = worker.step();
    await begun.kept;

    await worker.beat();
    await passTime(world, 31_000);
    await worker.beat();

    await told.kept;
    await step;
    expect(await queue.list()).toHaveLength(1);
  });

  it('When it has no hand free, Then it takes no more than it can do', async () => {
    await queue.lay(3);
    const begun = promised();
    const goOn = promised();
    let most = 0;
    let now = 0;
    const worker = queue.workerOf(
      async () => {
        most = Math.max(most, ++now);
        if (now === 2) begun.keep();
        await goOn.kept;
        now--;
        return 'done';
      },
      { concurrency: 2 },
    );
    const first = worker.step();
    await begun.kept;
    const second = worker.step();
    goOn.keep();
    await Promise.all([first, second]);
    await worker.step();

    expect(most).toBe(2);
    expect(await queue.list()).toEqual([]);
  });
});
