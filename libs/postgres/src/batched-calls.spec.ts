import { DatabaseError } from 'pg';
import { BatchedCalls } from './batched-calls.js';
import { freshDatabase, sql } from './testing/index.js';

/** A promise and the function that resolves it. */
function deferred() {
  let resolve!: () => void;
  const promise = new Promise<void>((settle) => (resolve = settle));
  return { promise, resolve };
}

const rejection = () => new DatabaseError('rejected', 8, 'error');

describe('concurrent calls', () => {
  it('of one turn of the event loop are one batch, and each has its own result', async () => {
    const batches: (readonly number[])[] = [];
    const calls = new BatchedCalls(async (items: readonly number[]) => {
      batches.push(items);
      return items.map((item) => item * 10);
    });

    expect(await Promise.all([1, 2, 3].map((item) => calls.call(item)))).toEqual([10, 20, 30]);
    expect(await calls.call(4)).toBe(40);

    expect(batches).toEqual([[1, 2, 3], [4]]);
  });

  it('that arrive during a batch are the next one', async () => {
    const first = deferred();
    const begun = deferred();
    const batches: (readonly number[])[] = [];
    const calls = new BatchedCalls(async (items: readonly number[]) => {
      batches.push(items);
      if (batches.length === 1) {
        begun.resolve();
        await first.promise;
      }
      return items;
    });

    const early = calls.call(1);
    await begun.promise;
    const late = [calls.call(2), calls.call(3)];
    first.resolve();
    await Promise.all([early, ...late]);

    expect(batches).toEqual([[1], [2, 3]]);
  });

  it('are no more in a batch than it may have', async () => {
    const sizes: number[] = [];
    const calls = new BatchedCalls(async (items: readonly number[]) => {
      sizes.push(items.length);
      return items;
    }, 4);

    await Promise.all(Array.from({ length: 10 }, (_, item) => calls.call(item)));

    expect(sizes).toEqual([4, 4, 2]);
  });
});

describe('a batch of calls that is rejected', () => {
  it('by the database fails only the calls that cause it', async () => {
    const calls = new BatchedCalls(async (items: readonly number[]) => {
      if (items.includes(3)) throw rejection();
      return items;
    });

    const results = await Promise.allSettled([1, 2, 3, 4].map((item) => calls.call(item)));

    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  });

  it('has the results of its first half before the other half is run', async () => {
    const other = deferred();
    const calls = new BatchedCalls(async (items: readonly number[]) => {
      if (items.length === 4) throw rejection();
      if (items.includes(3)) await other.promise;
      return items;
    });

    const [one, two, ...others] = [1, 2, 3, 4].map((item) => calls.call(item));
    expect(await Promise.all([one, two])).toEqual([1, 2]);
    other.resolve();

    expect(await Promise.all(others)).toEqual([3, 4]);
  });

  it('by the server fails the one call that causes it', async () => {
    const world = await freshDatabase();
    const sizes: number[] = [];
    const halves = new BatchedCalls(async (texts: readonly string[]) => {
      sizes.push(texts.length);
      const half = sql<{ half: string }>(
        'select (text::numeric / 2)::text as half from unnest($1::text[]) u (text)',
        texts,
      );
      const [rows] = await world.database.pipeline({}, [half] as const);
      return rows.map(({ half: result }) => Number(result));
    });

    const results = await Promise.allSettled(['2', 'two', '6'].map((text) => halves.call(text)));

    await world.close();
    expect(results).toMatchObject([{ value: 1 }, { status: 'rejected' }, { value: 3 }]);
    expect(sizes).toEqual([3, 2, 1, 1, 1]);
  });

  it('for another reason fails all its calls, and none of the next batch', async () => {
    let runs = 0;
    const calls = new BatchedCalls(async (items: readonly number[]) => {
      runs += 1;
      if (runs === 1) throw new Error('gone');
      return items;
    });

    const results = await Promise.allSettled([1, 2].map((item) => calls.call(item)));

    expect(results).toMatchObject([{ reason: { message: 'gone' } }, { reason: { message: 'gone' } }]);
    expect(await calls.call(3)).toBe(3);
  });
});
