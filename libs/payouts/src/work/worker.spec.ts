import { Refusal } from '@banking/domain';
import { NORTH, SOUTH, openWorld, passTime, type World } from '../testing/world.js';
import { delayMs, TRIES_MAX, WorkError, type WorkHandler } from './handle-claim.js';
import { openWork } from './open-work.js';
import { listWork } from './release-work.js';
import { startWorker, Worker, type WorkerOptions } from './worker.js';

let world: World;
let subject = 0;

beforeAll(async () => {
  world = await openWorld();
});
afterEach(() => world.owner.query('delete from work'));
afterAll(() => world.close());

const KIND = 'test';

async function lay(count = 1, workspaceId = NORTH, dueAt?: string): Promise<number[]> {
  const subjects = Array.from({ length: count }, () => ++subject);
  const list = subjects.map((subjectId) => ({ workspaceId, kind: KIND, subjectId, dueAt }));
  await world.database.flight({}, [openWork(list)]);
  return subjects;
}

const workerOf = (run: WorkHandler['run'], more: Partial<WorkerOptions> = {}) =>
  new Worker({ database: world.database, handlers: { [KIND]: { run } }, ...more });

const queue = () => listWork(world.database);

/** A promise, and the way to keep it. */
function promised<T = void>() {
  let keep!: (value: T) => void;
  const kept = new Promise<T>((resolve) => (keep = resolve));
  return { kept, keep };
}

describe('Given work in the queue', () => {
  it('When it is done, Then it is gone, and nobody does it again', async () => {
    const subjects = [...(await lay(2)), ...(await lay(1, SOUTH))];
    const seen: number[] = [];
    const worker = workerOf(async ({ subjectId }) => {
      seen.push(subjectId);
      return 'done';
    });

    expect(await worker.step()).toBe(3);
    expect(await worker.step()).toBe(0);

    expect(seen.sort()).toEqual(subjects);
    expect(await queue()).toEqual([]);
  });

  it('When it is due later, or somebody else’s kind, Then it is left', async () => {
    await lay(1, NORTH, '2999-01-01T00:00:00Z');
    await world.database.flight({}, [openWork([{ workspaceId: NORTH, kind: 'other', subjectId: 1 }])]);

    expect(await workerOf(async () => 'done').step()).toBe(0);

    expect(await queue()).toMatchObject([
      { kind: 'other', state: 'waiting' },
      { kind: KIND, state: 'waiting', dueAt: '2999-01-01T00:00:00.000000Z' },
    ]);
  });

  it('When it is to be looked at later, Then it is, and the tries begin anew', async () => {
    await lay();
    const tries: number[] = [];
    const worker = workerOf(async (claim) => {
      tries.push(claim.tries);
      return { laterMs: 60_000 };
    });

    await worker.step();
    expect(await worker.step()).toBe(0);
    await passTime(world, 61_000);
    await worker.step();

    expect(tries).toEqual([1, 1]);
    expect(await queue()).toMatchObject([{ state: 'waiting', tries: 0 }]);
  });

  it('When many workers want it, Then each piece goes to one', async () => {
    const subjects = await lay(60);
    const seen: number[] = [];
    const workers = Array.from({ length: 6 }, () =>
      workerOf(async ({ subjectId }) => {
        seen.push(subjectId);
        return 'done';
      }),
    );

    await Promise.all(workers.map((worker) => worker.step()));

    expect(seen.sort((a, b) => a - b)).toEqual(subjects);
  });
});

describe('Given work that fails', () => {
  it('When it fails ten times, Then it is parked with a reason and its handler has noted it', async () => {
    await lay();
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
      await passTime(world, 300_000);
    }

    expect(await worker.step()).toBe(0);
    expect(noted).toEqual([...Array.from({ length: TRIES_MAX - 1 }, () => false), true]);
    expect(await queue()).toMatchObject([
      { state: 'parked', tries: TRIES_MAX, reason: 'the other side is closed', parkedAt: expect.any(String) },
    ]);
  });

  it.each([
    [new Refusal('balance_limit_exceeded'), 'balance_limit_exceeded'],
    [new Error('account 50100123456789 of Ravi Menon'), 'something that is not foreseen went wrong: see the log'],
  ])('When it throws %s, Then the queue says no more than it may', async (error, reason) => {
    await lay();
    const told: unknown[] = [];
    await workerOf(async () => Promise.reject(error), { onError: (one) => told.push(one) }).step();

    expect(await queue()).toMatchObject([{ state: 'waiting', tries: 1, reason }]);
    expect(told).toEqual([error]);
  });

  it('When delays are drawn, Then they grow to five minutes, and spread over the whole of it', () => {
    expect([1, 2, 3, 8, 9, 10].map((tries) => delayMs(tries, 0.5))).toEqual([1_000, 2_000, 4_000, 128_000, 150_000, 150_000]); // prettier-ignore
    expect([0, 0.25, 0.999].map((random) => delayMs(5, random))).toEqual([100, 8_000, 31_968]);
  });
});

describe('Given a worker that is doing something', () => {
  it('When its claim is taken over, Then the next heartbeat tells it', async () => {
    await lay();
    const begun = promised();
    const told = promised();
    const worker = workerOf(async (_claim, signal) => {
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
    expect(await queue()).toHaveLength(1);
  });

  it('When it has no hand free, Then it takes no more than it can do', async () => {
    await lay(3);
    const begun = promised();
    const goOn = promised();
    let most = 0;
    let now = 0;
    const worker = workerOf(
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
    expect(await queue()).toEqual([]);
  });
});

describe('Given a worker that runs', () => {
  it('When it is nudged, Then it looks at once, and when it is stopped, what it does is done first', async () => {
    const begun = promised();
    const goOn = promised();
    const looked = promised();
    const worker = startWorker({
      database: world.database,
      idleMs: 3_600_000,
      chores: [
        async () => {
          looked.keep();
          return 0;
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
    await lay();

    worker.nudge();
    await begun.kept;
    const stopped = worker.stop();
    goOn.keep();
    await stopped;

    expect(await queue()).toEqual([]);
  });

  it('When the database cannot be asked, Then it says so and goes on', async () => {
    const again = promised();
    const errors: unknown[] = [];
    let asked = 0;
    const worker = startWorker({
      database: world.database,
      idleMs: 1,
      handlers: {},
      chores: [
        async () => {
          if (++asked > 1) again.keep();
          throw new Refusal('unavailable');
        },
      ],
      onError: (error) => errors.push(error),
    });

    await again.kept;
    await worker.stop();

    expect(errors[0]).toMatchObject({ reason: 'unavailable' });
  });
});
