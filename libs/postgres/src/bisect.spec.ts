import * as fc from 'fast-check';
import { DatabaseError } from 'pg';
import { bisect } from './batched-calls.js';

const rejection = () => new DatabaseError('rejected', 8, 'error');

/** Runs batches and rejects each that contains a bad item. */
function batches(isBad: (item: number) => boolean) {
  const sizes: number[] = [];
  const run = async (items: readonly number[]) => {
    sizes.push(items.length);
    if (items.some(isBad)) throw rejection();
    return items.map((item) => `done ${item}`);
  };
  return { sizes, run };
}

describe('a batch that the database rejects', () => {
  it('is run in halves until only the bad items fail', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.boolean(), { minLength: 1, maxLength: 70 }), async (bad) => {
        const { run } = batches((item) => bad[item] === true);

        const results = await bisect([...bad.keys()], run, (item) => `failed ${item}`);

        expect(results).toEqual(bad.map((isBad, item) => `${isBad ? 'failed' : 'done'} ${item}`));
      }),
    );
  });

  it('needs about two runs for each halving if one of many items is bad', async () => {
    const { sizes, run } = batches((item) => item === 37);

    await bisect(
      Array.from({ length: 64 }, (_, index) => index),
      run,
      () => 'failed',
    );

    expect(sizes).toHaveLength(13);
  });
});

describe('a batch that fails for another reason', () => {
  it('is not repeated, and each of its items has the error', async () => {
    let runs = 0;
    const run = () => {
      runs += 1;
      return Promise.reject(new Error('gone'));
    };

    const results = await bisect([1, 2, 3], run, (item, { message }) => `${item} ${message}`);

    expect(results).toEqual(['1 gone', '2 gone', '3 gone']);
    expect(runs).toBe(1);
  });

  it('does not change the results of earlier halves', async () => {
    const run = async (items: readonly number[]) => {
      if (items.length === 4) throw rejection();
      if (items.includes(3)) throw new Error('gone');
      return items.map(String);
    };

    expect(await bisect([1, 2, 3, 4], run, (_, { message }) => message)).toEqual(['1', '2', 'gone', 'gone']);
  });
});
