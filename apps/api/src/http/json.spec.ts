import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OpenAPIObject } from '@nestjs/swagger';
import fc from 'fast-check';
import fastify from 'fastify';
import { jsonBytes, jsonBytesInTurns, readJsonBodies } from './json.js';

describe('the bodies that are read', () => {
  const server = fastify();
  readJsonBodies(server);
  server.post('/', () => 'read');
  server.setErrorHandler((error, _, reply) => reply.code(400).send((error as Error).message));
  afterAll(() => server.close());

  const answerTo = async (value: unknown) => {
    const headers = { 'content-type': 'application/json' };
    return (await server.inject({ method: 'POST', url: '/', headers, payload: JSON.stringify(value) })).payload;
  };
  const objectOf = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`f${at}`, at]));
  const deep = (levels: number): unknown => (levels === 0 ? 1 : { a: deep(levels - 1) });

  it.each([
    ['8 levels', deep(8), deep(9)],
    ['64 fields of an object', { a: [objectOf(64), objectOf(64)] }, { a: [objectOf(65)] }],
    ['1,000 items of a list', { a: Array(1_000).fill(1) }, { a: Array(1_001).fill(1) }],
  ])('have at most %s', async (_, read, refused) => {
    expect(await answerTo(read)).toBe('read');
    expect(await answerTo(refused)).toBe(
      'The body is nested deeper than 8 levels, or has an object with more than 64 fields or a list with more than 1000 items.',
    );
  });

  it('have each list at its documented maximum', async () => {
    const path = join(__dirname, '../../openapi.json');
    const { paths, components } = JSON.parse(readFileSync(path, 'utf8')) as OpenAPIObject;
    const longest = new Set<number>();

    for (const { requestBody } of Object.values(paths).flatMap((item) => Object.values(item) as Operation[])) {
      if (requestBody) expect(await answerTo(largest(requestBody.content['application/json'].schema))).toBe('read');
    }
    expect([...longest]).toEqual(expect.arrayContaining([20, 50, 100]));

    /** All properties, and as many items as the document allows. */
    function largest({ $ref, allOf = [], properties = {}, items, maxItems = 1 }: Schema): unknown {
      if ($ref !== undefined) return largest(components!.schemas![$ref.split('/').at(-1)!] as Schema);
      if (items) {
        longest.add(maxItems);
        return Array.from({ length: maxItems }, () => largest(items));
      }
      const inherited = allOf.map((one) => largest(one) as object);
      const own = Object.entries(properties).map(([name, schema]) => [name, largest(schema)]);
      return Object.assign({}, ...inherited, Object.fromEntries(own)) as object;
    }
  });
});

interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly maxItems?: number;
}

interface Operation {
  readonly requestBody?: { readonly content: { readonly 'application/json': { readonly schema: Schema } } };
}

describe('the bytes of a response', () => {
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
