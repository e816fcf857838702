import type { Database } from '@banking/postgres';
import { demoDatabase } from '../testing/test-databases.js';
import { refreshStatistics } from './refresh-statistics.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let database: Database;

beforeEach(async () => {
  world = await demoDatabase();
  database = world.database;
  // Autovacuum would analyze the tables at a time of its own.
  for (const table of ['seal', 'discrepancy'])
    await world.owner.query(`alter table ${table} set (autovacuum_enabled = false)`);
  await world.owner.query('delete from seal');
});
afterEach(() => world.close());

const addSeals = (count: number) =>
  world.owner.query(
    `insert into seal (name, key) select 'seal ' || gen_random_uuid(), sha256('') from generate_series(1, $1)`,
    [count],
  );

async function rowsKnownOf(table: string): Promise<number> {
  const { rows } = await world.owner.query<{ rows: number }>(
    'select reltuples::int as rows from pg_class where oid = $1::regclass',
    [table],
  );
  return rows[0]!.rows;
}

describe('statistics of the planner', () => {
  it('are made for every table with rows, and not made again', async () => {
    await addSeals(10);

    await refreshStatistics(database);

    expect(await rowsKnownOf('seal')).toBe(10);
    expect(await refreshStatistics(database)).toBe(0);
  });

  it('are not made for an empty table', async () => {
    await refreshStatistics(database);

    expect(await rowsKnownOf('discrepancy')).toBe(-1);
  });

  it('are made again when a table has doubled', async () => {
    await addSeals(10);
    await refreshStatistics(database);
    await addSeals(100);
    expect(await refreshStatistics(database)).toBe(0);

    await addSeals(5_000);
    await refreshStatistics(database);

    expect(await rowsKnownOf('seal')).toBe(5_110);
  });

  it('are made again after the server has lost its counters, as after a crash', async () => {
    await addSeals(10);
    await refreshStatistics(database);
    await addSeals(100);
    await world.owner.query(`select pg_stat_reset()`);

    await refreshStatistics(database);

    expect(await rowsKnownOf('seal')).toBe(110);
  });

  it('are left to the session that makes them', async () => {
    await addSeals(10);
    await world.owner.query('begin');
    await world.owner.query(`select pg_advisory_xact_lock(hashtextextended('banking.statistics', 0))`);

    expect(await refreshStatistics(database)).toBe(0);

    await world.owner.query('rollback');
    expect(await refreshStatistics(database)).toBeGreaterThan(0);
  });

  it('are not made of a table that is locked, and the others are', async () => {
    await addSeals(10);
    await world.owner.query('begin');
    await world.owner.query('lock table seal in access exclusive mode');

    expect(await refreshStatistics(database)).toBeGreaterThan(1);

    await world.owner.query('rollback');
    expect(await rowsKnownOf('seal')).toBe(-1);
    expect(await refreshStatistics(database)).toBe(1);
    expect(await rowsKnownOf('seal')).toBe(10);
  });

  it('are not made in a read-only transaction, as on a standby', async () => {
    await addSeals(10);

    await world.owner.query('begin read only');
    const { rows } = await world.owner.query<{ analyzed: number | null }>('select analyze_next_table(0) as analyzed');
    await world.owner.query('rollback');

    expect(rows[0]!.analyzed).toBeNull();
  });
});
