import type { Database } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { demoDatabase } from '../testing/test-databases.js';
import { refreshStatistics } from './start-banking-worker.js';

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

describe('a statement that a session has prepared', () => {
  interface Plan {
    readonly 'Plan Rows': number;
    readonly Plans?: readonly Plan[];
  }

  /** The rows that the cached plan expects of the table. */
  async function rowsExpected(): Promise<number> {
    const { rows } = await world.owner.query<{ 'QUERY PLAN': readonly [{ readonly Plan: Plan }] }>(
      `explain (format json) execute later_seals('')`,
    );
    let plan = rows[0]!['QUERY PLAN'][0].Plan;
    while (plan.Plans) plan = plan.Plans[0]!;
    return plan['Plan Rows'];
  }

  async function genericPlans(): Promise<number> {
    const { rows } = await world.owner.query<{ plans: number }>(
      `select generic_plans::int as plans from pg_prepared_statements where name = 'later_seals'`,
    );
    return rows[0]!.plans;
  }

  it('is planned again after the statistics of its tables were made, without a new connection', async () => {
    await addSeals(10);
    await world.owner.query('prepare later_seals (text) as select count(*) from seal where name > $1');
    await until(async () => {
      await world.owner.query(`execute later_seals('')`);
      return (await genericPlans()) > 0;
    });
    const before = await rowsExpected();
    await addSeals(5_000);
    expect(await rowsExpected()).toBe(before);

    await refreshStatistics(database);

    expect(await rowsExpected()).toBeGreaterThan(1_000);
  });
});
