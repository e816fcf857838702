import {
  type AccountId,
  minorUnits,
  type Order,
  type PlaceOrderInput,
  type RecipientId,
  type Scope,
  toTransferAmount,
  type TransferAmount,
  type UserId,
  type WorkspaceId,
} from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { SANDBOX_ROUTING, sandboxRails } from '@banking/payouts';
import { bind, RULE_VIOLATION, SQLSTATE, sqlStatement } from '@banking/postgres';
import { reasonOf, sql, until } from '@banking/postgres/testing';
import { DEMO_RATES } from '@banking/reference';
import { Worker } from '@banking/work-queue';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { expectWellFormed, orderWorld, type OrderWorld, expectBooksInOrder } from '../testing/order-world.js';
import { demoDatabase } from '../testing/test-databases.js';
import { workOf } from '../worker/start-banking-worker.js';

describe('a funding', () => {
  let { world, service, ada, eve } = {} as OrderWorld;
  let accountId: AccountId;

  beforeAll(async () => {
    ({ world, service, ada, eve } = await orderWorld());
  });

  afterAll(() => world.close());

  beforeEach(async () => {
    const [product] = await service.listProducts({});
    accountId = (await service.openAccount(ada, { productID: product!.id })).resource.id;
  });

  const units = (amount: bigint) => toTransferAmount(minorUnits(amount));

  const fund = (amount: bigint, idempotencyKey?: string) =>
    service.fundAccount(ada, { accountId, amount: units(amount) }, { idempotencyKey });

  const movements = async () => (await service.listTransfers(ada, { accountId, limit: 500 })).items;
  const balance = async () => (await service.getAccount(ada, { accountId })).edges.balances[0]?.amount;

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
      `select a.kind, t.direction, t.amount::int from leg t join account a on a.id = t.account_id
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

    const [product] = await service.listProducts({});
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

describe('a workspace whose clock is moved', () => {
  let world: Awaited<ReturnType<typeof demoDatabase>>;
  let service: LedgerBankingService;
  let real: LedgerBankingService;
  let worker: Worker;
  let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };
  let eve: Scope & { workspaceId: WorkspaceId; actor: UserId };
  const errors: unknown[] = [];

  beforeAll(async () => {
    world = await demoDatabase();
    service = new LedgerBankingService(
      world.database,
      world.books,
      { rates: DEMO_RATES, rails: SANDBOX_ROUTING },
      true,
    );
    real = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, rails: SANDBOX_ROUTING });
    worker = new Worker(
      workOf(world, { orders: service.orders, rails: sandboxRails, onError: (error) => errors.push(error) }),
    );
    const scope = (user: string, workspace: string) => ({
      actor: world.demo.users[user] as UserId,
      workspaceId: world.demo.workspaces[workspace] as WorkspaceId,
    });
    ada = scope('ada@northwind.example', 'Northwind Trading');
    eve = scope('eve@southwind.example', 'Southwind Imports');
  });

  afterAll(() => world.close());

  afterEach(async () => {
    const all = Object.values(world.demo.workspaces);
    await expectBooksInOrder(world.database, all);
    expect(errors).toEqual([]);
  });

  const move = (now: string, scope: Scope = ada) => service.moveClock(scope, { now });

  /** Does work until none is due. */
  const work = async () => {
    while ((await worker.step()) > 0);
  };

  /** A later order between two accounts of a workspace. */
  async function later(more: Partial<PlaceOrderInput>, by: Scope = ada, through = service) {
    const account = async () => (await service.openAccount(by, { productID: 1 as never })).resource;
    const [from, to] = [await account(), await account()];
    await service.fundAccount(by, { accountId: from.id, amount: '1000' as TransferAmount });
    const recipientID: RecipientId = (await service.addInternalRecipient(by, { accountCode: to.code! })).resource.id;
    const input = {
      accountId: from.id,
      recipientID,
      amount: '100' as TransferAmount,
      type: 'scheduled',
      ...more,
    } as const;
    const { resource } = await through.placeOrder(by, input);
    const accountId: AccountId = from.id;
    return () => service.getOrder(by, { accountId, orderId: resource.id });
  }

  const runsOf = ({ edges }: Order) => edges.executions?.map(({ sequence, status }) => [sequence, status]);

  const COUNT_CLOCKS = sqlStatement<{ count: number }>(
    'spec.count_clocks',
    'select count(*)::int as count from sandbox_clock',
  );

  it('runs orders that are due by it, and no later ones or those of other workspaces', async () => {
    const due = await later({ startAt: '2040-01-31T09:00:00Z' });
    const after = await later({ startAt: '2040-01-31T09:00:00.000001Z' });
    const theirs = await later({ startAt: '2040-01-31T09:00:00Z' }, eve);

    expect(await move('2040-01-31T10:00:00+01:00')).toEqual({ now: '2040-01-31T09:00:00.000000Z' });
    await work();

    expect(await due()).toMatchObject({ status: 'completed', edges: { executions: [{ status: 'completed' }] } });
    expect([(await after()).status, (await theirs()).status]).toEqual(['active', 'active']);
  });

  it('runs a recurring order once for many missed runs, and next after the clock', async () => {
    const read = await later({
      type: 'recurring',
      repeatUnit: 'monthly',
      repeatValue: 1,
      startAt: '2041-01-31T09:00:00+01:00',
    });

    await move('2042-02-01T00:00:00Z');
    await work();

    const order = await read();
    expect(runsOf(order)).toEqual([
      [1, 'completed'],
      [14, 'scheduled'],
    ]);
    expect(order.edges.executions?.[1]?.scheduledAt).toBe('2042-02-28T08:00:00.000000Z');
    await move('2042-02-28T08:00:00Z');
    await work();
    expect(runsOf(await read())).toEqual([
      [1, 'completed'],
      [14, 'completed'],
      [15, 'scheduled'],
    ]);
  });

  it('takes orders that start after its clock; without a sandbox the clock is ignored', async () => {
    await move('2043-01-01T00:00:00Z');
    const startAt = '2042-12-31T00:00:00Z';

    expect(await reasonOf(later({ startAt }))).toBe('schedule_invalid');
    expect((await (await later({ startAt }, ada, real))()).status).toBe('active');
    expect((await (await later({ startAt }, eve))()).status).toBe('active');
  });

  it('does not move its clock back, behind the real time or beyond its limit', async () => {
    await move('2044-01-01T00:00:00.000001Z');

    for (const now of ['2044-01-01T00:00:00Z', '2020-01-01T00:00:00Z', '2226-01-01T00:00:00Z']) {
      expect(await reasonOf(move(now))).toBe('clock_invalid');
    }
    expect(await reasonOf(move('2020-01-01T00:00:00Z', eve))).toBe('clock_invalid');
    expect(await reasonOf(move('2045-01-01'))).toBe('timestamp_invalid');
    expect(await move('2044-01-01T00:00:00.000001Z')).toEqual({ now: '2044-01-01T00:00:00.000001Z' });
  });

  it('has the latest of concurrent clocks', async () => {
    const seconds = [5, 1, 4, 2, 3].map((second) => `2045-01-01T00:00:0${second}Z`);

    await Promise.allSettled(seconds.map((now) => move(now)));

    expect(await reasonOf(move('2045-01-01T00:00:04.999999Z'))).toBe('clock_invalid');
  });

  it('is not found by another workspace', async () => {
    await move('2046-01-01T00:00:00Z');
    const seenBy = (scope: typeof ada) => world.database.read({ workspaces: [scope.workspaceId] }, bind(COUNT_CLOCKS));

    expect(await Promise.all([seenBy(ada), seenBy(eve)])).toEqual([{ count: 1 }, { count: 0 }]);
  });

  it('leaves out a run that another session has locked, and does not wait', async () => {
    const [first, second] = [
      await later({ startAt: '2047-01-01T00:00:00Z' }),
      await later({ startAt: '2047-01-01T00:00:00Z' }),
    ];
    const ids = await Promise.all([first, second].map(async (read) => (await read()).edges.executions![0]!.id));
    const lock = (id?: number) =>
      world.owner.query(`select from work where kind = 'execution' and subject_id = $1 for update`, [id]);
    const isWaiting = async () => {
      // A database transaction sees the sessions as they were at its first look.
      await world.owner.query('select pg_stat_clear_snapshot()');
      const { rows } = await world.owner.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
      );
      return rows.length > 0;
    };
    await world.owner.query('begin');
    await lock(ids[1]);

    let hasEnded = false;
    const moving = move('2047-01-01T00:00:00Z').finally(() => (hasEnded = true));
    await until(async () => hasEnded || isWaiting());
    await lock(ids[0]);
    await world.owner.query('commit');
    await moving;
    await work();

    expect([(await first()).status, (await second()).status]).toEqual(['completed', 'active']);
    await move('2047-01-01T00:00:00Z');
    await work();
    expect((await second()).status).toBe('completed');
  });

  it('makes runs due in the order of their times, whatever the order in which they are found', async () => {
    const runs: { readonly day: number; readonly id: number }[] = [];
    for (const day of [3, 1, 2]) {
      const { edges } = await (await later({ startAt: `2048-01-0${day}T00:00:00Z` }))();
      runs.push({ day, id: edges.executions![0]!.id });
    }
    // In the index of the queue they are in the order of their leases.
    const lease = (day: number, id: number) =>
      world.owner.query(
        `update work set leased_until = '2049-01-01'::timestamptz - $1 * interval '1 day' where kind = 'execution' and subject_id = $2`,
        [day, id],
      );
    for (const { day, id } of runs) await lease(day, id);

    await move('2048-02-01T00:00:00Z');

    const { rows } = await world.owner.query<{ id: bigint }>(
      `select subject_id as id from work where kind = 'execution' and subject_id = any($1) order by due_at`,
      [runs.map(({ id }) => id)],
    );
    await world.owner.query(`update work set leased_until = null where kind = 'execution'`);
    await work();
    expect(rows.map(({ id }) => runs.find((run) => run.id === Number(id))?.day)).toEqual([1, 2, 3]);
  });

  it('has a clock that moves forward only, within its limit, and is not deleted by any SQL', async () => {
    const { workspaceId } = ada;
    const change = (text: string) => world.owner.query(text, [workspaceId]);

    await expect(
      change(`update sandbox_clock set now = now - interval '1 s' where workspace_id = $1`),
    ).rejects.toMatchObject({ code: RULE_VIOLATION.recordChanged });
    await expect(change('delete from sandbox_clock where workspace_id = $1')).rejects.toThrow();
    await expect(
      change(`update sandbox_clock set now = now + interval '101 years' where workspace_id = $1`),
    ).rejects.toMatchObject({ code: SQLSTATE.checkViolation });
  });
});
