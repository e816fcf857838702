import { type AccountId, type Order, type TransferAmount, type UserId, type WorkspaceId } from '@banking/domain'; // prettier-ignore
import { verifyBooks } from '@banking/ledger';
import { listWork, recordEvent, retryWork, Worker } from '@banking/payouts';
import { LedgerBankingService } from '../ledger-banking-service.js';
import { resumePausedOrder } from '../provisioning/index.js';
import { DEMO_RATES } from '../rates/demo-rate-source.js';
import { workOf } from '../start-work.js';
import { recipientAbroad } from '../testing/recipient-abroad.js';
import { demoWorld, wordOf } from '../testing/worlds.js';
import { verifyPayments } from '../verify-payments.js';

let world: Awaited<ReturnType<typeof demoWorld>>;
let service: LedgerBankingService;
let worker: Worker;
let ada: { workspaceId: WorkspaceId; actor: UserId };
let accountId: AccountId;
let year = 2040;
const errors: unknown[] = [];

beforeAll(async () => {
  world = await demoWorld();
  service = new LedgerBankingService(world.database, world.books, { rates: DEMO_RATES }, true);
  worker = new Worker(workOf(world, { orders: service.orders, sandbox: true, onError: (error) => errors.push(error) }));
  ada = {
    actor: world.demo.users['ada@northwind.example'] as UserId,
    workspaceId: world.demo.workspaces['Northwind Trading'] as WorkspaceId,
  };
  accountId = world.demo.accounts['Northwind Trading EUR'] as AccountId;
});
afterAll(() => world.close());
afterEach(async () => {
  const all = Object.values(world.demo.workspaces);
  expect((await verifyBooks(world.database, all)).findings).toEqual([]);
  expect(await verifyPayments(world.database, all)).toEqual([]);
  expect(errors).toEqual([]);
});

/** IBANs with valid check digits: the last four characters choose what the network does. */
const REJECTED = 'DE52370400440532019001';
const UNDECIDED = 'DE73370400440532019011';

/** Does what is due, with all that the network says of it at once. */
async function work() {
  do
    await world.owner.query('update sandbox_rail_event set due_at = now(), handed_until = null where not acknowledged');
  while ((await worker.step()) > 0);
}

/** A daily order to an account abroad, in a year of its own. */
async function daily(account = REJECTED) {
  year += 1;
  const recipientID = await recipientAbroad(service, ada, account);
  const { resource } = await service.placeOrder(ada, {
    accountId,
    recipientID,
    amount: '10000' as TransferAmount,
    type: 'recurring',
    repeatUnit: 'daily',
    repeatValue: 1,
    startAt: `${year}-03-01T09:00:00Z`,
    purposeCode: 'IR001',
  });
  const orderId = resource.id;
  const read = () => service.getOrder(ada, { accountId, orderId });
  return {
    orderId,
    read,
    cancel: () => service.cancelOrder(ada, { accountId, orderId }),
    resume: () => wordOf(resumePausedOrder(world.database, 'ops', { workspaceId: ada.workspaceId, orderId })),
    /** Moves the clock to a day of March, and does what is due by then. */
    day: async (day: number) => {
      await service.moveClock(ada, { now: `${year}-03-${String(day).padStart(2, '0')}T09:00:00Z` });
      await work();
      return read();
    },
  };
}

const statesOf = ({ edges }: Order) => edges.executions?.map(({ status }) => status);
const lastOf = ({ edges }: Order) => edges.executions?.at(-1)?.id ?? 0;
const parked = async (order: Order) =>
  (await listWork(world.database, { isParked: true, limit: 1_000 })).filter(({ subjectId }) => subjectId === lastOf(order)); // prettier-ignore
async function says(order: Order, run: number, status: string) {
  const id = order.edges.executions?.[run - 1]?.edges.transaction?.id ?? 0;
  await recordEvent(world.books, ada.workspaceId, id, { providerEvent: `said-${status}`, status });
}
/** Lets something happen between the reading of the next run and what is decided on it. */
function onceReadRun(happens: () => Promise<unknown>) {
  const run = world.database.read.bind(world.database);
  const spy = jest.spyOn(world.database, 'read').mockImplementation(async (scope, bound) => {
    const row = await run(scope, bound);
    if (bound.statement.name === 'read_run') {
      spy.mockRestore();
      await happens();
    }
    return row as never;
  });
}
async function paused() {
  const order = await daily();
  for (const day of [1, 2, 3, 4]) await order.day(day);
  return order;
}
const PAUSED = { status: 'active', pausedAt: expect.any(String), pauseReason: 'payouts_rejected' };
const THREE = ['failed', 'failed', 'failed'];

describe('Given a recurring order whose payouts are rejected', () => {
  it('When three in a row were, Then it is paused instead of running, costs no further fee, and its run is parked', async () => {
    const order = await daily();
    const fees = async () =>
      (await world.owner.query(`select from transfer where account_id = $1 and type = 'fee'`, [accountId])).rowCount ??
      0;
    const before = await fees();

    for (const day of [1, 2, 3]) expect((await order.day(day)).pausedAt).toBeUndefined();
    for (const day of [4, 5, 6]) expect(await order.day(day)).toMatchObject(PAUSED);

    const read = await order.read();
    expect(statesOf(read)).toEqual([...THREE, 'scheduled']);
    expect(read.edges.executions?.[0]?.failureCode).toBe('payout_rejected');
    expect((await fees()) - before).toBe(3);
    const reason = `order ${order.orderId} is paused after three rejected payouts; see banking order resume`;
    expect(await parked(read)).toMatchObject([{ kind: 'execution', state: 'parked', reason }]);
  });

  it('When one in between was credited, Then the count begins anew', async () => {
    const order = await daily(UNDECIDED);
    for (const [day, status] of [
      [1, 'RJCT'],
      [2, 'RJCT'],
      [3, 'ACCC'],
      [4, 'RJCT'],
      [5, 'RJCT'],
    ] as const) {
      await says(await order.day(day), day, status);
    }

    expect((await order.day(6)).pausedAt).toBeUndefined();
    await says(await order.read(), 6, 'RJCT');
    expect(await order.day(7)).toMatchObject(PAUSED);
  });

  it('When others are still pending, Then they are left out of the count', async () => {
    const order = await daily(UNDECIDED);
    for (const day of [1, 2, 3, 4, 5]) await order.day(day);
    for (const run of [1, 3]) await says(await order.read(), run, 'RJCT');
    expect((await order.day(6)).pausedAt).toBeUndefined();
    await says(await order.read(), 5, 'RJCT');

    expect(await order.day(7)).toMatchObject({ ...PAUSED, edges: { executions: { length: 7 } } });
  });

  it('When a run is refused after two rejections, Then the order does not fail of them', async () => {
    const order = await daily();
    for (const day of [1, 2]) await order.day(day);
    await service.changeAccount(ada, { accountId, status: 'disabled' });
    const refused = await order.day(3);
    await service.changeAccount(ada, { accountId, status: 'enabled' });

    expect([refused.status, statesOf(refused)]).toEqual(['active', [...THREE, 'scheduled']]);
    expect((await order.day(4)).pausedAt).toBeUndefined();
    expect(await order.day(5)).toMatchObject(PAUSED);
  });

  it('When the third rejection comes while the fourth run is decided, Then the database refuses the run, and it pauses', async () => {
    const order = await daily(UNDECIDED);
    for (const day of [1, 2, 3]) await order.day(day);
    for (const run of [1, 2]) await says(await order.read(), run, 'RJCT');
    onceReadRun(async () => says(await order.read(), 3, 'RJCT'));

    const after = await order.day(4);

    expect(after).toMatchObject(PAUSED);
    expect(statesOf(after)).toEqual([...THREE, 'scheduled']);
  });
});

describe('Given an order that is paused', () => {
  it('When it is resumed, Then the missed run happens once, and only later rejections pause it again', async () => {
    const order = await paused();
    await order.day(9);

    expect(await order.resume()).toBeUndefined();
    await work();

    const resumed = await order.read();
    expect([resumed.pausedAt, resumed.pauseReason]).toEqual([undefined, undefined]);
    expect(statesOf(resumed)).toEqual([...THREE, 'failed', 'scheduled']);
    for (const day of [10, 11]) expect((await order.day(day)).pausedAt).toBeUndefined();
    expect(await order.day(12)).toMatchObject(PAUSED);
    expect(await order.resume()).toBeUndefined();
    expect(await order.resume()).toMatch(/ is not paused\.$/);
    await order.cancel();
  });

  it('When its work is retried without resuming it, Then it does not run and is parked again', async () => {
    const order = await paused();
    const before = await order.read();

    expect(await retryWork(world.database, { workspaceId: ada.workspaceId, kind: 'execution', subjectId: lastOf(before) })).toBe(true); // prettier-ignore
    await work();

    expect(await order.read()).toEqual({ ...before, updatedAt: expect.any(String) });
    expect(await parked(before)).toHaveLength(1);
  });

  it('When it is resumed while its retried work is decided, Then it is not paused again, and runs', async () => {
    const order = await paused();
    await retryWork(world.database, { workspaceId: ada.workspaceId, kind: 'execution', subjectId: lastOf(await order.read()) }); // prettier-ignore
    onceReadRun(order.resume);

    await work();

    const after = await order.read();
    expect([after.pausedAt, statesOf(after)]).toEqual([undefined, [...THREE, 'failed', 'scheduled']]);
  });

  it('When it is cancelled, Then its parked work is gone, and it shows no pause', async () => {
    const order = await paused();
    const before = await order.read();

    const cancelled = await order.cancel();

    expect([cancelled.status, cancelled.pausedAt, statesOf(cancelled)]).toEqual(['cancelled', undefined, [...THREE, 'cancelled']]); // prettier-ignore
    expect(await parked(before)).toEqual([]);
    expect(await order.resume()).toMatch(/ is not paused\.$/);
  });

  it('When it is cancelled, resumed and retried at once, Then it ends cancelled or runs once, and no work is left parked', async () => {
    for (let round = 0; round < 5; round += 1) {
      const order = await paused();
      const before = await order.read();
      const retried = { workspaceId: ada.workspaceId, kind: 'execution', subjectId: lastOf(before) };

      await Promise.all([order.resume(), order.cancel(), retryWork(world.database, retried)]);
      await work();

      const after = await order.read();
      expect(after.status).toBe('cancelled');
      expect(statesOf(after)?.filter((status) => status === 'scheduled')).toEqual([]);
      expect(await parked(before)).toEqual([]);
    }
  });

  it('When it is of another workspace, Then it is not there', async () => {
    const order = { orderId: (await paused()).orderId, workspaceId: world.demo.workspaces['Southwind Imports']! };
    expect(await wordOf(resumePausedOrder(world.database, 'ops', order))).toMatch(/^There is no order \d+ of workspace \d+\.$/); // prettier-ignore
  });

  it('When the database is written to by hand, Then a paused order has a reason, is active, and does not run', async () => {
    const { orderId, read } = await paused();
    const run = lastOf(await read());
    const change = (text: string, id: number) => world.owner.query(text, [id]);

    await expect(change('update customer_order set pause_reason = null where id = $1', orderId)).rejects.toMatchObject({ constraint: 'customer_order_pause' }); // prettier-ignore
    await expect(change(`update customer_order set status = 'completed' where id = $1`, orderId)).rejects.toMatchObject({ constraint: 'customer_order_pause' }); // prettier-ignore
    await expect(change(`update execution set status = 'failed', failure_code = 'x' where id = $1`, run)).rejects.toMatchObject({ code: 'BK012' }); // prettier-ignore
  });
});
