import { listCorridors } from './list-corridors.js';
import { loadReference } from './load-reference.js';
import { emptyWorld, sql, type World } from './testing/worlds.js';

const TABLES = ['currency', 'product', 'bank', 'corridor'];

let world: World;

beforeAll(async () => {
  world = await emptyWorld();
});
afterAll(() => world.close());

async function everything(): Promise<unknown[]> {
  const rows: unknown[] = [];
  for (const table of TABLES) rows.push((await world.owner.query(`select * from ${table} order by id`)).rows);
  return rows;
}

describe('Given reference data that has been loaded', () => {
  it('When it is loaded again, by two at once, Then no row changes, nor its time', async () => {
    const before = await everything();

    await Promise.all([loadReference(world.database), loadReference(world.database)]);

    expect(await everything()).toEqual(before);
    for (const rows of before) expect(rows).not.toHaveLength(0);
  });

  it('When an operator has closed a corridor and set its limits, Then they stay as they were set', async () => {
    const [first] = await listCorridors(world.database, 'DE');
    await world.owner.query(
      `update corridor set enabled = false, delivery_tat = 'T+9', maximum_amount = 7000000 where id = $1`,
      [first!.id],
    );

    await loadReference(world.database);

    const again = (await listCorridors(world.database, 'DE')).find(({ id }) => id === first!.id);
    expect(again).toEqual({ ...first, enabled: false, deliveryTAT: 'T+9', maximumAmount: '7000000' });
  });

  it('When what ISO says of a currency was changed, Then it is brought back, and what was set beside it stays', async () => {
    await world.owner.query(
      `update currency set name = 'Money', swift_minimum_withdrawal_amount = 123 where code = 'USD'`,
    );

    await loadReference(world.database);

    const { rows } = await world.owner.query(
      `select name, swift_minimum_withdrawal_amount::int as least from currency where code = 'USD'`,
    );
    expect(rows).toEqual([{ name: 'US Dollar', least: 123 }]);
  });

  it('When the decimals of a currency are changed, Then the database refuses it', async () => {
    const change = world.database.flight({}, [sql(`update currency set decimals = 0 where code = 'USD'`)]);

    await expect(change).rejects.toMatchObject({ code: 'BK016' });
  });
});
