import type { AccountId, Order, OrderWish, RecipientId, Scope, TransferAmount, UserId, WorkspaceId } from '@banking/domain'; // prettier-ignore
import { verifyBooks } from '@banking/ledger';
import { Worker } from '@banking/payouts';
import { bind, statement } from '@banking/postgres';
import { LedgerBankingService } from './ledger-banking-service.js';
import { DEMO_RATES } from './rates/demo-rate-source.js';
import { workOf } from './start-work.js';
import { demoWorld, wordOf } from './testing/worlds.js';
import { verifyPayments } from './verify-payments.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let service: LedgerBankingService;
let real: LedgerBankingService;
let worker: Worker;
let ada: Scope & { workspaceId: WorkspaceId; actor: UserId };
let eve: Scope & { workspaceId: WorkspaceId; actor: UserId };
const errors: unknown[] = [];

beforeAll(async () => {
  world = await demoWorld();
  service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES }, true);
  real = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES });
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
/** Until nothing is due any more. */
const work = async () => {
  while ((await worker.step()) > 0);
};

/** An order for later between two accounts of a workspace. */
async function later(more: Partial<OrderWish>, by: Scope = ada, through = service) {
  const account = async () => (await service.openAccount(by, { productID: 1 as never })).resource;
  const [from, to] = [await account(), await account()];
  await service.fundAccount(by, { accountId: from.id, amount: '1000' as TransferAmount });
  const recipientID: RecipientId = (await service.addInternalRecipient(by, { accountCode: to.code! })).resource.id;
  const wish = { accountId: from.id, recipientID, amount: '100' as TransferAmount, type: 'scheduled', ...more } as const; // prettier-ignore
  const { resource } = await through.placeOrder(by, wish);
  const accountId: AccountId = from.id;
  return () => service.getOrder(by, { accountId, orderId: resource.id });
}
const runsOf = ({ edges }: Order) => edges.executions?.map(({ sequence, status }) => [sequence, status]);

const COUNT_CLOCKS = statement<{ count: number }>(
  'spec.count_clocks',
  'select count(*)::int as count from sandbox_clock',
);

describe('Given a workspace whose clock is moved', () => {
  it('When an order is due by it, Then the order runs, and a later one, or one of another workspace, does not', async () => {
    const due = await later({ startAt: '2040-01-31T09:00:00Z' });
    const after = await later({ startAt: '2040-01-31T09:00:00.000001Z' });
    const theirs = await later({ startAt: '2040-01-31T09:00:00Z' }, eve);

    expect(await move('2040-01-31T10:00:00+01:00')).toEqual({ now: '2040-01-31T09:00:00.000000Z' });
    await work();

    expect(await due()).toMatchObject({ status: 'completed', edges: { executions: [{ status: 'completed' }] } });
    expect([(await after()).status, (await theirs()).status]).toEqual(['active', 'active']);
  });

  it('When a recurring order is passed over many times, Then it runs once, and next after the clock', async () => {
    const read = await later({ type: 'recurring', repeatUnit: 'monthly', repeatValue: 1, startAt: '2041-01-31T09:00:00+01:00' }); // prettier-ignore

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

  it('When an order is placed, Then it begins after the clock; where there is no sandbox, nobody looks at it', async () => {
    await move('2043-01-01T00:00:00Z');
    const startAt = '2042-12-31T00:00:00Z';

    expect(await wordOf(later({ startAt }))).toBe('schedule_invalid');
    expect((await (await later({ startAt }, ada, real))()).status).toBe('active');
    expect((await (await later({ startAt }, eve))()).status).toBe('active');
  });

  it('When it is moved back, behind the real time or out of reach, Then it stays', async () => {
    await move('2044-01-01T00:00:00.000001Z');

    for (const now of ['2044-01-01T00:00:00Z', '2020-01-01T00:00:00Z', '2226-01-01T00:00:00Z']) {
      expect(await wordOf(move(now))).toBe('clock_invalid');
    }
    expect(await wordOf(move('2020-01-01T00:00:00Z', eve))).toBe('clock_invalid');
    expect(await wordOf(move('2045-01-01'))).toBe('timestamp_invalid');
    expect(await move('2044-01-01T00:00:00.000001Z')).toEqual({ now: '2044-01-01T00:00:00.000001Z' });
  });

  it('When it is moved by many at once, Then it ends at the latest', async () => {
    const seconds = [5, 1, 4, 2, 3].map((second) => `2045-01-01T00:00:0${second}Z`);

    await Promise.allSettled(seconds.map((now) => move(now)));

    expect(await wordOf(move('2045-01-01T00:00:04.999999Z'))).toBe('clock_invalid');
  });

  it('When another workspace looks, Then it is not there', async () => {
    await move('2046-01-01T00:00:00Z');
    const seenBy = (scope: typeof ada) => world.database.read({ workspaces: [scope.workspaceId] }, bind(COUNT_CLOCKS));

    expect(await Promise.all([seenBy(ada), seenBy(eve)])).toEqual([{ count: 1 }, { count: 0 }]);
  });

  it('When a run is locked by somebody else, Then it is left out, and neither waits for the other', async () => {
    const [first, second] = [await later({ startAt: '2047-01-01T00:00:00Z' }), await later({ startAt: '2047-01-01T00:00:00Z' })]; // prettier-ignore
    const ids = await Promise.all([first, second].map(async (read) => (await read()).edges.executions![0]!.id));
    const lock = (id?: number) => world.owner.query(`select from work where kind = 'execution' and subject_id = $1 for update`, [id]); // prettier-ignore
    const isWaiting = async () => {
      const { rows } = await world.owner.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`); // prettier-ignore
      return rows.length > 0;
    };
    await world.owner.query('begin');
    await lock(ids[1]);

    let hasEnded = false;
    const moving = move('2047-01-01T00:00:00Z').finally(() => (hasEnded = true));
    while (!hasEnded && !(await isWaiting()));
    await lock(ids[0]);
    await world.owner.query('commit');
    await moving;
    await work();

    expect([(await first()).status, (await second()).status]).toEqual(['completed', 'active']);
    await move('2047-01-01T00:00:00Z');
    await work();
    expect((await second()).status).toBe('completed');
  });

  it('When somebody writes to the table, Then it goes forward only, within reach, and stays', async () => {
    const { workspaceId } = ada;
    const change = (text: string) => world.owner.query(text, [workspaceId]);

    await expect(change(`update sandbox_clock set now = now - interval '1 s' where workspace_id = $1`)).rejects.toMatchObject({ code: 'BK003' }); // prettier-ignore
    await expect(change('delete from sandbox_clock where workspace_id = $1')).rejects.toThrow();
    await expect(change(`update sandbox_clock set now = now + interval '101 years' where workspace_id = $1`)).rejects.toMatchObject({ code: '23514' }); // prettier-ignore
  });
});
