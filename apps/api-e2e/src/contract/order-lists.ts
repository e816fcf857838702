import type { Order, OrderQuery } from '@banking/domain';
import type { Service } from '../service.js';
import { idOf } from '../world.js';
import { Payer } from './paying.js';
import { scheduledOrderInputs } from './scheduled-order-inputs.js';
import { faultsIn } from './shapes.js';

/** Lists of orders, their filters and their pages. */
export function orderListsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const { ravi, once, monthly } = scheduledOrderInputs(service);
  const bare = (text: string) => text.replace(/"requestId":"[^"]*"/, '');
  const cancel = (order: Order, accountId: number) => ada.cancel(accountId, order.id);

  describe('GET /accounts/{accountId}/orders', () => {
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

    it('lists complete orders newest first, and pages omit none', async () => {
      const { body, headers } = await ada.sendRequest('/orders?limit=500');

      const orders = body as Order[];
      expect(orders.flatMap((order) => faultsIn(order, 'Order'))).toEqual([]);
      const times = orders.map(({ createdAt, id }) => `${createdAt} ${String(id).padStart(16, '0')}`);
      expect(times).toEqual([...times].sort().reverse());
      expect(headers.has('link')).toBe(false);
      expect(await walk({ limit: 2 })).toEqual(orders.map(({ id }) => id));
    });

    it('combines filters and repeats them in the next link', async () => {
      const of = await ada.account();
      const [first, second] = [await ada.send(of.id, once()), await ada.send(of.id, monthly())].map(
        ({ body }) => body as Order,
      );
      const third = (await ada.send(of.id, monthly())).body as Order;
      await cancel(third, of.id);
      const accountId = of.id;

      expect(await walk({ accountId })).toEqual([third.id, second?.id, first?.id]);
      expect(await walk({ accountId, type: 'recurring' })).toEqual([third.id, second?.id]);
      expect(await walk({ accountId, type: 'recurring', status: 'active' })).toEqual([second?.id]);
      expect(await walk({ accountId, status: 'failed' })).toEqual([]);
      expect(await walk({ accountId, createdFrom: second?.createdAt, createdTo: third.createdAt })).toEqual([
        second?.id,
      ]);
      expect(await walk({ accountId, recipientId: ravi() as never })).toHaveLength(3);
      const externalReference = `of account ${accountId}`;
      const named = (await ada.send(of.id, once({ externalReference }))).body as Order;
      expect(await walk({ externalReference })).toEqual([named.id]);
      expect(await walk({ externalReference, status: 'failed' })).toEqual([]);
      expect(await walk({ externalReference: `${externalReference}?` })).toEqual([]);
      await cancel(named, of.id);
      const { headers } = await ada.sendRequest(`/orders?accountId=${accountId}&status=active&limit=1`);
      const [, target = ''] = /^<(\/orders\?[^>]+)>; rel="next"$/.exec(headers.get('link') ?? '') ?? [];
      expect((await ada.sendRequest(target)).body).toMatchObject([{ id: first?.id }]);
      expect(await ada.sendRequest(target.replace('status=active', 'status=cancelled'))).toMatchObject({
        status: 400,
        body: { reason: 'cursor_invalid' },
      });
    });

    it('filters by the user who placed an order', async () => {
      const of = await ada.account();
      const order = (await ada.send(of.id, monthly())).body as Order;
      const { placedBy } = order;
      const accountId = of.id;
      // A gateway shows the user whose credential it has.
      expect(placedBy).toEqual(expect.any(Number));

      expect(await walk({ accountId, placedBy })).toEqual([order.id]);
      expect((await walk({ placedBy, type: 'recurring', limit: 2 })).includes(order.id)).toBe(true);
      expect(await walk({ placedBy: 999_999_999 as never })).toEqual([]);
      expect(((await cancel(order, of.id)).body as Order).cancelledBy).toBe(placedBy);
      expect(await ada.view.orders.get(of.id, order.id)).toMatchObject({ placedBy, cancelledBy: placedBy });
      const { items } = await ada.view.orders.listPage({ accountId, placedBy });
      expect(items).toMatchObject([{ placedBy, cancelledBy: placedBy }]);
    });

    it('matches the reference of an order exactly', async () => {
      const of = await ada.account();
      const references = [`Ünïcode ${of.id}`, `  two spaces ${of.id} `, `a+b&c=d#e/${of.id}?%20`, `Case ${of.id}`];
      const placed: Order[] = [];
      for (const externalReference of references)
        placed.push((await ada.send(of.id, once({ externalReference }))).body as Order);

      for (const [index, externalReference] of references.entries()) {
        expect(await walk({ externalReference })).toEqual([placed[index]!.id]);
      }
      for (const externalReference of [`case ${of.id}`, `two spaces ${of.id}`, `Case ${of.id} `, `Case %`]) {
        expect(await ada.sendRequest(`/orders?${new URLSearchParams({ externalReference }).toString()}`)).toMatchObject(
          { status: 200, body: [] },
        );
      }
    });

    it.each([
      ['status=banana', 400, 'parameter_invalid'],
      ['externalReference=', 400, 'parameter_invalid'],
      ['externalReference=a%00b', 400, 'parameter_invalid'],
      [`externalReference=${'x'.repeat(141)}`, 400, 'parameter_invalid'],
      ['type=spot', 400, 'parameter_invalid'],
      ['accountId=1.5', 400, 'id_malformed'],
      ['placedBy=ada', 400, 'id_malformed'],
      ['createdFrom=2026-13-45', 400, 'timestamp_invalid'],
      ['createdFrom=2026-02-02T00:00:00Z&createdTo=2026-02-01T00:00:00Z', 400, 'timestamp_invalid'],
      ['limit=501', 400, 'limit_invalid'],
      ['cursor=%00', 400, 'cursor_invalid'],
      ['colour=blue', 400, 'parameter_unknown'],
      ['accountId=999999999', 404, 'account_not_found'],
      ['recipientId=999999999', 404, 'recipient_not_found'],
    ])('refuses a list with %s', async (query, status, reason) => {
      expect(await ada.sendRequest(`/orders?${query}`)).toMatchObject({ status, body: { reason } });
    });

    it('returns an empty list for a filter by an account of another workspace', async () => {
      const southwind = idOf(service.world, 'accounts', 'Southwind Imports USD');

      const [theirs, unknown] = [
        await ada.sendRequest(`/orders?accountId=${southwind}`),
        await ada.sendRequest('/orders?accountId=999999999'),
      ];

      expect([theirs.status, bare(theirs.text)]).toEqual([404, bare(unknown.text)]);
    });
  });
}
