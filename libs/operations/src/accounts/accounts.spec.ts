import type { AccountId, ProductId } from '@banking/domain';
import { parseAmount } from '@banking/domain';
import { post, verifyBooks } from '@banking/ledger';
import { SQLSTATE } from '@banking/postgres';
import { sql, reasonOf } from '@banking/postgres/testing';
import { expectWellFormed } from '../testing/order-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, service, ada, eve } = {} as OrderWorld;
let euro: ProductId;

beforeAll(async () => {
  ({ world, service, ada, eve } = await orderWorld());
  euro = (await service.listProducts()).find(({ edges }) => edges.currency.code === 'EUR')!.id;
});
afterAll(() => world.close());

const count = async () => (await service.listAccounts(ada, { limit: 500 })).items.length;

describe('a new account', () => {
  it('has a balance of 0, can be read and listed, and can be paid by its code', async () => {
    const { resource: account, isReplay } = await service.openAccount(ada, { productID: euro, alias: 'Fairs' });

    expect(isReplay).toBe(false);
    expectWellFormed(account);
    expect(account).toMatchObject({
      name: 'Northwind Trading',
      alias: 'Fairs',
      status: 'enabled',
      type: 'CACC',
      code: expect.stringMatching(/^BA[0-9]{16}$/),
      edges: { balances: [{ amount: 0 }], currency: { code: 'EUR' }, product: { id: euro } },
    });
    expect(await service.getAccount(ada, { accountId: account.id })).toEqual(account);
    expect((await service.listAccounts(ada)).items[0]).toEqual(account);
    const { rows } = await world.owner.query('select account_id from account_code where code = $1', [account.code]);
    expect(rows.map(({ account_id }) => Number(account_id))).toEqual([account.id]);
    expect(await verifyBooks(world.database, [ada.workspaceId])).toMatchObject({ findings: [] });
  });

  it('is not opened for an unknown product', async () => {
    const before = await count();

    expect(await reasonOf(service.openAccount(ada, { productID: 999_999 as ProductId }))).toBe('product_unavailable');

    expect(await count()).toBe(before);
  });

  it('is not found in another workspace', async () => {
    const { resource } = await service.openAccount(ada, { productID: euro });

    expect(await reasonOf(service.getAccount(eve, { accountId: resource.id }))).toBe('account_not_found');
    expect(await reasonOf(service.changeAccount(eve, { accountId: resource.id, status: 'disabled' }))).toBe(
      'account_not_found',
    );
    expect((await service.listAccounts(eve, { limit: 500 })).items.map(({ id }) => id)).not.toContain(resource.id);
  });

  it('does not make own accounts readable', async () => {
    const { rows } = await world.owner.query(`select id from account where kind <> 'customer' and workspace_id = $1`, [
      ada.workspaceId,
    ]);

    for (const { id } of rows) {
      expect(await reasonOf(service.getAccount(ada, { accountId: Number(id) as AccountId }))).toBe('account_not_found');
      expect(await reasonOf(service.changeAccount(ada, { accountId: Number(id) as AccountId, alias: 'Mine' }))).toBe(
        'account_not_found',
      );
    }
    expect(rows.length).toBeGreaterThan(0);
  });
});

describe('an idempotency key', () => {
  it('returns the stored response byte for byte to a repeated request, and makes nothing', async () => {
    const first = await service.openAccount(ada, { productID: euro, alias: 'Once' }, { idempotencyKey: 'once' });
    const before = await count();

    const again = await service.openAccount(ada, { alias: 'Once', productID: euro }, { idempotencyKey: 'once' });

    expect(again.isReplay).toBe(true);
    expect(JSON.stringify(again.resource)).toBe(JSON.stringify(first.resource));
    expect(await count()).toBe(before);
  });

  it('returns the stored response after the resource has changed', async () => {
    const { resource } = await service.openAccount(ada, { productID: euro, alias: 'Then' }, { idempotencyKey: 'then' });
    await service.changeAccount(ada, { accountId: resource.id, alias: 'Now' });

    expect(await service.openAccount(ada, { productID: euro, alias: 'Then' }, { idempotencyKey: 'then' })).toEqual({
      resource,
      isReplay: true,
    });
  });

  it('refuses another request', async () => {
    await service.openAccount(ada, { productID: euro, alias: 'One' }, { idempotencyKey: 'other' });

    expect(
      await reasonOf(service.openAccount(ada, { productID: euro, alias: 'Two' }, { idempotencyKey: 'other' })),
    ).toBe('idempotency_key_reused');
    expect(await reasonOf(service.openAccount(ada, { productID: euro }, { idempotencyKey: 'other' }))).toBe(
      'idempotency_key_reused',
    );
  });

  it('is separate in each workspace', async () => {
    const mine = await service.openAccount(ada, { productID: euro }, { idempotencyKey: 'same' });
    const theirs = await service.openAccount(eve, { productID: euro }, { idempotencyKey: 'same' });

    expect(theirs).toMatchObject({ isReplay: false });
    expect(theirs.resource.id).not.toBe(mine.resource.id);
  });

  it('makes one resource for twenty concurrent requests', async () => {
    const before = await count();

    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        service
          .openAccount(ada, { productID: euro, alias: 'Race' }, { idempotencyKey: 'race' })
          .catch((error: { reason?: string }) => error.reason),
      ),
    );

    const made = answers.filter((answer) => typeof answer === 'object');
    expect(made.filter((answer) => typeof answer === 'object' && !answer.isReplay)).toHaveLength(1);
    expect(new Set(made.map((answer) => typeof answer === 'object' && answer.resource.id)).size).toBe(1);
    expect(
      answers.filter((answer) => typeof answer !== 'object').every((reason) => reason === 'idempotency_in_progress'),
    ).toBe(true);
    expect(await count()).toBe(before + 1);
  });

  it('is free after a refusal', async () => {
    const options = { idempotencyKey: 'refused' };
    expect(await reasonOf(service.openAccount(ada, { productID: 999_999 as ProductId }, options))).toBe(
      'product_unavailable',
    );

    expect(await service.openAccount(ada, { productID: euro }, options)).toMatchObject({ isReplay: false });
  });

  it('is new after 30 days, and other expired keys stay', async () => {
    const options = { idempotencyKey: 'old' };
    const first = await service.openAccount(ada, { productID: euro }, options);
    await service.openAccount(ada, { productID: euro }, { idempotencyKey: 'older' });
    await world.owner.query(
      `update idempotency set created_at = now() - interval '30 days 1 second' where key in ('old', 'older')`,
    );

    const second = await service.openAccount(ada, { productID: euro, alias: 'Other' }, options);

    expect(second.isReplay).toBe(false);
    expect(second.resource.id).not.toBe(first.resource.id);
    const { rows } = await world.owner.query<{ key: string }>(
      `select key from idempotency where key in ('old', 'older')`,
    );
    expect(rows.map(({ key }) => key).sort()).toEqual(['old', 'older']);
    expect(await service.openAccount(ada, { productID: euro, alias: 'Other' }, options)).toMatchObject({
      isReplay: true,
      resource: { id: second.resource.id },
    });
  });

  it('protects a valid stored response from changes in the database', async () => {
    await service.openAccount(ada, { productID: euro }, { idempotencyKey: 'protected' });
    const scope = { workspaces: [ada.workspaceId] };

    await expect(
      world.database.pipeline(scope, [sql(`delete from idempotency where key = 'protected'`)]),
    ).rejects.toMatchObject({ code: SQLSTATE.insufficientPrivilege });
    await world.database.pipeline(scope, [sql(`update idempotency set answer = '{}' where key = 'protected'`)]);

    const { rows } = await world.owner.query<{ answer: string }>(
      `select answer from idempotency where key = 'protected'`,
    );
    expect(rows).toHaveLength(1);
    expect(rows[0]?.answer).toContain('"edges"');
  });

  it.each(['', ' ', 'a b', 'é', 'a\n', 'x'.repeat(256)])('is refused if it is %j', async (idempotencyKey) => {
    expect(await reasonOf(service.openAccount(ada, { productID: euro }, { idempotencyKey }))).toBe(
      'idempotency_key_invalid',
    );
  });
});

describe('a change of an account', () => {
  it('keeps fields that are not given, and writes the audit trail', async () => {
    const { resource } = await service.openAccount(ada, { productID: euro, alias: 'Before' });
    const accountId = resource.id;

    expect(await service.changeAccount(ada, { accountId, alias: 'After' })).toMatchObject({
      alias: 'After',
      status: 'enabled',
    });
    expect(await service.changeAccount(ada, { accountId, status: 'disabled' })).toMatchObject({
      alias: 'After',
      status: 'disabled',
    });
    const last = await service.changeAccount(ada, { accountId, status: 'disabled' });

    expect(last).toEqual(await service.getAccount(ada, { accountId }));
    const { rows } = await world.owner.query(
      'select changed_by::int as by, before, after from account_change where account_id = $1 order by id',
      [accountId],
    );
    expect(rows).toEqual([
      { by: ada.actor, before: { alias: 'Before', status: 'enabled' }, after: { alias: 'After', status: 'enabled' } },
      { by: ada.actor, before: { alias: 'After', status: 'enabled' }, after: { alias: 'After', status: 'disabled' } },
    ]);
    await expect(world.owner.query('delete from account_change')).rejects.toThrow();
  });

  it('stops and resumes incoming money at once by its status', async () => {
    const { resource } = await service.openAccount(ada, { productID: euro });
    const accountId = resource.id;
    const movement = { currencyId: 978, amount: parseAmount('1.00', 'EUR'), type: 'funding' };
    const fund = async () => {
      const [outcome] = await post(world.books, [
        {
          entries: [
            {
              workspaceId: ada.workspaceId,
              status: 'completed',
              legs: [
                { ...movement, account: accountId, direction: 'credit' },
                { ...movement, account: 'settlement', direction: 'debit' },
              ],
            },
          ],
        },
      ]);
      return outcome?.refused?.reason;
    };

    await service.changeAccount(ada, { accountId, status: 'disabled' });
    expect(await fund()).toBe('account_disabled');
    await service.changeAccount(ada, { accountId, status: 'enabled' });
    expect(await fund()).toBeUndefined();
  });
});
