import { claimEndpoints, recordOutcomes } from './delivery-store.js';
import { deleteOldDeliveries } from './old-deliveries.js';
import { deliveryWorld } from './testing/delivery-world.js';

const NEVER_CALLED = 'http://127.0.0.1:1/';
let given: Awaited<ReturnType<typeof deliveryWorld>>;

beforeAll(async () => void (given = await deliveryWorld()));
afterAll(() => given.close());
afterEach(async () => {
  await given.read('delete from webhook_delivery');
  await given.read('update webhook_endpoint set sealed_secret = null, deleted_at = now() where deleted_at is null');
});

/** A delivery of so many days ago. Returns its id. */
async function delivery(
  endpointId: number,
  status: string,
  daysAgo: number,
  eventId = Math.floor(Math.random() * 1e9),
) {
  const [row] = await given.read<{ id: bigint }>(
    `insert into webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, status, next_attempt_at, created_at)
     values (1, $1, $2, 'order.placed', 'event', $3, case when $3 = 'pending' then now() + interval '1 hour' end, now() - $4 * interval '1 day')
     returning id`,
    ...[endpointId, eventId, status, daysAgo],
  );
  return Number(row?.id);
}
const left = async () =>
  (await given.read<{ id: bigint }>('select id from webhook_delivery order by id')).map(({ id }) => Number(id));

describe('old deliveries', () => {
  it('are deleted after the kept time, unless they are pending', async () => {
    const { id } = await given.endpoint(NEVER_CALLED);
    await delivery(id, 'delivered', 31);
    await delivery(id, 'failed', 31);
    const pending = await delivery(id, 'pending', 31);
    const young = await delivery(id, 'delivered', 29);
    expect(await deleteOldDeliveries(given.world.database, 30)).toBe(2);
    expect(await left()).toEqual([pending, young]);
    expect(await deleteOldDeliveries(given.world.database, 30)).toBe(0);
  });

  it('are deleted in batches, and those of a deleted endpoint also while they are pending', async () => {
    const { id } = await given.endpoint(NEVER_CALLED);
    await delivery(id, 'pending', 31);
    await given.read(
      `insert into webhook_delivery (workspace_id, endpoint_id, event_id, event_type, kind, status, created_at)
       select 1, $1, 1e6::bigint + n, 'order.placed', 'event', 'delivered', now() - interval '40 days' from generate_series(1, 700) n`,
      id,
    );
    await given.read('update webhook_endpoint set sealed_secret = null, deleted_at = now() where id = $1', id);
    const deleted: number[] = [];
    do deleted.push(await deleteOldDeliveries(given.world.database, 30));
    while (deleted.at(-1) !== 0);
    expect(deleted).toEqual([501, 200, 0]);
    expect(await left()).toEqual([]);
  });
});

describe('the functions of a worker', () => {
  it('reach the endpoints of their scope only', async () => {
    const { id } = await given.endpoint(NEVER_CALLED);
    await given.events(1);
    const { database } = given.world;
    const call = async (text: string, values: unknown[]) => {
      await given.read('begin');
      await given.read(`set local role banking_worker`);
      await given.read(`set local app.workspaces = '{2}'`);
      const rows = await given.read(text, ...values);
      await given.read('rollback');
      return rows;
    };
    expect(await call('select * from claim_webhook_endpoints(array[1], array[$1::bigint], 30000)', [id])).toEqual([]);
    const [claimed] = await claimEndpoints(database, 10, 30_000);
    expect(claimed).toMatchObject({ id: BigInt(id), workspaceId: 1n });
    const record = `select * from record_webhook_attempts(1, $1, $2, 99, 0, 0, 10, '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}')`;
    expect(await call(record, [id, claimed?.token])).toEqual([]);
    if (!claimed) throw new Error('nothing was claimed');
    const limits = { cursor: claimed.cursor, leaseMs: 0, failures: 0, failuresMax: 10 };
    expect(await recordOutcomes(database, { ...claimed, token: claimed.token - 1n }, [], limits)).toBeUndefined();
    expect(await recordOutcomes(database, claimed, [], limits)).toMatchObject({ status: 'enabled' });
  });

  it('do not show a sealed secret to the role of the service', async () => {
    await given.read('begin');
    await given.read('set local role banking_api');
    await expect(given.read('select sealed_secret from webhook_endpoint')).rejects.toThrow('permission denied');
    await given.read('rollback');
  });
});
