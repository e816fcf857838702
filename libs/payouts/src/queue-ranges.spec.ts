import type { SqlStatement } from '@banking/postgres';
import { PlanProbe, testOrProve, until } from '@banking/postgres/testing';
import {
  CLAIM_BY_INDEX,
  CLAIM_WORK,
  COUNT_DUE,
  COUNT_PARKED,
  COUNT_UNSERVED,
  LIST_PARKED,
  LIST_PARKED_BATCH,
  LIST_UNPARKED,
  OLDEST_DUE,
} from '@banking/work-queue';
import { COUNT_OPEN_PAYOUTS, SCOPE_OPEN_PAYOUTS } from './open-payouts.js';
import { RECEIVE } from './sandbox-rail.js';
import { openWorld, type World } from './testing/world.js';

describe('a queue of very many rows of which two can be claimed', () => {
  /** The most pages and rows that a poll may read: some index pages for each kind. */
  const COST_MAX = 100;

  /** The service sends a statement in front of these. */
  const CLAIMS: readonly SqlStatement<unknown>[] = [CLAIM_WORK, RECEIVE];
  const openProbe = (statement: SqlStatement<unknown>, types: string) =>
    PlanProbe.open(world, statement, types, CLAIMS.includes(statement) ? CLAIM_BY_INDEX.statement : undefined);

  /** The statements, with the types and values of their parameters. */
  const POLLS: Readonly<Record<string, readonly [SqlStatement<unknown>, string, string]>> = {
    'work is claimed': [
      CLAIM_WORK,
      'text[], text[], int[], bigint[]',
      `array['execution', 'execution', 'payout', 'payout'], array['', 'sandbox', '', 'sandbox'], array[16, 16, 16, 16], array[0, 0, 0, 0]`,
    ],
    'events are received': [RECEIVE, 'int', '100'],
    'parked work is listed': [LIST_PARKED, 'int', '10'],
    'the queue is listed': [LIST_UNPARKED, 'int', '5'],
    'parked work of a kind is released': [LIST_PARKED_BATCH, 'text, timestamptz, bigint', `'few', now(), null`],
    'the longest due work is found': [
      OLDEST_DUE,
      'text[], text[]',
      `array['execution', 'payout'], array['', 'sandbox']`,
    ],
  };

  const ROWS = testOrProve(40_000, 200_000);

  /** Little due work among much other: due later, leased, parked, or of a kind without a handler. */
  const FILL = `
  insert into work (workspace_id, kind, subject_id, due_at)
    select 1, 'execution', n, now() + interval '1 day' from generate_series(1, ${ROWS}) n;
  insert into work (workspace_id, kind, subject_id, due_at) select 1, 'unserved', n, now() - interval '1 day' from generate_series(1, ${ROWS}) n;
  insert into work (workspace_id, kind, subject_id, rail, due_at, leased_until)
    select 1, 'payout', n, 'sandbox', now() - interval '1 day', now() + interval '1 hour' from generate_series(1, ${ROWS / 4}) n;
  insert into work (workspace_id, kind, subject_id, rail, due_at, parked_at)
    select 1, 'payout', n, 'sandbox', now() - interval '2 days', now() from generate_series(${ROWS / 4 + 1}, ${ROWS / 4 + 20_000}) n;
  insert into work (workspace_id, kind, subject_id, parked_at) values (1, 'few', 1, now() - interval '1 s'), (1, 'few', 2, now() + interval '1 day');
  insert into work (workspace_id, kind, subject_id, rail) values (1, 'execution', 900001, ''), (1, 'payout', 900002, 'sandbox');
  insert into sandbox_rail_payment (key, amount, currency) select 'k' || n, 1, 'USD' from generate_series(1, ${ROWS / 2}) n;
  insert into sandbox_rail_event (key, position, provider_event, status, due_at, handed_until, acknowledged)
    select 'k' || n, 0, 'a', 'ACSP', now() - interval '1 day', null::timestamptz, true from generate_series(1, ${ROWS / 2}) n
    union all select 'k' || n, 1, 'b', 'ACSP', now() + interval '1 day', null, false from generate_series(1, ${ROWS / 2}) n
    union all select 'k' || n, 2, 'c', 'ACSP', now() - interval '1 day', now() + interval '1 hour', false from generate_series(1, ${ROWS / 10}) n
    union all select 'k1', 3, 'd', 'ACSP', now(), null, false`;

  let world: World;
  const planned: Record<string, PlanProbe> = {};

  beforeAll(async () => {
    world = await openWorld();
    // An ANALYZE of the server would give statistics too early.
    for (const table of ['work', 'sandbox_rail_payment', 'sandbox_rail_event']) {
      await world.owner.query(`alter table ${table} set (autovacuum_enabled = off)`);
    }
    for (const [name, [text, types, values]] of Object.entries(POLLS)) {
      planned[name] = await openProbe(text, types);
      // Plans are cached, and this one was made for empty tables.
      await planned[name].cost(values);
    }
    await world.owner.query(FILL);
  });
  afterAll(async () => {
    await Promise.all(Object.values(planned).map((probe) => probe.close()));
    await world.close();
  });

  async function costs() {
    const costByPoll: Record<string, number> = {};
    for (const [name, [text, types, values]] of Object.entries(POLLS)) {
      const fresh = await openProbe(text, types);
      for (const [when, probe] of [
        ['before', planned[name]!],
        ['now', fresh],
      ] as const) {
        // The first execution in a session also reads the catalog, about seventy pages for a table with triggers; and so does one that
        // waited while others changed the catalogs of other databases of the server.
        await probe.cost(values);
        const { buffers, filtered } = await probe.cost(values);
        costByPoll[`${name}, planned ${when}`] = buffers + filtered;
      }
      await fresh.close();
    }
    return costByPoll;
  }
  const expensive = async () => Object.entries(await costs()).filter(([, cost]) => cost > COST_MAX);

  it('is polled with few pages read before it has statistics', async () => {
    expect(await expensive()).toEqual([]);
  });

  it('is polled with few pages read once it has statistics', async () => {
    await world.owner.query('analyze work, sandbox_rail_payment, sandbox_rail_event');

    expect(await expensive()).toEqual([]);
  });

  it('is counted with parked work read only', async () => {
    const probe = await PlanProbe.open(world, COUNT_PARKED, '');

    // Each of 1,000 entries may need a read of its row.
    expect((await probe.cost('')).buffers).toBeLessThan(1_000 + 2 * COST_MAX);
    await probe.close();
  });

  it('is counted with a bounded number of due rows of each kind', async () => {
    for (const [statement, types, values] of [
      [COUNT_DUE, '', ''],
      [COUNT_UNSERVED, 'text[], text[]', `array['other'], array['']`],
    ] as const) {
      const probe = await PlanProbe.open(world, statement, types);

      // The kinds that are due have 1,000 counted entries, 1 and 1.
      const { buffers, filtered } = await probe.cost(values);
      expect(buffers + filtered).toBeLessThan(1_000 + 2 * COST_MAX);
      await probe.close();
    }
  });

  it('has open payouts that are counted with a bounded number of rows', async () => {
    await world.owner.query(
      `insert into payout (workspace_id, transaction_id, rail) select 1, n, 'sandbox' from generate_series(1, ${ROWS}) n`,
    );
    for (const analyzed of [false, true]) {
      if (analyzed) await world.owner.query('analyze payout');
      for (const statement of [SCOPE_OPEN_PAYOUTS, COUNT_OPEN_PAYOUTS]) {
        const probe = await PlanProbe.open(world, statement, '');
        const { buffers, filtered } = await probe.cost('', [1]);
        // At most 500 entries of the queue, each with its row, and the payout of each with three pages of its key.
        expect({ analyzed, ...statement, isBounded: buffers + filtered < 500 * 6 + 2 * COST_MAX }).toMatchObject({
          isBounded: true,
        });
        await probe.close();
      }
    }
  });

  it('is polled with few pages read after a vacuum, which runs after few changes', async () => {
    await world.owner.query(`update work set due_at = now() - interval '1 hour' where kind = 'execution'`);
    await world.owner.query(`delete from work where kind = 'execution'`);
    await world.owner.query(`update sandbox_rail_event set due_at = now(), acknowledged = true where position = 1`);

    await world.owner.query('vacuum work, sandbox_rail_event');

    expect(await expensive()).toEqual([]);
    const { rows } = await world.owner.query<{ soon: boolean }>(
      `select 'autovacuum_vacuum_scale_factor=0.01' = any(reloptions) as soon
       from pg_class where oid in ('work'::regclass, 'sandbox_rail_event'::regclass)`,
    );
    expect(rows).toEqual([{ soon: true }, { soon: true }]);
  });
});

describe('a queue with the dead rows of very much work since the last vacuum', () => {
  const DONE = 20_000;

  /** The dead entries are on some eighty pages of the index, their rows on hundreds of pages. */
  const COST_MAX = 200;
  let world: World;

  beforeAll(async () => {
    world = await openWorld();
    await world.owner.query(`
      alter table work set (autovacuum_enabled = off);
      insert into work (workspace_id, kind, subject_id, rail) select 1, 'payout', n, 'sandbox' from generate_series(1, ${DONE}) n;
      analyze work`);
    await world.owner.query('delete from work where subject_id > 3');
    await world.owner.query('analyze work');
  });
  afterAll(() => world.close());

  it('is claimed from with few pages read, once no snapshot sees those rows', async () => {
    const probe = await PlanProbe.open(world, CLAIM_WORK, 'text[], text[], int[], bigint[]', CLAIM_BY_INDEX.statement);
    const claim = async () => (await probe.cost(`array['payout'], array['sandbox'], array[16], array[0]`)).buffers;

    // The first claim reads the catalog too, and marks the entries of the dead rows: unless an ANALYZE of the server still sees them.
    await until(claim, (buffers) => buffers < COST_MAX);

    await probe.close();
  });
});
