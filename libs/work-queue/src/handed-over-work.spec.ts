import { until } from '@banking/postgres/testing';
import { type Claim, claimWork } from './claims.js';
import { deferred, KIND, NORTH, openQueue, passTime, type Queue } from './testing/queue.js';
import type { WorkHandler } from './work-handler.js';
import type { FreshWork, Worker } from './worker.js';

let queue: Queue;

beforeAll(async () => {
  queue = await openQueue();
});
afterEach(() => queue.world.owner.query('delete from work'));
afterAll(() => queue.world.close());

/** Handed-over work would begin by itself after a moment. In these specs it begins with a step, however slow the machine is. */
beforeEach(() => {
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask', 'setInterval', 'Date', 'performance', 'hrtime'],
  });
});
afterEach(() => jest.useRealTimers());

const LEASE_EXPIRED_MS = 31_000;

/** Writes work as claimed, as a process does that hands it over. */
async function write(...subjects: number[]): Promise<FreshWork[]> {
  await queue.world.owner.query(
    `insert into work (workspace_id, kind, subject_id, leased_until, fence)
     select ${NORTH}, '${KIND}', s, clock_timestamp() + interval '30 s', 1 from unnest($1::bigint[]) s`,
    [subjects],
  );
  return subjects.map((subjectId) => ({ workspaceId: NORTH, subjectId, rail: '', note: `note ${subjectId}` }));
}

/** A worker that keeps in mind what it was given. */
function seeing(concurrency = 8, run: WorkHandler['run'] = () => Promise.resolve('done')) {
  const seen: Claim[] = [];
  const worker = queue.workerOf(
    (claim, signal) => {
      seen.push(claim);
      return run(claim, signal);
    },
    { concurrency },
  );
  return { worker, seen };
}

function handOver(worker: Worker, work: readonly FreshWork[]): void {
  const reservation = worker.reserve(KIND, work.length)!;
  reservation.take(work);
  reservation.release();
}

const subjectsOf = (claims: readonly Claim[]) => claims.map(({ subjectId }) => subjectId);

describe('work that was written as claimed and handed over', () => {
  it('is done with what it was written with, and its result is recorded under the claim', async () => {
    const { worker, seen } = seeing();
    handOver(worker, await write(1, 2));

    expect(await worker.step()).toBe(2);

    expect(seen).toMatchObject([
      { subjectId: 1, fence: 1n, tries: 1, fresh: { note: 'note 1' } },
      { subjectId: 2, fence: 1n, tries: 1, fresh: { note: 'note 2' } },
    ]);
    expect(await queue.list()).toEqual([]);
  });

  it('belongs to no other worker, until its process has ended and its lease has', async () => {
    await write(1);
    const { worker, seen } = seeing();
    await worker.step();
    expect(seen).toEqual([]);

    await passTime(queue.world, LEASE_EXPIRED_MS);
    await worker.step();

    expect(seen).toMatchObject([{ subjectId: 1, fence: 2n }]);
    expect(seen[0]).not.toHaveProperty('fresh');
    expect(await queue.list()).toEqual([]);
  });

  it('is left out where another worker has claimed it before it has begun', async () => {
    const { worker, seen } = seeing();
    handOver(worker, await write(1, 2));
    await queue.world.owner.query(`update work set leased_until = now() - interval '1 s' where subject_id = 1`);
    const [other] = await claimWork(queue.world.database, [KIND], 1);

    await worker.beat();
    await worker.step();

    expect(subjectsOf(seen)).toEqual([2]);
    expect(await queue.list()).toMatchObject([{ subjectId: other!.subjectId, state: 'running' }]);
  });

  it('has its lease renewed before it has begun', async () => {
    const { worker, seen } = seeing();
    handOver(worker, await write(1));
    await passTime(queue.world, 20_000);
    await worker.beat();
    await passTime(queue.world, 20_000);

    await worker.step();

    expect(subjectsOf(seen)).toEqual([1]);
    expect(await queue.list()).toEqual([]);
  });

  it('starts with what else has gathered, without a step', async () => {
    jest.useRealTimers();
    const done = deferred();
    const { worker, seen } = seeing(8, () => {
      done.resolve();
      return Promise.resolve('done');
    });
    handOver(worker, await write(1));

    await done.promise;
    await worker.stop();

    expect(subjectsOf(seen)).toEqual([1]);
  });
});

describe('a worker', () => {
  it('reserves half of its space, and none for work that it does not do', async () => {
    const { worker } = seeing(6);

    const first = worker.reserve(KIND, 2)!;
    const second = worker.reserve(KIND, 2)!;
    expect([first.space, second.space, worker.reserve(KIND, 1), worker.reserve('other', 1)]).toEqual([
      ...[2, 1],
      ...[undefined, undefined],
    ]);

    first.release();
    first.release();
    expect(worker.reserve(KIND, 3)?.space).toBe(2);
  });

  it('has no space while all that it may do is running, and begins what has gathered afterwards', async () => {
    const [begun, end] = [deferred(), deferred()];
    const { worker, seen } = seeing(1, async ({ fresh }) => {
      begun.resolve();
      if (!fresh) await end.promise;
      return 'done';
    });
    const reservation = worker.reserve(KIND, 1)!;
    const [claimed = 0] = await queue.enqueue();
    const step = worker.step();
    await begun.promise;
    reservation.release();
    expect(worker.reserve(KIND, 1)).toBeUndefined();

    reservation.take(await write(900_000));
    const next = worker.step();
    expect(subjectsOf(seen)).toEqual([claimed]);
    end.resolve();
    await Promise.all([step, next]);
    await worker.step();
    expect(subjectsOf(seen)).toEqual([claimed, 900_000]);
  });

  it('does work of the queue beside as much as is handed over', async () => {
    const end = deferred();
    const { worker, seen } = seeing(4, async ({ fresh }) => {
      if (fresh) await end.promise;
      return 'done';
    });
    handOver(worker, await write(900_001, 900_002));
    const queued = await queue.enqueue(3);

    const step = worker.step();
    jest.useRealTimers();
    await until(
      () => Promise.resolve(seen.length),
      (count) => count >= 4,
    );
    expect(worker.reserve(KIND, 1)).toBeUndefined();
    expect(subjectsOf(seen).filter((id) => queued.includes(id))).toHaveLength(2);
    end.resolve();
    await step;
  });

  it('that stops does what was handed over before, and leaves the rest to the queue', async () => {
    const { worker, seen } = seeing();
    const late = worker.reserve(KIND, 1)!;
    handOver(worker, await write(1));
    await worker.stop();
    expect(subjectsOf(seen)).toEqual([1]);

    late.take(await write(2));
    late.release();
    expect(worker.reserve(KIND, 1)).toBeUndefined();
    await worker.step();
    expect(subjectsOf(seen)).toEqual([1]);

    await passTime(queue.world, LEASE_EXPIRED_MS);
    const other = seeing();
    await other.worker.step();
    expect(subjectsOf(other.seen)).toEqual([2]);
  });
});
