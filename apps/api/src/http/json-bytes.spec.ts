import fc from 'fast-check';
import { jsonBytes, jsonBytesInTurns } from './json-bytes.js';

/** Own fields of a resource, with characters of one to four bytes and fields that JSON omits. */
const own = fc.record(
  {
    id: fc.integer(),
    name: fc.string({ unit: 'binary' }),
    symbol: fc.constantFrom('€', '₹', '"\\', '\u2028', '𝄞', '\ud800'),
    amount: fc.constantFrom(null, undefined, -0, 0.1, Number.NaN),
    list: fc.array(fc.constantFrom('a', undefined, null, { b: '€' }), { maxLength: 3 }),
    isSaved: fc.boolean(),
  },
  { requiredKeys: [] },
);

type Resource = Record<string, unknown>;

/** Pages whose resources share accounts, at several depths. */
const pages = fc
  .record({
    accounts: fc.array(own, { minLength: 1, maxLength: 3 }),
    items: fc.array(fc.tuple(own, fc.nat(), fc.nat(), fc.constantFrom('first', 'last', 'none')), { minLength: 1 }),
  })
  .map(({ accounts, items }): Resource[] => {
    const shared = accounts.map((account): Resource => ({ ...account, edges: { currency: { code: 'EUR' } } }));
    return items.map(([fields, one, other, place]) => {
      const account = shared[one % shared.length];
      const transfers = [account, null, shared[other % shared.length], { edges: {} }, { edges: null }];
      const edges = {
        account,
        missing: undefined,
        nothing: null,
        transaction: { id: 1, edges: { transfers, account } },
      };
      if (place === 'none') return { ...fields, edges: {} };
      return place === 'first' ? { edges, ...fields } : { ...fields, edges };
    });
  });

const expected = (payload: unknown) => JSON.stringify(payload);

describe('the bytes of a response', () => {
  it('are those of JSON.stringify', () => {
    fc.assert(
      fc.property(pages, (page) => {
        expect(jsonBytes(page).toString()).toBe(Buffer.from(expected(page)).toString());
      }),
      { numRuns: 300 },
    );
  });

  it.each([[[]], [{ id: 1 }], [[1, 'two', null]], ['text'], [null], [[{ edges: {} }]]])(
    'are those of %j',
    (payload) => {
      expect(jsonBytes(payload).toString()).toBe(expected(payload));
    },
  );

  it('are the same if they are written in several turns, for several pages at once', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(pages, { minLength: 1, maxLength: 3 }), async (some) => {
        const long = some.map((page) => Array.from({ length: 120 }, (_, index) => page[index % page.length]));
        const all = [...long, [], [{ id: 1 }, undefined]];
        const written = await Promise.all(all.map(jsonBytesInTurns));
        expect(written.map(String)).toEqual(all.map((page) => Buffer.from(expected(page)).toString()));
      }),
      { numRuns: 20 },
    );
  });

  it('fit a page that is larger than the buffer, and the page after it', () => {
    const account = { id: 1, name: '€'.repeat(10_000), edges: {} };
    const page = Array.from({ length: 500 }, (_, id) => ({ id, edges: { account, other: { edges: { account } } } }));

    for (const payload of [page, page.slice(0, 1)]) expect(jsonBytes(payload).toString()).toBe(expected(payload));
  });

  it('are not those of the response before, also after one that is no JSON', () => {
    const account: Resource = { id: 1, edges: {} };
    const page = [{ edges: { account, other: account } }];
    jsonBytes(page);
    account['id'] = 2;

    expect(jsonBytes(page).toString()).toBe(expected(page));
    account['id'] = 3n;
    expect(() => jsonBytes(page)).toThrow('BigInt');
    account['id'] = 4;
    expect(jsonBytes(page).toString()).toBe(expected(page));
  });
});
