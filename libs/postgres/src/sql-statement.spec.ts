import * as fc from 'fast-check';
import { OWNER_ROLE, SCHEMA } from './names.js';
import { bind, compositeOf, sqlStatement } from './sql-statement.js';
import { freshDatabase, type FreshDatabase } from './testing/index.js';

describe('a statement', () => {
  it('has a name that is unique to its text', () => {
    sqlStatement('statement.twice', 'select 1');

    expect(sqlStatement('statement.twice', 'select 1')).toEqual({ name: 'statement.twice', text: 'select 1' });
    expect(() => sqlStatement('statement.twice', 'select 2')).toThrow('two statements are named "statement.twice"');
  });

  it.each(['', 'n'.repeat(64), 'ü'.repeat(32)])('cannot be named %j', (name) => {
    expect(() => sqlStatement(name, 'select 1')).toThrow('1 to 63 bytes');
  });

  it.each([[() => 1], [Symbol('s')], [{ amount: 1n }], [new Date(NaN)]])('cannot be bound to %p', (value) => {
    expect(() => bind(sqlStatement('statement.one', 'select $1'), value)).toThrow();
  });
});

describe('a text in a list or in a field', () => {
  const special = fc.constantFrom('"', '\\', '\n', '\u0000', '\u007f', '\u2028', '\ud83d\ude00', '\ud800', 'é', ' ');
  const texts = fc.string({ unit: fc.oneof(special, fc.string({ unit: 'binary', minLength: 1, maxLength: 1 })) });

  it('has a backslash before each quote and backslash, and is otherwise unchanged', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const quoted = `"${text.replace(/["\\]/g, '\\$&')}"`;
        expect(bind(sqlStatement('statement.quoted', 'select $1'), [text]).values).toEqual([`{${quoted}}`]);
        expect(compositeOf([`,${text}`])).toBe(`(",${quoted.slice(1)})`);
      }),
    );
  });
});

describe('values that are sent to the server and read back', () => {
  let world: FreshDatabase;
  const echo = <Value>(name: string, type: string) =>
    sqlStatement<{ value: Value }>(`statement.echo-${name}`, `select $1::${type} as value`);

  beforeAll(async () => {
    world = await freshDatabase();
  });
  afterAll(() => world.close());

  it('keep every digit of a bigint', async () => {
    const values = [0n, -1n, 9_007_199_254_740_993n, 9_223_372_036_854_775_807n, -9_223_372_036_854_775_808n];

    const list = await world.database.read({}, bind(echo<bigint[]>('int8-list', 'bigint[]'), values));
    const single = await world.database.read({}, bind(echo<bigint>('int8', 'bigint'), values[2]));

    expect(list?.value).toEqual(values);
    expect(single?.value).toBe(9_007_199_254_740_993n);
  });

  it.each([
    ['numeric', '12345678901234567890.10', '12345678901234567890.10'],
    ['numeric[]', ['0.1', null], ['0.1', null]],
    ['timestamptz', '2026-02-03T04:05:06.789012+02:00', '2026-02-03 02:05:06.789012+00'],
    ['timestamptz', new Date('2026-02-03T04:05:06.789Z'), '2026-02-03 04:05:06.789+00'],
    ['date', '2026-02-03', '2026-02-03'],
    ['interval', '1 day 02:03:04', '1 day 02:03:04'],
    ['boolean', true, true],
    ['int', 42, 42],
    ['text', undefined, null],
    ['jsonb', { a: ['x', 1, null] }, { a: ['x', 1, null] }],
    ['jsonb', JSON.stringify([1, 'two']), [1, 'two']],
    ['bytea', Buffer.from([0, 255, 92]), Buffer.from([0, 255, 92])],
    ['bytea', new Uint8Array([1, 2]), Buffer.from([1, 2])],
    ['bytea[]', [Buffer.from([0, 92])], [Buffer.from([0, 92])]],
    [
      'int[]',
      [
        [1, 2],
        [3, 4],
      ],
      [
        [1, 2],
        [3, 4],
      ],
    ],
    ['jsonb[]', [{ a: '"}\\' }], [{ a: '"}\\' }]],
    ['boolean[]', [true, false], [true, false]],
  ])('have the type %s: %j is read as %j', async (type, sent, read) => {
    const row = await world.database.read({}, bind(echo(type, type), sent));

    expect(row?.value).toEqual(read);
  });

  it('keep JSON as text where the statement casts it to text', async () => {
    const asText = sqlStatement<{ json: string }>(
      'statement.json-text',
      `select json_build_object('n', $1::bigint)::text as json`,
    );

    const row = await world.database.read({}, bind(asText, 9_007_199_254_740_993n));

    expect(row?.json).toBe('{"n" : 9007199254740993}');
  });

  it('keep any fields in a list of composite values', async () => {
    await world.owner.query(
      `set role ${OWNER_ROLE}; create type ${SCHEMA}.mixed as (first text, number bigint, bytes bytea, members jsonb, last text); reset role`,
    );
    const back = sqlStatement<{
      first: string | null;
      number: bigint | null;
      bytes: Buffer | null;
      members: unknown;
      last: string | null;
    }>(
      'statement.composites',
      'select (m).* from unnest($1::mixed[]) with ordinality u (first, number, bytes, members, last, n) cross join lateral (select row(first, number, bytes, members, last)::mixed as m) x order by n',
    );
    const text = fc.option(fc.string({ unit: 'binary' }).map((value) => value.replaceAll('\0', '')));
    const row = fc.record({
      first: text,
      number: fc.option(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
      bytes: fc.option(fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes))),
      members: fc.option(
        fc.dictionary(fc.stringMatching(/^[a-z"\\,(){} ]{1,6}$/), fc.stringMatching(/^[a-z"\\,(){} ]{0,6}$/), {
          noNullPrototype: true,
        }),
      ),
      last: text,
    });

    await fc.assert(
      fc.asyncProperty(fc.array(row, { maxLength: 4 }), async (rows) => {
        const values = rows.map(({ first, number, bytes, members, last }) =>
          compositeOf([first, number, bytes, members, last]),
        );
        const [received] = await world.database.pipeline({}, [bind(back, values)] as const);
        expect(received).toEqual(rows);
      }),
    );
  });

  it('keep any text, alone and in a list', async () => {
    const text = fc.string({ unit: 'binary' }).filter((value) => !value.includes('\0'));

    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(text)), async (values) => {
        const [list, single] = await world.database.pipeline({}, [
          bind(echo<(string | null)[]>('text-list', 'text[]'), values),
          bind(echo<string | null>('text', 'text'), values[0]),
        ]);

        expect(list[0]?.value).toEqual(values);
        expect(single[0]?.value).toEqual(values[0] ?? null);
      }),
      { numRuns: 50 },
    );
  });
});
