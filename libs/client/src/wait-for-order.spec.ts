import { BankingClient, RemoteRefusal } from './index.js';
import {
  dies,
  refuses,
  responds,
  type ScriptedService,
  scriptedService,
  type Step,
} from './testing/scripted-service.js';

let service: ScriptedService;
beforeEach(async () => {
  service = await scriptedService();
});
afterEach(() => service.close());

const NAME = { accountId: 1, orderId: 2 };
const orders = () => new BankingClient({ baseUrl: service.url, token: 'token', retries: 0 }).workspace(7).orders;
const order = (status: string, ...executions: readonly string[]) => ({
  id: 2,
  status,
  edges: { account: { id: 1 }, executions: executions.map((of, index) => ({ id: 30 + index, status: of, edges: {} })) },
});
const shows = (status: string, ...executions: readonly string[]) => responds(200, order(status, ...executions));
const position = (next: string): Step => responds(200, [], { link: `</events?cursor=${next}>; rel="next"` });
const calls = () => service.received.map(({ url }) => url);

describe('orders.waitFor', () => {
  it('returns an order that is settled without waiting', async () => {
    service.script(shows('completed', 'completed', 'failed'));
    expect(await orders().waitFor(order('active') as never)).toMatchObject({ status: 'completed' });
    expect(calls()).toEqual(['/accounts/1/orders/2']);
  });

  it('follows the pending execution, and reads the order after each event', async () => {
    service.script(
      shows('completed', 'failed', 'pending'),
      position('a'),
      shows('completed', 'failed', 'pending'),
      position('b'),
      shows('completed', 'failed', 'completed'),
    );
    expect(await orders().waitFor(NAME, { until: 'settled' })).toMatchObject({ status: 'completed' });
    const execution = '/events?resourceType=execution&resourceId=31';
    const read = '/accounts/1/orders/2';
    expect(calls()).toEqual([read, `${execution}&wait=0`, read, `${execution}&cursor=a&wait=20`, read]);
  });

  it('follows the order itself while no execution is pending', async () => {
    service.script(shows('active', 'scheduled'), position('a'), shows('cancelled', 'cancelled'));
    expect(await orders().waitFor(NAME)).toMatchObject({ status: 'cancelled' });
    expect(calls()[1]).toBe('/events?resourceType=order&resourceId=2&wait=0');
  });

  const run = (status: string, transaction?: string) => ({
    id: 30,
    status,
    edges: transaction === undefined ? {} : { transaction: { id: 40, status: transaction } },
  });
  it.each([
    ['a transaction that is pending', 'completed', run('completed', 'pending')],
    ['a status of a transaction that it does not know', 'completed', run('completed', 'under_review')],
    ['a status of a run that it does not know', 'completed', run('awaiting_settlement')],
    ['a run that awaits approval', 'completed', run('awaiting_approval')],
    ['a status of an order that it does not know', 'in_review', run('completed', 'completed')],
    ['an order without a status', undefined, run('completed', 'completed')],
  ])('waits behind %s', async (_what, status, execution) => {
    const open = { id: 2, status, edges: { account: { id: 1 }, executions: [execution] } };
    const settled = {
      ...open,
      status: 'completed',
      edges: { ...open.edges, executions: [run('completed', 'failed')] },
    };
    service.script(responds(200, open), position('a'), responds(200, settled));
    expect(await orders().waitFor(NAME)).toMatchObject(settled);
  });

  it('waits for the runs of every page, and returns the latest', async () => {
    const link = { link: '</accounts/1/orders/2?cursor=p>; rel="next"' };
    const latest = order('completed', 'completed', 'failed');
    service.script(
      responds(200, latest, link),
      shows('completed', 'pending'),
      position('a'),
      shows('completed', 'pending'),
      position('b'),
      shows('completed', 'completed'),
    );
    expect(await orders().waitFor(NAME)).toMatchObject(latest);
    const [read, earlier] = ['/accounts/1/orders/2', '/accounts/1/orders/2?cursor=p'];
    const events = '/events?resourceType=execution&resourceId=30';
    expect(calls()).toEqual([read, earlier, `${events}&wait=0`, earlier, `${events}&cursor=a&wait=20`, earlier]);
  });

  it('pauses after a response without events that is early', async () => {
    const pending = shows('completed', 'pending');
    service.script(pending, position('a'), pending, position('a'), shows('completed', 'completed'));
    const timers = jest.spyOn(globalThis, 'setTimeout');
    await orders().waitFor(NAME);
    expect(timers.mock.calls.filter(([, ms]) => ms === 1_000)).toHaveLength(1);
    timers.mockRestore();
  });

  it.each<[string, Step]>([
    ['a lost connection', dies],
    ['a 503', refuses(503, 'unavailable', { 'Retry-After': '0' })],
    ['a service without events', refuses(404, 'route_not_found')],
  ])('goes on after %s', async (_, step) => {
    service.script(shows('completed', 'pending'), step, shows('completed', 'completed'));
    expect(await orders().waitFor(NAME)).toMatchObject({ status: 'completed' });
  });

  it('ends with a failure that a retry cannot change', async () => {
    service.script(refuses(404, 'order_not_found'));
    await expect(orders().waitFor(NAME)).rejects.toThrow(RemoteRefusal);
    await expect(orders().waitFor({ edges: {} } as never)).rejects.toMatchObject({ reason: 'id_malformed' });
  });

  it('ends after its time', async () => {
    service.script(shows('completed', 'pending'), position('a'), shows('completed', 'pending'), () => undefined);
    await expect(orders().waitFor(NAME, { timeoutMs: 200 })).rejects.toMatchObject({ name: 'TimeoutError' });
  });

  it('ends when its signal is aborted', async () => {
    const controller = new AbortController();
    service.script(shows('completed', 'pending'), position('a'), shows('completed', 'pending'), () =>
      controller.abort(new Error('enough')),
    );
    await expect(orders().waitFor(NAME, { signal: controller.signal })).rejects.toThrow('enough');
    await expect(orders().waitFor(NAME, { signal: controller.signal })).rejects.toThrow('enough');
  });
});
