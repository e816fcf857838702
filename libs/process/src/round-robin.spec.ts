import * as fc from 'fast-check';
import { RoundRobin } from './round-robin.js';

/** An item with its key and its position in the queue of that key. */
interface Item {
  readonly key: number;
  readonly at: number;
}

const lengths = fc.array(fc.nat({ max: 20 }), { minLength: 1, maxLength: 8 });

function filled(rowLengths: readonly number[]): RoundRobin<number, Item> {
  const rows = new RoundRobin<number, Item>();
  rowLengths.forEach((length, key) => {
    for (let at = 0; at < length; at += 1) rows.push(key, { key, at });
  });
  return rows;
}

function takeAll(rows: RoundRobin<number, Item>, mayTake?: (item: Item) => boolean): Item[] {
  const taken: Item[] = [];
  for (let item = rows.shift(mayTake); item; item = rows.shift(mayTake)) taken.push(item);
  return taken;
}

describe('queues that take turns', () => {
  it('takes one of each key before a second one of any', () => {
    fc.assert(
      fc.property(lengths, (rowLengths) => {
        const taken = takeAll(filled(rowLengths));
        expect(taken.map(({ at }) => at)).toEqual(taken.map(({ at }) => at).sort((one, other) => one - other));
        expect(taken).toHaveLength(rowLengths.reduce((sum, length) => sum + length, 0));
      }),
    );
  });

  it('takes turns among the items that may be taken, and leaves the others in their order', () => {
    fc.assert(
      fc.property(lengths, fc.func(fc.boolean()), (rowLengths, choose) => {
        const rows = filled(rowLengths);
        const mayTake = ({ key, at }: Item) => choose(key, at);
        const taken = takeAll(rows, mayTake);
        const left = takeAll(rows);

        expect(taken.every(mayTake)).toBe(true);
        expect(left.some(mayTake)).toBe(false);
        for (const items of [taken, left]) {
          for (const key of rowLengths.keys()) {
            const own = items.filter((item) => item.key === key).map(({ at }) => at);
            expect(own).toEqual([...own].sort((one, other) => one - other));
          }
        }
        expect(taken.length + left.length).toBe(rowLengths.reduce((sum, length) => sum + length, 0));
      }),
    );
  });

  it('removes an item once', () => {
    const rows = new RoundRobin<string, string>();
    for (const item of ['a1', 'a2', 'b1']) rows.push(item[0] ?? '', item);
    for (const item of ['a1', 'a1', 'b1', 'c1']) rows.remove(item[0] ?? '', item);

    expect([rows.shift(), rows.shift(), rows.isEmpty]).toEqual(['a2', undefined, true]);
  });
});
