import type {
  AccountId,
  Order,
  PlaceOrderInput,
  RecipientId,
  Scope,
  TransferAmount,
  UserId,
  WorkspaceId,
} from '@banking/domain';
import { verifyBooks } from '@banking/ledger';
import { Worker } from '@banking/work-queue';
import { bind, sqlStatement, RULE_VIOLATION, SQLSTATE } from '@banking/postgres';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { DEMO_RATES } from '@banking/rates';
import { workOf } from '../worker/start-banking-worker.js';
import { demoDatabase } from '../testing/test-databases.js';
import { verifyPayments } from '../testing/order-world.js';
import { reasonOf, until } from '@banking/postgres/testing';

let world: Awaited<ReturnType<typeof demoDatabase>>;
let service: LedgerBankingService;
let real: LedgerBankingService;
let worker: Worker;
let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };
let eve: Scope & { workspaceId: WorkspaceId; actor: UserId };
const errors: unknown[] = [];

beforeAll(async () => {
  world = await demoDatabase();
  service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, hasPayoutNetwork: true }, true);
  real = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES, hasPayoutNetwork: true });
  worker = new Worker(workOf(world, { orders: service.orders, sandbox: true, onError: (error) => errors.push(error) }));
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
  expect((await verifyBooks(world.database, all)).findings).toEqual([]);
  expect(await verifyPayments(world.database, all)).toEqual([]);
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

describe('a workspace whose clock is moved', () => {
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
