import type { Account, Order, OrderQuery } from '@banking/domain';
import type { Service } from '../service.js';
import { idOf } from '../world.js';
import { type OrderPart, pathsOf, Payer } from './paying.js';
import { mistakesIn } from './shapes.js';

/** Orders that run later, how they are cancelled, and where all orders are found. */
export function laterOrdersContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
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
  const bare = (text: string) => text.replace(/"requestId":"[^"]*"/, '');
  let account: Account;
  beforeAll(async () => {
    account = await ada.account();
  });
  const place = async (body: object) => (await ada.send(account.id, body)).body as Order;
  const cancel = (order: Order, accountId: number = account.id) =>
    ada.ask(`/accounts/${accountId}/orders/${order.id}/cancellation`, { method: 'POST' });

  describe('and an order for later', () => {
    it('When it is placed Then it waits for its time, and needs no money until then', async () => {
      const { status, headers, body } = await ada.send(account.id, once({ description: 'Rent' }));

      const order = body as Order;
      expect(status).toBe(200);
      expect(mistakesIn(order, 'Order')).toEqual([]);
      expect(order).toMatchObject({ status: 'active', type: 'scheduled', startAt: '2099-03-31T07:00:00.500000Z' });
      expect(order.edges.executions).toMatchObject([
        { sequence: 1, status: 'scheduled', scheduledAt: '2099-03-31T07:00:00.500000Z', edges: {} },
      ]);
      expect(await ada.view.orders.get(account.id, order.id)).toEqual(order);
      expect(headers.get('location')).toBe(`/accounts/${account.id}/orders/${order.id}`);
    });

    it('When it recurs Then its first run is at its start', async () => {
      const order = await place(monthly({ startAt: '2099-01-31T09:00:00+01:00', stopAt: '2099-12-31T09:00:00+01:00' }));

      expect(mistakesIn(order, 'Order')).toEqual([]);
      expect(order).toMatchObject({ status: 'active', repeatUnit: 'monthly', repeatValue: 1, stopAt: '2099-12-31T08:00:00.000000Z' }); // prettier-ignore
      expect(order.edges.executions?.map(({ scheduledAt }) => scheduledAt)).toEqual(['2099-01-31T08:00:00.000000Z']);
    });

    it.each<[string, (part?: OrderPart) => object, OrderPart, readonly string[]]>([
      ['no start', once, { startAt: undefined }, ['/startAt']],
      ['a start that is over', once, { startAt: '2020-01-01T00:00:00Z' }, ['/startAt']],
      ['a start in two hundred years', once, { startAt: '2226-01-01T00:00:00Z' }, ['/startAt']],
      ['an end, though it runs once', once, { stopAt: '2099-12-01T00:00:00Z' }, ['/stopAt']],
      ['a repetition, though it runs once', once, { repeatUnit: 'daily', repeatValue: 1 }, ['/repeatUnit', '/repeatValue']], // prettier-ignore
      ['a start, though it is instant', once, { type: 'instant' }, ['/startAt']],
      ['no repetition', monthly, { repeatUnit: undefined, repeatValue: undefined }, ['/repeatUnit', '/repeatValue']],
      ['an end before its start', monthly, { stopAt: '2099-01-01T00:00:00Z' }, ['/stopAt']],
      ['a quote, which does not wait', once, { quoteID: 0 }, ['/quoteID']],
    ])('When it has %s Then it is refused as it is scheduled', async (_, body, part, paths) => {
      const wish = { accountID: account.id, recipientID: ravi(), amount: '250000' };
      const quote = part.quoteID === 0 ? { quoteID: (await ada.view.quotes.create(wish as never)).resource.id } : {};

      const answer = await ada.send(account.id, body({ ...part, ...quote }));

      expect(answer).toMatchObject({ status: 422, body: { reason: 'schedule_invalid' } });
      expect(pathsOf(answer)).toEqual([...paths]);
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
    ])('When it has %s Then it is refused by name', async (_, part, reason, path) => {
      const answer = await ada.send(account.id, monthly(part));

      expect(answer).toMatchObject({ status: 400, body: { reason } });
      expect(pathsOf(answer)).toEqual([path]);
    });

    it('When it could never run Then it is refused when it is placed', async () => {
      for (const [part, reason] of [
        [{ purposeCode: undefined }, 'purpose_code_required'],
        [{ amount: '999' }, 'amount_below_minimum'],
        [{ recipientID: 999_999 }, 'recipient_invalid'],
      ] as const) {
        expect(await ada.send(account.id, monthly(part))).toMatchObject({ status: 422, body: { reason } });
      }
    });
  });

  describe('and an order to be cancelled', () => {
    it.each([
      ['scheduled', once],
      ['recurring', monthly],
    ])('When it is %s Then nothing of it will run, and it is cancelled once', async (_, body) => {
      const order = await place(body());

      const answer = await cancel(order);

      expect(answer.status).toBe(200);
      expect(mistakesIn(answer.body, 'Order')).toEqual([]);
      expect(answer.body).toMatchObject({ id: order.id, status: 'cancelled', edges: { executions: [{ status: 'cancelled' }] } }); // prettier-ignore
      expect(await ada.view.orders.get(account.id, order.id)).toEqual(answer.body);
      expect(await cancel(order)).toMatchObject({ status: 409, body: { errorCode: 'conflict', reason: 'order_not_cancellable' } }); // prettier-ignore
    });

    it('When many cancel it at once Then one has done it', async () => {
      const order = await place(once());

      const answers = await Promise.all(Array.from({ length: 6 }, () => cancel(order)));

      expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409]);
    });

    it('When it is not paused Then it cannot be resumed, and stays as it is', async () => {
      const order = await place(monthly());

      const answer = await ada.ask(`/accounts/${account.id}/orders/${order.id}/resumption`, { method: 'POST' });

      expect(answer).toMatchObject({ status: 409, body: { errorCode: 'conflict', reason: 'order_not_paused' } });
      await expect(ada.view.orders.resume(account.id, order.id)).rejects.toMatchObject({ reason: 'order_not_paused' });
      expect(await ada.view.orders.get(account.id, order.id)).toEqual(order);
    });

    it('When it has paid Then it cannot be, and the money stays where it is', async () => {
      const [from, to] = [await ada.account('100'), await ada.account()];
      const { body } = await ada.send(from.id, { amount: '100', recipientID: await ada.recipientOf(to), type: 'instant' }); // prettier-ignore

      expect(await cancel(body as Order, from.id)).toMatchObject({ status: 409, body: { reason: 'order_not_cancellable' } }); // prettier-ignore
      expect(await ada.balanceOf(to.id)).toBe('100');
    });

    it('When another account or workspace names it, or nobody has it, Then all are the same answer', async () => {
      const order = await place(once());
      const personal = new Payer(service, 'Ada personal');
      const at = (accountId: number, orderId: number) => `/accounts/${accountId}/orders/${orderId}`;
      const other = await ada.account();

      for (const [end, method] of [
        ['', 'GET'],
        ['/cancellation', 'POST'],
        ['/resumption', 'POST'],
      ] as const) {
        // prettier-ignore
        const answers = [
          await ada.ask(`${at(other.id, order.id)}${end}`, { method }),
          await ada.ask(`${at(account.id, 999_999_999)}${end}`, { method }),
          await ada.ask(`${at(999_999_999, order.id)}${end}`, { method }),
          await personal.ask(`${at(account.id, order.id)}${end}`, { method }),
        ];
        expect(answers[0]).toMatchObject({ status: 404, body: { reason: 'order_not_found' } });
        expect(new Set(answers.map(({ status, text }) => `${status} ${bare(text)}`)).size).toBe(1);
      }
      expect(await ada.view.orders.get(account.id, order.id)).toMatchObject({ status: 'active' });
    });
  });

  describe('and its orders', () => {
    const walk = async (query: OrderQuery) => {
      const walked: number[] = [];
      let cursor: string | undefined;
      do {
        const { items, next } = await ada.view.orders.listPage({ ...query, cursor });
        walked.push(...items.map(({ id }) => id));
        cursor = next;
      } while (cursor !== undefined);
      return walked;
    };

    it('When they are listed Then they are whole and newest first, and pages leave out none', async () => {
      const { body, headers } = await ada.ask('/orders?limit=500');

      const orders = body as Order[];
      expect(orders.flatMap((order) => mistakesIn(order, 'Order'))).toEqual([]);
      const times = orders.map(({ createdAt, id }) => `${createdAt} ${String(id).padStart(16, '0')}`);
      expect(times).toEqual([...times].sort().reverse());
      expect(headers.has('link')).toBe(false);
      expect(await walk({ limit: 2 })).toEqual(orders.map(({ id }) => id));
    });

    it('When they are filtered Then all that is given holds, and the link carries it on', async () => {
      const of = await ada.account();
      const [first, second] = [await ada.send(of.id, once()), await ada.send(of.id, monthly())].map(({ body }) => body as Order); // prettier-ignore
      const third = (await ada.send(of.id, monthly())).body as Order;
      await cancel(third, of.id);
      const accountId = of.id;

      expect(await walk({ accountId })).toEqual([third.id, second?.id, first?.id]);
      expect(await walk({ accountId, type: 'recurring' })).toEqual([third.id, second?.id]);
      expect(await walk({ accountId, type: 'recurring', status: 'active' })).toEqual([second?.id]);
      expect(await walk({ accountId, status: 'failed' })).toEqual([]);
      expect(await walk({ accountId, createdFrom: second?.createdAt, createdTo: third.createdAt })).toEqual([second?.id]); // prettier-ignore
      expect(await walk({ accountId, recipientId: ravi() as never })).toHaveLength(3);
      const externalReference = `of account ${accountId}`;
      const named = (await ada.send(of.id, once({ externalReference }))).body as Order;
      expect(await walk({ externalReference })).toEqual([named.id]);
      expect(await walk({ externalReference, status: 'failed' })).toEqual([]);
      expect(await walk({ externalReference: `${externalReference}?` })).toEqual([]);
      await cancel(named, of.id);
      const { headers } = await ada.ask(`/orders?accountId=${accountId}&status=active&limit=1`);
      const [, target = ''] = /^<(\/orders\?[^>]+)>; rel="next"$/.exec(headers.get('link') ?? '') ?? [];
      expect((await ada.ask(target)).body).toMatchObject([{ id: first?.id }]);
      expect(await ada.ask(target.replace('status=active', 'status=cancelled'))).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } }); // prettier-ignore
    });

    it('When one is looked up by its reference Then every character of it counts', async () => {
      const of = await ada.account();
      const references = [`Ünïcode ${of.id}`, `  two spaces ${of.id} `, `a+b&c=d#e/${of.id}?%20`, `Case ${of.id}`];
      const placed: Order[] = [];
      for (const externalReference of references) placed.push((await ada.send(of.id, once({ externalReference }))).body as Order); // prettier-ignore

      for (const [index, externalReference] of references.entries()) {
        expect(await walk({ externalReference })).toEqual([placed[index]!.id]);
      }
      for (const externalReference of [`case ${of.id}`, `two spaces ${of.id}`, `Case ${of.id} `, `Case %`]) {
        expect(await ada.ask(`/orders?${new URLSearchParams({ externalReference }).toString()}`)).toMatchObject({ status: 200, body: [] }); // prettier-ignore
      }
    });

    it.each([
      ['status=banana', 400, 'parameter_invalid'],
      ['externalReference=', 400, 'parameter_invalid'],
      ['externalReference=a%00b', 400, 'parameter_invalid'],
      [`externalReference=${'x'.repeat(141)}`, 400, 'parameter_invalid'],
      ['type=spot', 400, 'parameter_invalid'],
      ['accountId=1.5', 400, 'id_malformed'],
      ['createdFrom=2026-13-45', 400, 'timestamp_invalid'],
      ['createdFrom=2026-02-02T00:00:00Z&createdTo=2026-02-01T00:00:00Z', 400, 'timestamp_invalid'],
      ['limit=501', 400, 'limit_invalid'],
      ['cursor=%00', 400, 'cursor_invalid'],
      ['colour=blue', 400, 'parameter_unknown'],
      ['accountId=999999999', 404, 'account_not_found'],
      ['recipientId=999999999', 404, 'recipient_not_found'],
    ])('When they are asked for with %s Then it is refused', async (query, status, reason) => {
      expect(await ada.ask(`/orders?${query}`)).toMatchObject({ status, body: { reason } });
    });

    it('When a filter names an account of another workspace Then it is as if there were none', async () => {
      const southwind = idOf(service.world, 'accounts', 'Southwind Imports USD');

      const [theirs, nobodys] = [await ada.ask(`/orders?accountId=${southwind}`), await ada.ask('/orders?accountId=999999999')]; // prettier-ignore

      expect([theirs.status, bare(theirs.text)]).toEqual([404, bare(nobodys.text)]);
    });
  });
}
