import type { AccountId } from '@banking/domain';
import type { SqlStatement } from '@banking/postgres';
import { PlanProbe } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { EVENT_CHAIN, REQUIRED_EVENTS } from './verify-events.js';

const TRANSFERS = 20_000;
const VERIFIED = 200;
/** The most pages that a statement may read for each row, and rows that it may drop. */
const COST_MAX = 60;

let given: OrderWorld;
let account: AccountId;
const probes: Record<string, PlanProbe> = {};

const STATEMENTS: Readonly<Record<string, unknown>> = { ...EVENT_CHAIN.over, ...REQUIRED_EVENTS.over };
/** The last key of the rows that were added, by table. */
const LAST = {
  event: `select max(id) as last from event where resource_type = 'transfer'`,
  transaction: 'select max(id) as last from transaction',
  transfer: 'select max(transaction_id) as last from transfer',
} as const;
const READ = Object.keys(LAST) as (keyof typeof LAST)[];

beforeAll(async () => {
  given = await orderWorld();
  account = await given.account(1, '100');
  const { owner } = given.world;
  const { workspaceId } = given.ada;
  await owner.query('set session_replication_role = replica');
  await owner.query(
    `with made as (
       insert into transaction (workspace_id, status, hash)
       select $1, 'completed', decode(repeat('0', 64), 'hex') from generate_series(1, $3::int) returning id),
     moved as (
       insert into transfer (workspace_id, transaction_id, account_id, currency_id, direction, amount, type, account_version, balance_after)
       select $1, m.id, $2, 978, 'credit', 1, 'internal', 1000 + m.id, 1 from made m returning id)
     insert into event (workspace_id, type, resource_type, resource_id, sequence, changes, actor, created_at)
     select $1, 'transfer.booked', 'transfer', m.id, 1, '{}'::jsonb, '{"type": "system"}'::jsonb, now() from moved m
     union all
     select $1, 'transaction.completed', 'transaction', m.id, 1, '{"status": {"before": null, "after": "completed"}}', '{"type": "system"}', now()
     from made m`,
    [workspaceId, account, TRANSFERS],
  );
  await owner.query('set session_replication_role = origin');
  await owner.query('analyze event, transaction, transfer');
  for (const name of READ)
    probes[name] = await PlanProbe.open(
      given.world,
      STATEMENTS[name] as SqlStatement<unknown>,
      'bigint, bigint, bigint',
    );
});
afterAll(async () => {
  for (const probe of Object.values(probes)) await probe.close();
  await given.world.close();
});

describe(`the verification of events of a workspace with ${TRANSFERS} transfers`, () => {
  it.each(READ)('reads little for each %s', async (table) => {
    const { workspaceId } = given.ada;
    const { rows } = await given.world.owner.query<{ last: string }>(LAST[table]);
    const last = Number(rows[0]!.last);
    const { buffers, filtered } = await probes[table]!.cost(`${workspaceId}, ${last - VERIFIED}, ${last}`, [
      workspaceId,
    ]);

    expect(buffers + filtered).toBeLessThan(VERIFIED * COST_MAX);
  });
});
