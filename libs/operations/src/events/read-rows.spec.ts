import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { recordAll } from '../testing/event-world.js';

const BATCH = 32;
const READ = `
  select coalesce(sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0)), 0)::int as rows from pg_stat_xact_user_tables
  where schemaname = 'banking' and relname in ('execution', 'customer_order', 'event', 'change_outbox')`;

let given: OrderWorld;
beforeAll(async () => {
  given = await orderWorld();
});
afterAll(() => given.world.close());

it('recording reads as many rows for each event in a workspace with many orders as in one with few', async () => {
  const { world, service, ada, account, near, key, order } = given;
  const payer = await account(1, '1000000');
  const recipient = await near(await account(1, '0'));
  const place = () =>
    Promise.all(Array.from({ length: BATCH }, () => service.placeOrder(ada, order(payer, recipient), key())));
  /** The rows that are read, for each event that is recorded. */
  const recordBatch = async () => {
    await place();
    await world.owner.query('begin');
    // The counters include those of earlier transactions that the session has not reported yet.
    const before = (await world.owner.query<{ rows: number }>(READ)).rows[0]!.rows;
    const { rows } = await world.owner.query<{ recorded: number }>('select record_changes(10000) as recorded');
    const read = await world.owner.query<{ rows: number }>(READ);
    await world.owner.query('commit');
    expect(rows[0]?.recorded).toBe(6 * BATCH);
    return (read.rows[0]!.rows - before) / (6 * BATCH);
  };
  await recordAll(world.database);
  const first = await recordBatch();
  for (let nth = 0; nth < 6; nth += 1) await place();
  await recordAll(world.database);
  const last = await recordBatch();

  expect(first).toBeGreaterThan(0);
  expect(last).toBeLessThan(2 * first);
});
