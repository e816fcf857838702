import { toTransferAmount, minorUnits, type AccountId, type TransferAmount } from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { sql, reasonOf } from '@banking/postgres/testing';
import { expectWellFormed } from '../testing/order-world.js';
import { orderWorld, type OrderWorld } from '../testing/order-world.js';
let { world, service, ada, eve } = {} as OrderWorld;
let accountId: AccountId;

beforeAll(async () => {
  ({ world, service, ada, eve } = await orderWorld());
});
afterAll(() => world.close());
beforeEach(async () => {
  const [product] = await service.listProducts();
  accountId = (await service.openAccount(ada, { productID: product!.id })).resource.id;
});

const units = (amount: bigint) => toTransferAmount(minorUnits(amount));
const fund = (amount: bigint, idempotencyKey?: string) =>
  service.fundAccount(ada, { accountId, amount: units(amount) }, { idempotencyKey });
const movements = async () => (await service.listTransfers(ada, { accountId, limit: 500 })).items;
const balance = async () => (await service.getAccount(ada, { accountId })).edges.balances[0]?.amount;

describe('a funding', () => {
  it('is a completed credit without fee or purpose, against settlement', async () => {
    const { resource: transfer, isReplay } = await fund(125_000n);

    expect(isReplay).toBe(false);
    expectWellFormed(transfer);
    expect(transfer).toMatchObject({
      amount: '125000',
      direction: 'credit',
      type: 'funding',
      edges: {
        account: { id: accountId, edges: { balances: [{ id: transfer.id, amount: 125_000 }] } },
        balance: { id: transfer.id, amount: 125_000 },
        transaction: { status: 'completed' },
      },
    });
    expect(Object.keys(transfer)).not.toEqual(expect.arrayContaining(['feeAmount', 'purpose', 'description']));
    expect(await service.getTransfer(ada, { transferId: transfer.id })).toEqual(transfer);
    const { rows } = await world.owner.query(
      `select a.kind, t.direction, t.amount::int from transfer t join account a on a.id = t.account_id
       where t.transaction_id = $1 order by a.kind`,
      [transfer.edges.transaction?.id],
    );
    expect(rows).toEqual([
      { kind: 'customer', direction: 'credit', amount: 125_000 },
      { kind: 'settlement', direction: 'debit', amount: 125_000 },
    ]);
    expect(await verifyBooks(world.database, [ada.workspaceId])).toMatchObject({ findings: [] });
  });

  it('is posted once for a retry with its key', async () => {
    const first = await fund(10n, 'once');
    await fund(5n);

    const again = await fund(10n, 'once');

    expect(again.isReplay).toBe(true);
    expect(JSON.stringify(again.resource)).toBe(JSON.stringify(first.resource));
    expect(await balance()).toBe(15);
  });

  it('conflicts with another amount, and is a new request on another account', async () => {
    await fund(10n, 'other');

    expect(await reasonOf(fund(11n, 'other'))).toBe('idempotency_key_reused');

    const [product] = await service.listProducts();
    accountId = (await service.openAccount(ada, { productID: product!.id })).resource.id;
    expect(await fund(11n, 'other')).toMatchObject({ isReplay: false });
  });

  it('is posted once for thirty concurrent requests with one key', async () => {
    const words = await Promise.all(
      Array.from({ length: 30 }, () =>
        fund(7n, 'race').then(
          ({ isReplay }) => (isReplay ? 'replay' : 'made'),
          (error: { reason?: string }) => error.reason ?? String(error),
        ),
      ),
    );

    expect(words.filter((word) => word === 'made')).toHaveLength(1);
    expect(
      words.filter((word) => !['made', 'replay', 'idempotency_in_progress', 'unavailable'].includes(word)),
    ).toEqual([]);
    expect(await balance()).toBe(7);
    expect(await movements()).toHaveLength(1);
  });

  it('writes nothing and leaves the key free if it is refused', async () => {
    await service.changeAccount(ada, { accountId, status: 'disabled' });
    expect(await reasonOf(fund(1n, 'again'))).toBe('account_disabled');
    expect(await movements()).toEqual([]);

    await service.changeAccount(ada, { accountId, status: 'enabled' });
    expect(await fund(1n, 'again')).toMatchObject({ isReplay: false });
  });

  it('is refused if the balance would exceed a safe integer', async () => {
    await fund(BigInt(Number.MAX_SAFE_INTEGER) - 1n);

    expect(await reasonOf(fund(2n))).toBe('balance_limit_exceeded');
    expect(await fund(1n)).toMatchObject({ resource: { edges: { balance: { amount: Number.MAX_SAFE_INTEGER } } } });
  });

  it.each([
    ['0', 'amount_malformed'],
    ['', 'amount_malformed'],
    ['-1', 'amount_malformed'],
    ['1.00', 'amount_malformed'],
    ['9223372036854775808', 'amount_out_of_range'],
  ])('is refused for the amount %j', async (amount, reason) => {
    expect(await reasonOf(service.fundAccount(ada, { accountId, amount: amount as TransferAmount }))).toBe(reason);
    expect(await movements()).toEqual([]);
  });

  it('does not find an account of another workspace, or an own account', async () => {
    const [own] = await world.database.pipeline({ workspaces: [ada.workspaceId] }, [
      sql<{ id: bigint }>(`select id from account where kind = 'settlement' limit 1`),
    ]);
    const input = { accountId, amount: units(1n) };

    expect(await reasonOf(service.fundAccount(eve, input))).toBe('account_not_found');
    expect(await reasonOf(service.fundAccount(ada, { ...input, accountId: Number(own[0]?.id) as AccountId }))).toBe(
      'account_not_found',
    );
    expect(await reasonOf(service.fundAccount(ada, { ...input, accountId: 999_999 as AccountId }))).toBe(
      'account_not_found',
    );
  });

  it('posts no money if the response cannot be stored', async () => {
    await world.owner.query(
      `create function fail() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
       create trigger fail before insert on idempotency for each row execute function fail()`,
    );
    try {
      expect(await reasonOf(fund(3n, 'broken'))).toBe('no');
    } finally {
      await world.owner.query('drop trigger fail on idempotency; drop function fail()');
    }

    expect(await movements()).toEqual([]);
    expect(await fund(3n, 'broken')).toMatchObject({ isReplay: false });
  });
});
