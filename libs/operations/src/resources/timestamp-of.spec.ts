import { assert, asyncProperty, bigInt } from 'fast-check';
import { isTimestamp } from '@banking/domain';
import { bind, sqlStatement } from '@banking/postgres';
import { emptyDatabase } from '../testing/test-databases.js';
import { timestampOf } from './columns.js';

const WRITTEN = sqlStatement<{ text: string; packed: readonly [string]; expected: string }>(
  'spec.written_times',
  `select t as text, json_build_array(t) as packed, rfc3339(t) as expected
   from (select timestamptz 'epoch' + $1::bigint * interval '1 microsecond' as t) t`,
);

/** 9999-12-30 in microseconds. PostgreSQL multiplies the interval by a double, so the last digits are not those asked for. */
const LAST = 253_402_128_000_000_000n;

let world: Awaited<ReturnType<typeof emptyDatabase>>;

beforeAll(async () => {
  world = await emptyDatabase();
});
afterAll(() => world.close());

it('writes a time of PostgreSQL, of a column and of JSON, as the function rfc3339 does', async () => {
  const micros = bigInt({ min: -LAST / 8n, max: LAST });
  await assert(
    asyncProperty(micros, async (at) => {
      const row = await world.database.read({}, bind(WRITTEN, at.toString()));
      const { text, packed, expected } = row!;
      expect([timestampOf(text), timestampOf(packed[0])]).toEqual([expected, expected]);
      expect(isTimestamp(expected)).toBe(true);
    }),
    { numRuns: 200, examples: [[0n], [1n], [500_000n], [LAST]] },
  );
});
