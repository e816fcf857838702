import { Refusal } from '@banking/domain';
import { CommitInDoubtError } from '@banking/postgres';
import { NORTH, SOUTH, openWorld, passTime, type World } from '../testing/world.js';
import { claimWork } from './claims.js';
import { DELAY_MAX_MS, delayMs, TRIES_MAX, WorkError, type WorkHandler } from './handle-claim.js';
import { openWork } from './open-work.js';
import { listWork } from './list-work.js';
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
      await passTime(world, DELAY_MAX_MS);
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

  it('When delays are drawn, Then they grow to 15 minutes, and spread over the whole of it', () => {
    expect([1, 2, 3, 8, 9, 10].map((tries) => delayMs(tries, 0.5))).toEqual([1_000, 2_000, 4_000, 128_000, 256_000, 450_000]); // prettier-ignore
    expect([100, 10_000].map((tries) => delayMs(tries, 0.999))).toEqual([899_100, 899_100]);
    expect([0, 0.25, 0.999].map((random) => delayMs(5, random))).toEqual([100, 8_000, 31_968]);
  });
});

describe('Given work that fails by something that passes', () => {
  const failing = (errors: (error: number) => Error) => {
    let failed = 0;
    return workerOf(async () => Promise.reject(errors(++failed)), { random: () => 0.999 });
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
    ['a commit in doubt', () => new CommitInDoubtError('the connection was lost'), 'outcome_unknown'],
    [
      'a refusal `outcome_unknown`',
      () => Object.assign(new Refusal('unavailable'), { reason: 'outcome_unknown' }),
      'outcome_unknown',
    ],
  ])(
    'When it is %s, however often, Then it is no try, the delay grows, and the queue says why',
    async (_what, error, reason) => {
      // prettier-ignore
      await lay();
      const worker = failing(error);

      await fail(worker, 1);
      expect(await later()).toBeLessThan(2_000);
      await fail(worker, 3 * TRIES_MAX);

      expect(await later()).toBeGreaterThan(800_000);
      expect(await queue()).toMatchObject([{ state: 'waiting', tries: 0, delays: 3 * TRIES_MAX + 1, reason }]);
    },
  );

  it('When it fails for good now and then, Then only those are tries, and the tenth of them parks', async () => {
    await lay();
    const worker = failing((time) => (time % 3 === 0 ? new WorkError('closed') : new Refusal('unavailable')));

    await fail(worker, 3 * TRIES_MAX - 1);
    expect(await queue()).toMatchObject([{ state: 'waiting', tries: TRIES_MAX - 1, delays: 2 }]);
    await fail(worker, 1);

    expect(await queue()).toMatchObject([{ state: 'parked', tries: TRIES_MAX, reason: 'closed' }]);
  });

  it('When a worker is killed over and over, Then no try is used up', async () => {
    await lay();
    for (let time = 0; time < 2 * TRIES_MAX; time++) {
      expect(await claimWork(world.database, [KIND], 1)).toMatchObject([{ tries: 1 }]);
      await passTime(world, 30_000);
    }

    await workerOf(async () => Promise.reject(new WorkError('closed'))).step();

    expect(await queue()).toMatchObject([{ state: 'waiting', tries: 1 }]);
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
    await lay();

    worker.nudge();
    await begun.kept;
    const stopped = worker.stop();
    goOn.keep();
    await stopped;

    expect(await queue()).toEqual([]);
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
    await lay();
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
    await lay();

    await told.kept;
    isDown = false;
    await done.kept;
    await worker.stop();

    expect(errors[0]).toMatchObject({ reason: 'unavailable' });
    expect(await queue()).toEqual([]);
  });
});

describe('Given the state of a queue', () => {
  it('When a worker is asked for it, Then it is counted by kind, and read again only after a while', async () => {
    const [first, second] = await lay(3);
    await world.database.flight({}, [openWork([{ workspaceId: NORTH, kind: 'other', subjectId: 1 }])]);
    const park = (id?: number) =>
      world.owner.query('update work set parked_at = now() where subject_id = $1 and kind = $2', [id, KIND]);
    await park(first);
    await passTime(world, 90_000);
    const worker = workerOf(async () => 'done');

    const status = await worker.readStatus();
    await park(second);

    expect(status).toEqual({ parked: { [KIND]: 1 }, oldestDueSeconds: expect.any(Number) });
    expect(status.oldestDueSeconds).toBeGreaterThanOrEqual(90);
    expect(await worker.readStatus()).toBe(status);
    expect((await workerOf(async () => 'done').readStatus()).parked).toEqual({ [KIND]: 2 });
  });

  it('When nothing is parked or due, Then that is said', async () => {
    await lay(1, NORTH, '2999-01-01T00:00:00Z');

    expect(await workerOf(async () => 'done').readStatus()).toEqual({ parked: {}, oldestDueSeconds: 0 });
  });
});
