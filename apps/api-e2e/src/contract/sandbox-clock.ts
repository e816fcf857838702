import type { Order } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import type { Service } from '../service.js';
import { pathsOf, Payer } from './paying.js';
import { faultsIn } from './shapes.js';

/** The clock of a sandbox workspace, and the orders that it makes due. */
export function sandboxClockContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);

  describe('sandbox clock of a workspace', () => {
    const personal = new Payer(service, 'Ada personal');
    const move = (now: unknown) => personal.sendRequest('/sandbox/clock', { body: { now } });
    let year = 2040;
    /** Starts at a year that no earlier run on this service has reached. */
    beforeAll(async () => {
      while ((await move(`${year}-01-01T00:00:00Z`)).status !== 200) expect((year += 1)).toBeLessThan(2200);
    });

    it('moves forward, and refuses to move back', async () => {
      const now = `${year}-02-01T10:00:00.5+01:00`;

      const { status, body } = await move(now);

      expect([status, faultsIn(body, 'SandboxClock')]).toEqual([200, []]);
      expect(body).toEqual({ now: `${year}-02-01T09:00:00.500000Z` });
      expect(await personal.view.sandbox.moveClock({ now })).toEqual(body);
      for (const back of [`${year}-02-01T09:00:00Z`, '2020-01-01T00:00:00Z', '2226-01-01T00:00:00Z']) {
        expect(await move(back)).toMatchObject({ status: 422, body: { reason: 'clock_invalid' } });
      }
    });

    it('refuses a start before it, and not in other workspaces', async () => {
      await move(`${year}-03-01T00:00:00Z`);
      const place = async (by: Payer) => {
        const [from, to] = [await by.account(), await by.account()];
        const recipientID = await by.recipientOf(to);
        return by.send(from.id, { amount: '1', recipientID, type: 'scheduled', startAt: `${year}-02-15T00:00:00Z` });
      };

      const response = await place(personal);

      expect(response).toMatchObject({ status: 422, body: { reason: 'schedule_invalid' } });
      expect(pathsOf(response)).toEqual(['/startAt']);
      expect(await place(ada)).toMatchObject({ status: 200 });
    });

    it('executes an order that it makes due', async () => {
      const [from, to] = [await personal.account('500'), await personal.account()];
      const recipientID = await personal.recipientOf(to);
      const startAt = `${year}-06-01T00:00:00Z`;
      const { body } = await personal.send(from.id, { amount: '500', recipientID, type: 'scheduled', startAt });

      await move(startAt);

      const read = () => personal.view.orders.get(from.id, (body as Order).id);
      const order = await until(read, ({ status }) => status !== 'active');
      expect(order.edges.executions).toMatchObject([{ status: 'completed' }]);
      expect(await personal.balanceOf(to.id)).toBe('500');
    });

    it('pages the executions of an order, latest first', async () => {
      const [from, to] = [await personal.account('500'), await personal.account()];
      const recipientID = await personal.recipientOf(to);
      const startAt = `${year}-07-01T00:00:00Z`;
      const order = { amount: '1', recipientID, type: 'recurring', repeatUnit: 'daily', repeatValue: 1, startAt };
      const placed = (await personal.send(from.id, order)).body as Order;
      const path = `/accounts/${from.id}/orders/${placed.id}`;
      const read = (query = '') => personal.sendRequest(`${path}${query}`);
      const runsOf = (response: { readonly body: unknown }) => (response.body as Order).edges.executions ?? [];
      for (const day of [1, 2]) {
        await move(`${year}-07-0${day}T00:00:00Z`);
        await until(read, (response) => runsOf(response).length > day);
      }
      await personal.view.orders.cancel(from.id, placed.id);

      const [whole, before, last] = [await read(), await read('?limit=500'), await read('?limit=2')];

      expect(runsOf(whole).map(({ sequence, status }) => [sequence, status])).toEqual([
        [1, 'completed'],
        [2, 'completed'],
        [3, 'cancelled'],
      ]);
      expect(whole.headers.has('link')).toBe(false);
      expect(before.text).toBe(whole.text);
      expect(faultsIn(last.body, 'Order')).toEqual([]);
      expect(runsOf(last)).toEqual(runsOf(whole).slice(1));
      const [, target = '', relation] = /^<([^>]+)>; (.+)$/.exec(last.headers.get('link') ?? '') ?? [];
      expect([target.split('?')[0], relation]).toEqual([path, 'rel="next"']);
      const first = await personal.sendRequest(target);
      expect([runsOf(first), first.headers.has('link')]).toEqual([runsOf(whole).slice(0, 1), false]);
      const walked = [];
      for await (const { sequence } of personal.view.orders.executions(from.id, placed.id, { limit: 1 }))
        walked.push(sequence);
      expect(walked).toEqual([3, 2, 1]);

      const [, cursor = ''] = /cursor=([^&]+)/.exec(target) ?? [];
      for (const query of ['limit=0', 'limit=501', 'limit=1.5', 'limit=']) {
        expect(await read(`?${query}`)).toMatchObject({ status: 400, body: { reason: 'limit_invalid' } });
      }
      for (const wrong of ['', 'AAAA', '%00', `${cursor}A`]) {
        expect(await read(`?cursor=${wrong}`)).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } });
      }
      expect(await read('?page=2')).toMatchObject({ status: 400, body: { reason: 'parameter_unknown' } });
      expect(await personal.sendRequest(`/orders?cursor=${cursor}`)).toMatchObject({
        status: 400,
        body: { reason: 'cursor_invalid' },
      });
      const other = (await personal.send(from.id, { ...order, startAt: `${year + 1}-01-01T00:00:00Z` })).body as Order;
      expect(await personal.sendRequest(`/accounts/${from.id}/orders/${other.id}?cursor=${cursor}`)).toMatchObject({
        status: 400,
        body: { reason: 'cursor_invalid' },
      });
    });

    it.each([
      ['nothing', undefined],
      ['a day alone', '2099-01-31'],
      ['a time without an offset', '2099-01-31T09:00:00'],
      ['a day that does not exist', '2099-02-30T09:00:00Z'],
      ['a number', 4_102_444_800],
      ['null', null],
    ])('refuses the time %s by name', async (_, now) => {
      const response = await move(now);

      expect(response).toMatchObject({ status: 400, body: { reason: 'timestamp_invalid' } });
      expect(pathsOf(response)).toEqual(['/now']);
    });
  });
}
