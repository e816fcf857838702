import { RULE_VIOLATION } from '@banking/postgres';
import { sql } from '@banking/postgres/testing';
import { BANKS, CORRIDORS, PRODUCTS } from '@banking/reference';
import { listCorridors } from '../corridors/corridors.js';
import { countDemoReference, loadReference } from './load-reference.js';
import { emptyDatabase, type TestDatabase } from '../testing/test-databases.js';
import { openReading } from '../resources/reading.js';

const TABLES = ['currency', 'product', 'bank', 'corridor'];

let world: TestDatabase;

beforeAll(async () => {
  world = await emptyDatabase();
});
afterAll(() => world.close());

async function everything(): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const table of TABLES) rows.push((await world.owner.query(`select * from ${table} order by id`)).rows);
  return rows;
}

describe('loaded reference data', () => {
  it('does not change if two processes load it again', async () => {
    const before = await everything();

    await Promise.all([loadReference(world.database, { demo: true }), loadReference(world.database, { demo: true })]);

    expect(await everything()).toEqual(before);
    for (const rows of before) expect(rows).not.toHaveLength(0);
  });

  it('keeps the limits and the status that an operator has set for a corridor', async () => {
    const [first] = await listCorridors(openReading(world.database), true, 'DE');
    await world.owner.query(
      `update corridor set enabled = false, delivery_tat = 'T+9', maximum_amount = 7000000 where id = $1`,
      [first!.id],
    );

    await loadReference(world.database, { demo: true });

    const again = (await listCorridors(openReading(world.database), true, 'DE')).find(({ id }) => id === first!.id);
    expect(again).toEqual({ ...first, enabled: false, deliveryTAT: 'T+9', maximumAmount: '7000000' });
  });

  it('restores ISO values of a currency and keeps the others', async () => {
    await world.owner.query(
      `update currency set name = 'Money', swift_minimum_withdrawal_amount = 123 where code = 'USD'`,
    );

    await loadReference(world.database, { demo: true });

    const { rows } = await world.owner.query(
      `select name, swift_minimum_withdrawal_amount::int as least from currency where code = 'USD'`,
    );
    expect(rows).toEqual([{ name: 'US Dollar', least: 123 }]);
  });

  it('is marked as demo, until a deployment has set it', async () => {
    const before = await countDemoReference(world.database);
    expect(before).toEqual({ corridors: CORRIDORS.length, minimums: 16 });
    await world.owner.query(
      `update corridor set is_demo = false, delivery_tat = 'T+3' where id = 1;
       update currency set swift_minimum_is_demo = false where code = 'USD'`,
    );

    await loadReference(world.database, { demo: true });

    expect(await countDemoReference(world.database)).toEqual({ corridors: CORRIDORS.length - 1, minimums: 15 });
  });

  it('refuses other decimals of a currency in the database', async () => {
    const change = world.database.pipeline({}, [sql(`update currency set decimals = 0 where code = 'USD'`)]);

    await expect(change).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
  });
});

describe('reference data without that of the demo', () => {
  it('has currencies, products and banks, and no figures that are invented', async () => {
    const bare = await emptyDatabase({
      name: 'no-demo',
      prepare: ({ database }) => loadReference(database, { demo: false }),
    });

    const { rows } = await bare.owner.query(
      `select (select count(*)::int from corridor) as corridors, (select count(*)::int from product) as products,
              (select count(*)::int from bank) as banks, (select count(swift_minimum_withdrawal_amount)::int from currency) as minimums`,
    );
    const counted = await countDemoReference(bare.database);
    await bare.close();

    expect(rows).toEqual([{ corridors: 0, products: PRODUCTS.length, banks: BANKS.length, minimums: 0 }]);
    expect(counted).toEqual({ corridors: 0, minimums: 0 });
  });
});
