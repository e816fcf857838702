import type { Account, Order } from '@banking/domain';
import { idOf, type Service } from '../service.js';
import { type OrderPart, pathsOf, Payer } from './paying.js';
import { faultsIn } from './shapes.js';

/** The inputs of a scheduled and of a recurring order to the international recipient. */
export function scheduledOrderInputs(service: Service) {
  const ravi = () => idOf(service.world, 'recipients', 'international');
  const once = (part: OrderPart = {}) => ({
    amount: '250000',
    recipientID: ravi(),
    purposeCode: 'IR002',
    type: 'scheduled',
    startAt: '2099-03-31T09:00:00.5+02:00',
    ...part,
  });
  const monthly = (part: OrderPart = {}) => once({ type: 'recurring', repeatUnit: 'monthly', repeatValue: 1, ...part });
  return { ravi, once, monthly };
}

/** Scheduled and recurring orders, and the cancellation of orders. */
export function scheduledOrdersContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const { ravi, once, monthly } = scheduledOrderInputs(service);
  const bare = (text: string) => text.replace(/"requestId":"[^"]*"/, '');
  let account: Account;
  beforeAll(async () => {
    account = await ada.account();
  });
  const place = async (body: object) => (await ada.send(account.id, body)).body as Order;
  const cancel = (order: Order, accountId: number = account.id) => ada.cancel(accountId, order.id);

  describe('scheduled orders', () => {
    it('accepts a scheduled order without funds and leaves it pending until its time', async () => {
      const { status, headers, body } = await ada.send(account.id, once({ description: 'Rent' }));

      const order = body as Order;
      expect(status).toBe(200);
      expect(faultsIn(order, 'Order')).toEqual([]);
      expect(order).toMatchObject({ status: 'active', type: 'scheduled', startAt: '2099-03-31T07:00:00.500000Z' });
      expect(order.edges.executions).toMatchObject([
        { sequence: 1, status: 'scheduled', scheduledAt: '2099-03-31T07:00:00.500000Z', edges: {} },
      ]);
      expect(await ada.view.orders.get(account.id, order.id)).toEqual(order);
      expect(headers.get('location')).toBe(`/accounts/${account.id}/orders/${order.id}`);
    });

    it('schedules the first execution of a recurring order at its start', async () => {
      const order = await place(monthly({ startAt: '2099-01-31T09:00:00+01:00', stopAt: '2099-12-31T09:00:00+01:00' }));

      expect(faultsIn(order, 'Order')).toEqual([]);
      expect(order).toMatchObject({
        status: 'active',
        repeatUnit: 'monthly',
        repeatValue: 1,
        stopAt: '2099-12-31T08:00:00.000000Z',
      });
      expect(order.edges.executions?.map(({ scheduledAt }) => scheduledAt)).toEqual(['2099-01-31T08:00:00.000000Z']);
    });

    it.each<[string, (part?: OrderPart) => object, OrderPart, readonly string[]]>([
      ['no start', once, { startAt: undefined }, ['/startAt']],
      ['a start that is over', once, { startAt: '2020-01-01T00:00:00Z' }, ['/startAt']],
      ['a start in two hundred years', once, { startAt: '2226-01-01T00:00:00Z' }, ['/startAt']],
      ['an end, though it runs once', once, { stopAt: '2099-12-01T00:00:00Z' }, ['/stopAt']],
      [
        'a repetition, though it runs once',
        once,
        { repeatUnit: 'daily', repeatValue: 1 },
        ['/repeatUnit', '/repeatValue'],
      ],
      ['a start, though it is instant', once, { type: 'instant' }, ['/startAt']],
      ['no repetition', monthly, { repeatUnit: undefined, repeatValue: undefined }, ['/repeatUnit', '/repeatValue']],
      ['an end before its start', monthly, { stopAt: '2099-01-01T00:00:00Z' }, ['/stopAt']],
      ['a quote, which does not wait', once, { quoteID: 0 }, ['/quoteID']],
    ])('refuses a schedule with %s', async (_, body, part, paths) => {
      const input = { accountID: account.id, recipientID: ravi(), amount: '250000' };
      const quote = part.quoteID === 0 ? { quoteID: (await ada.view.quotes.create(input as never)).resource.id } : {};

      const response = await ada.send(account.id, body({ ...part, ...quote }));

      expect(response).toMatchObject({ status: 422, body: { reason: 'schedule_invalid' } });
      expect(pathsOf(response)).toEqual([...paths]);
    });

    it.each<[string, OrderPart, string, string]>([
      ['a day alone', { startAt: '2099-01-31' }, 'timestamp_invalid', '/startAt'],
      ['a time without an offset', { startAt: '2099-01-31T09:00:00' }, 'timestamp_invalid', '/startAt'],
      ['a day that does not exist', { startAt: '2099-02-30T09:00:00Z' }, 'timestamp_invalid', '/startAt'],
      ['a number for a time', { stopAt: 4_102_444_800 }, 'timestamp_invalid', '/stopAt'],
      ['another unit', { repeatUnit: 'yearly' }, 'body_malformed', '/repeatUnit'],
      ['no repetition at all', { repeatValue: 0 }, 'body_malformed', '/repeatValue'],
      ['a repetition of 367', { repeatValue: 367 }, 'body_malformed', '/repeatValue'],
      ['half a repetition', { repeatValue: 1.5 }, 'body_malformed', '/repeatValue'],
      ['a repetition as a text', { repeatValue: '1' }, 'body_malformed', '/repeatValue'],
    ])('refuses %s and names the field', async (_, part, reason, path) => {
      const response = await ada.send(account.id, monthly(part));

      expect(response).toMatchObject({ status: 400, body: { reason } });
      expect(pathsOf(response)).toEqual([path]);
    });

    it('refuses at placement an order that could never be executed', async () => {
      for (const [part, reason] of [
        [{ purposeCode: undefined }, 'purpose_code_required'],
        [{ amount: '999' }, 'amount_below_minimum'],
        [{ recipientID: 999_999 }, 'recipient_invalid'],
      ] as const) {
        expect(await ada.send(account.id, monthly(part))).toMatchObject({ status: 422, body: { reason } });
      }
    });
  });

  describe('order cancellation', () => {
    it.each([
      ['scheduled', once],
      ['recurring', monthly],
    ])('cancels an order that is %s, and cancels it once', async (_, body) => {
      const order = await place(body());

      const response = await cancel(order);

      expect(response.status).toBe(200);
      expect(faultsIn(response.body, 'Order')).toEqual([]);
      expect(response.body).toMatchObject({
        id: order.id,
        status: 'cancelled',
        edges: { executions: [{ status: 'cancelled' }] },
      });
      expect(await ada.view.orders.get(account.id, order.id)).toEqual(response.body);
      expect(await cancel(order)).toMatchObject({
        status: 409,
        body: { errorCode: 'conflict', reason: 'order_not_cancellable' },
      });
    });

    it('cancels once under concurrent cancellations', async () => {
      const order = await place(once());

      const responses = await Promise.all(Array.from({ length: 6 }, () => cancel(order)));

      expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
    });

    it('refuses to resume an order that is not paused', async () => {
      const order = await place(monthly());

      const response = await ada.sendRequest(`/accounts/${account.id}/orders/${order.id}/resumption`, {
        method: 'POST',
      });

      expect(response).toMatchObject({ status: 409, body: { errorCode: 'conflict', reason: 'order_not_paused' } });
      await expect(ada.view.orders.resume(account.id, order.id)).rejects.toMatchObject({ reason: 'order_not_paused' });
      expect(await ada.view.orders.get(account.id, order.id)).toEqual(order);
    });

    it('refuses to cancel a completed order and moves no money', async () => {
      const [from, to] = [await ada.account('100'), await ada.account()];
      const { body } = await ada.send(from.id, {
        amount: '100',
        recipientID: await ada.recipientOf(to),
        type: 'instant',
      });

      expect(await cancel(body as Order, from.id)).toMatchObject({
        status: 409,
        body: { reason: 'order_not_cancellable' },
      });
      expect(await ada.balanceOf(to.id)).toBe('100');
    });

    it('gives one response for an unknown order and an order of another account or workspace', async () => {
      const order = await place(once());
      const personal = new Payer(service, 'Ada personal');
      const at = (accountId: number, orderId: number) => `/accounts/${accountId}/orders/${orderId}`;
      const other = await ada.account();

      for (const [end, method] of [
        ['', 'GET'],
        ['/cancellation', 'POST'],
        ['/resumption', 'POST'],
      ] as const) {
        const responses = [
          await ada.sendRequest(`${at(other.id, order.id)}${end}`, { method }),
          await ada.sendRequest(`${at(account.id, 999_999_999)}${end}`, { method }),
          await ada.sendRequest(`${at(999_999_999, order.id)}${end}`, { method }),
          await personal.sendRequest(`${at(account.id, order.id)}${end}`, { method }),
        ];
        expect(responses[0]).toMatchObject({ status: 404, body: { reason: 'order_not_found' } });
        expect(new Set(responses.map(({ status, text }) => `${status} ${bare(text)}`)).size).toBe(1);
      }
      expect(await ada.view.orders.get(account.id, order.id)).toMatchObject({ status: 'active' });
    });
  });
}
