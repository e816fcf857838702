import { PlanProbe } from '@banking/postgres/testing';
import { demoDatabase } from '../testing/test-databases.js';
import { READ_PAYMENTS } from './start-banking-worker.js';

/** More than the index searches of one payment read. */
const COST_MAX = 60;

describe('the payment of a workspace with very many recipients', () => {
  let world: Awaited<ReturnType<typeof demoDatabase>>;

  beforeAll(async () => {
    world = await demoDatabase();
  });
  afterAll(() => world.close());

  it('is read with few pages by a plan that was made for few of them', async () => {
    const { rows } = await world.owner.query<{ workspace: string; transaction: string }>(
      `select workspace_id as workspace, transaction_id as transaction from transfer where description = 'Float for Berlin' limit 1`,
    );
    const [{ workspace, transaction }] = rows as [(typeof rows)[number]];
    const probe = await PlanProbe.open(world, READ_PAYMENTS, 'bigint[], bigint[]');
    const values = `array[${workspace}], array[${transaction}]`;
    await probe.cost(values, [Number(workspace)]);
    await world.owner.query(
      `with added as (
         insert into recipient (workspace_id, kind, name, account_code, currency_id, corridor_id, bank_id)
         select workspace_id, kind, name, 'X' || n, currency_id, corridor_id, bank_id
         from (select * from recipient where workspace_id = ${workspace} and kind = 'international' limit 1) r, generate_series(1, 2000) n
         returning workspace_id, id
       )
       insert into beneficiary (workspace_id, recipient_id, data) select workspace_id, id, '{}' from added`,
    );

    const { buffers } = await probe.cost(values, [Number(workspace)]);

    await probe.close();
    expect(buffers).toBeLessThan(COST_MAX);
  });
});
