import { payoutKey, recordEvent, SANDBOX_RAIL, SANDBOX_ROUTING, type Rail } from '@banking/payouts';
import { NO_RATES } from '@banking/reference';
import { OrderService } from '../orders/order-service.js';
import { demoDatabase } from '../testing/test-databases.js';
import { reportOnce } from './report-once.js';
import { workOf } from './start-banking-worker.js';

let world: Awaited<ReturnType<typeof demoDatabase>>;

beforeAll(async () => {
  world = await demoDatabase();
});
afterAll(() => world.close());

/** A network that delivers an event of a payout with a final status until it is acknowledged. */
async function deliveringRail() {
  const { rows } = await world.owner.query<{ workspace: string; id: string; nonce: string }>(
    `select workspace_id::text as workspace, transaction_id::text as id, key_nonce as nonce from payout where rail = $1 and status = 'submitted' limit 1`,
    [SANDBOX_RAIL],
  );
  const payout = rows[0]!;
  const [workspaceId, transactionId] = [Number(payout.workspace), Number(payout.id)];
  await recordEvent(world.books, workspaceId, transactionId, { providerEvent: 'arrived', status: 'ACCC' });
  const key = payoutKey({ workspaceId, transactionId, nonce: payout.nonce });
  const acknowledged: unknown[] = [];
  const unused = () => Promise.reject(new Error('not called here'));
  const rail: Rail = {
    ...{ submit: unused, find: unused, listSubmitted: unused },
    receive: async () =>
      acknowledged.length > 0 ? [] : [{ id: '1', key, event: { providerEvent: 'late', status: 'RJCT' } }],
    acknowledge: async (events) => void acknowledged.push(...events),
  };
  return { transactionId, rail, acknowledged };
}

describe('an event that cannot be recorded of a payout with a final status', () => {
  it('is reported once for each reason, however often it is delivered, and recorded at last', async () => {
    const { transactionId, rail, acknowledged } = await deliveringRail();
    const reported: unknown[] = [];
    const { chores = [] } = workOf(world, {
      orders: new OrderService(world.books, NO_RATES, { rails: SANDBOX_ROUTING }),
      rails: () => new Map([[SANDBOX_RAIL, rail]]),
      onError: (error, failed) => reported.push([(error as Error).message, failed?.subjectId]),
    });
    const receive = chores.find(({ name }) => name === `rail-events-${SANDBOX_RAIL}`)!;
    const withoutRight = async (to: string) => {
      await world.owner.query(`revoke execute on function ${to} from banking_worker`);
      await receive.run();
      await receive.run();
      await world.owner.query(`grant execute on function ${to} to banking_worker`);
    };

    await withoutRight('settle_payments');
    await withoutRight('lock_payouts');
    await withoutRight('settle_payments');
    expect(acknowledged).toEqual([]);
    await receive.run();

    expect(reported).toEqual(
      ['settle_payments', 'lock_payouts'].map((name) => [`permission denied for function ${name}`, transactionId]),
    );
    expect(acknowledged).toHaveLength(1);
  });
});

describe('reportOnce', () => {
  it('reports each failure without a payout, and remembers a bounded number of others', () => {
    let reports = 0;
    const report = reportOnce(() => (reports += 1));
    const failed = (subjectId: number) => report(new Error('no'), { workspaceId: 1, kind: 'payout', subjectId });

    for (const chore of ['events', 'events']) report(new Error('no'), { chore });
    expect(reports).toBe(2);
    for (let id = 1; id <= 1_001; id++) failed(id);
    failed(1_001);
    expect(reports).toBe(1_003);
    failed(1);

    expect(reports).toBe(1_004);
  });
});
