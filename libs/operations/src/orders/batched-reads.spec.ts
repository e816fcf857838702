import { sql } from '@banking/postgres/testing';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { BatchedReads } from './batched-reads.js';

let world: TestDatabase;

beforeAll(async () => {
  world = await emptyDatabase();
});
afterAll(() => world.close());

/** Reads halves of numbers from the database, and records the size of each batch. */
function halves() {
  const sizes: number[] = [];
  const reads = new BatchedReads<string, string>(async (texts) => {
    sizes.push(texts.length);
    const [rows] = await world.database.pipeline({}, [
      sql<{ half: string }>('select (text::numeric / 2)::text as half from unnest($1::text[]) as asked (text)', texts),
    ] as const);
    return rows.map(({ half }) => half);
  });
  return { sizes, reads };
}

describe('batched reads', () => {
  it('read the items of one turn in one round trip', async () => {
    const { sizes, reads } = halves();

    const results = await Promise.all(['2', '4', '6'].map((text) => reads.read(text)));

    expect(results.map(Number)).toEqual([1, 2, 3]);
    expect(sizes).toEqual([3]);
  });

  it('fail only the item that the database rejects', async () => {
    const { sizes, reads } = halves();

    const results = await Promise.allSettled(['2', 'two', '6'].map((text) => reads.read(text)));

    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(sizes).toEqual([3, 2, 1, 1, 1]);
  });

  it('fail all items of a failed read, without a retry', async () => {
    let tries = 0;
    const reads = new BatchedReads<number, number>(() => Promise.reject(new Error(`failed ${++tries}`)));

    const results = await Promise.allSettled([reads.read(1), reads.read(2)]);

    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(tries).toBe(1);
  });
});
