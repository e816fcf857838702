import { OWNER_ROLE } from '@banking/postgres';
import { demoDatabase } from '../testing/test-databases.js';

type World = Awaited<ReturnType<typeof demoDatabase>>;

const LARGE = 1;
const RUNS = 20_000;
const FIRST = 1_000_000;

let world: World;

/** Half of the runs are of one workspace, and the others of 5,000 workspaces. */
beforeAll(async () => {
  world = await demoDatabase();
  const { owner } = world;
  await owner.query('set session_replication_role = replica');
  await owner.query(
    `insert into customer_order
     select r.* from (select * from customer_order limit 1) o
     cross join generate_series($1::bigint, $1 + 2 * $2::bigint) n
     cross join lateral jsonb_populate_record(null::customer_order, to_jsonb(o) || jsonb_build_object(
       'id', n, 'workspace_id', case when n % 2 = 0 then $3::bigint else 1 + n % 5000 end, 'external_reference', null)) r`,
    [FIRST, RUNS, LARGE],
  );
  await owner.query(
    `insert into execution (workspace_id, id, order_id, sequence, status, scheduled_at, executed_at, transaction_id)
     select workspace_id, id, id, 1, 'completed', now(), now(), id from customer_order where id >= $1`,
    [FIRST],
  );
  await owner.query('reset session_replication_role');
  await owner.query('analyze customer_order, execution');
});

afterAll(() => world.close());

describe('the run of a payment', () => {
  const QUERIES = {
    'is found':
      'select count(f.id)::int as found from unnest($1::bigint[]) i left join execution_of_payment($2, i) f on true',
    'is found to be approved':
      'select count(*) filter (where is_payment_approved($2, i))::int as found from unnest($1::bigint[]) i',
  };

  async function rowsRead(): Promise<number> {
    const { rows } = await world.owner.query<{ rows: number }>(
      `select sum(seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables where relname in ('execution', 'customer_order')`,
    );
    return rows[0]!.rows;
  }

  it.each(
    Object.entries(QUERIES).flatMap(([name, query]) =>
      ['force_custom_plan', 'force_generic_plan'].map((mode) => [name, mode, query] as const),
    ),
  )('%s by its key where its workspace is one large one of thousands, by %s', async (_, mode, query) => {
    const { owner } = world;
    await owner.query('begin');
    try {
      await owner.query(`set local role ${OWNER_ROLE}; set local plan_cache_mode = ${mode}`);
      await owner.query(`select set_config('app.workspaces', $1, true)`, [`{${LARGE}}`]);

      const before = await rowsRead();
      // The last run of the workspace, and two payments without one.
      const { rows } = await owner.query(query, [[FIRST + 2 * RUNS, 1, 2], LARGE]);

      expect(rows).toEqual([{ found: 1 }]);
      expect((await rowsRead()) - before).toBeLessThan(10);
    } finally {
      await owner.query('rollback');
    }
  });
});
