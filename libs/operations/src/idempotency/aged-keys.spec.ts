import type { AccountId, RequestOptions, RecipientId, TransferAmount } from '@banking/domain';
import { testOrProve } from '@banking/postgres/testing';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';

const EXPIRED = testOrProve(20_000, 200_000);
let { world, service, ada } = {} as OrderWorld;
let from: AccountId;
let recipientID: RecipientId;

beforeAll(async () => {
  ({ world, service, ada } = await orderWorld());
  from = (await service.openAccount(ada, { productID: 1 as never })).resource.id;
  const { code = '' } = (await service.openAccount(ada, { productID: 1 as never })).resource;
  await service.fundAccount(ada, { accountId: from, amount: '100000' as TransferAmount });
  recipientID = (await service.addInternalRecipient(ada, { accountCode: code })).resource.id;
  await world.owner.query(`select set_config('app.workspaces', $1, false)`, [`{${ada.workspaceId}}`]);
  await world.owner.query(
    `insert into idempotency (workspace_id, operation, key, fingerprint, answer, created_at)
     select $1, 'placeOrder/' || $2, 'expired-' || n, sha256('x'), '{}', now() - interval '31 days' - n * interval '1 s'
     from generate_series(1, $3::int) n`,
    [ada.workspaceId, from, EXPIRED],
  );
});
afterAll(() => world.close());

const place = (options: RequestOptions) =>
  service.placeOrder(ada, { accountId: from, recipientID, amount: '1' as TransferAmount, type: 'instant' }, options);

/** The rows of the table that were read by an index or deleted, as far as sessions have reported them. */
async function touched(): Promise<{ readonly read: bigint; readonly removed: bigint }> {
  const { rows } = await world.owner.query<{ read: bigint; removed: bigint }>(
    `select pg_stat_clear_snapshot(), idx_tup_fetch + seq_tup_read as read, n_tup_del as removed
     from pg_stat_user_tables where relname = 'idempotency'`,
  );
  return rows[0]!;
}

describe(`a workspace with ${EXPIRED} expired keys`, () => {
  it('replaces an expired response with that of a new order', async () => {
    const first = await place({ idempotencyKey: 'expired-5' });

    expect(first.isReplay).toBe(false);
    expect(await place({ idempotencyKey: 'expired-5' })).toEqual({ resource: first.resource, isReplay: true });
  });

  it('places orders with keys without reading or deleting the expired ones', async () => {
    await world.owner.query('select pg_stat_force_next_flush()');
    const before = await touched();

    await Promise.all(Array.from({ length: 64 }, (_, index) => place({ idempotencyKey: `fresh-${index}` })));
    await service.openAccount(ada, { productID: 1 as never }, { idempotencyKey: 'fresh-account' });
    // A session reports its counts at its end at the latest.
    await world.database.end();
    const after = await touched();

    expect(after.removed - before.removed).toBe(0n);
    expect(after.read - before.read).toBeLessThan(200n);
  });
});
