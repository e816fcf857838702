import { bind, sqlStatement } from '../sql-statement.js';
import { dropDatabase, published } from './fresh-database.js';
import { freshDatabase } from './index.js';

const whoAndWhere = sqlStatement<{ role: string; name: string; notes: number }>(
  'testing.who',
  'select current_user as role, current_database() as name, (select count(*)::int from note) as notes',
);

describe('a fresh database', () => {
  it('has the tables of the template, and is used as the service uses it', async () => {
    const world = await freshDatabase();

    const row = await world.database.read({}, bind(whoAndWhere));

    expect(row).toMatchObject({ role: 'banking_operator', notes: 0 });
    await world.close();
  });

  it('belongs to one spec, and row-level security does not bind its owner', async () => {
    const [one, other] = await Promise.all([freshDatabase(), freshDatabase()]);

    await one.owner.query(`insert into note (workspace_id, id, text) values (7, 1, 'here')`);

    expect((await one.owner.query('select workspace_id from note')).rows).toEqual([{ workspace_id: 7n }]);
    expect((await other.owner.query('select workspace_id from note')).rows).toEqual([]);
    await Promise.all([one.close(), other.close()]);
  });

  it('is dropped by close, which may be called again', async () => {
    const world = await freshDatabase();
    const witness = await freshDatabase();
    const name = (await world.database.read({}, bind(whoAndWhere)))?.name;

    await world.close();
    await world.close();

    const left = await witness.owner.query('select from pg_database where datname = $1', [name]);
    expect(left.rowCount).toBe(0);
    await witness.close();
  });

  it('is the only kind that is dropped', async () => {
    await expect(dropDatabase(published(), 'postgres')).rejects.toThrow('not a database of this test run');
  });
});
