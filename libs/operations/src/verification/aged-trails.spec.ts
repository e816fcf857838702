import type { SqlStatement } from '@banking/postgres';
import { PlanProbe } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
import { AUDIT_CHAIN } from './verify-trails.js';

const ENTRIES = 20_000;
const VERIFIED = 200;
/** The most pages that a statement may read for each entry, and rows that it may drop. */
const COST_MAX = 60;

let given: OrderWorld;
let probe: PlanProbe;

beforeAll(async () => {
  given = await orderWorld();
  const { owner } = given.world;
  await owner.query('set session_replication_role = replica');
  await owner.query(
    `insert into audit_event (workspace_id, id, operation, outcome, count, actor, created_at, hash)
     select $1, l.id + n, 'placeOrder', 'done', 1, '{"type": "user"}', now(), repeat('0', 64)
     from generate_series(1, ${ENTRIES}) n, (select coalesce(max(id), 0) as id from audit_event where workspace_id = $1) l`,
    [given.ada.workspaceId],
  );
  await owner.query('set session_replication_role = origin');
  await owner.query('analyze audit_event');
  const statement = AUDIT_CHAIN.over.audit_event as SqlStatement<unknown>;
  probe = await PlanProbe.open(given.world, statement, 'bigint, bigint, bigint');
});
afterAll(async () => {
  await probe.close();
  await given.world.close();
});

describe(`the verification of an audit trail with ${ENTRIES} entries`, () => {
  it('finds the entry before each by its id', async () => {
    const { workspaceId } = given.ada;
    const { rows } = await given.world.owner.query<{ last: string }>(
      'select max(id) as last from audit_event where workspace_id = $1',
      [workspaceId],
    );
    const last = Number(rows[0]!.last);

    const { buffers, filtered } = await probe.cost(`${workspaceId}, ${last - VERIFIED}, ${last}`, [workspaceId]);
    expect(buffers + filtered).toBeLessThan(VERIFIED * COST_MAX);
  });
});
