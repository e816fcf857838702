import { BankingClient } from '@banking/client';
import type { Order, OrderQuery, Transfer, TransferQuery, WorkspaceId } from '@banking/domain';
import { sendRequest } from '../responses.js';
import { ADA, EVE, idOf, type Service } from '../service.js';
import { faultsIn } from './shapes.js';
import { Payer } from './paying.js';
import { scheduledOrderInputs } from './scheduled-orders.js';

/** The behaviour of every list, tested with transfers. */
export function listsContract(provide: () => Service): void {
  const service = provide();
  const workspace = () => idOf(service.world, 'workspaces', 'Northwind Trading');
  const get = (path: string) => sendRequest(service, path, { as: ADA, workspace: workspace() });
  const client = () => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(ADA) });

  async function walk(query: TransferQuery): Promise<readonly Transfer[]> {
    const view = client().workspace(workspace() as WorkspaceId);
    const walked: Transfer[] = [];
    let cursor: string | undefined;
    do {
      const { items, next } = await view.transfers.listPage({ ...query, cursor });
      walked.push(...items);
      cursor = next;
    } while (cursor !== undefined);
    return walked;
  }

  describe('lists', () => {
    it('returns an array of complete resources, newest first', async () => {
      const { body, headers } = await get('/transfers');

      const transfers = body as Transfer[];
      expect(transfers.flatMap((transfer) => faultsIn(transfer, 'Transfer'))).toEqual([]);
      const order = transfers.map(({ createdAt, id }) => `${createdAt} ${String(id).padStart(16, '0')}`);
      expect(order).toEqual([...order].sort().reverse());
      expect(headers.has('link')).toBe(false);
    });

    it('returns each item once over all pages', async () => {
      const whole = (await walk({})).map(({ id }) => id);

      expect((await walk({ limit: 1 })).map(({ id }) => id)).toEqual(whole);
      expect((await walk({ limit: 3 })).map(({ id }) => id)).toEqual(whole);
      expect(new Set(whole).size).toBe(whole.length);
    });

    it('links to the next page with a relative URL that repeats the filters', async () => {
      const { headers } = await get('/transfers?limit=1&type=payout&createdFrom=2020-01-01T00:00:00%2B01:00');

      const [, target, relation] = /^<([^>]+)>; (.+)$/.exec(headers.get('link') ?? '') ?? [];
      expect(relation).toBe('rel="next"');
      expect(target).toMatch(/^\/transfers\?/);
      const query = new URLSearchParams(target?.split('?')[1]);
      expect([...query.keys()].sort()).toEqual(['createdFrom', 'cursor', 'limit', 'type']);
      expect(query.get('createdFrom')).toBe('2020-01-01T00:00:00+01:00');
      expect((await get(target ?? '')).status).toBe(200);
    });

    it.each<[string, string, string, readonly string[]]>([
      ['limit=0', 'limit_invalid', 'limit must be a whole number from 1 to 500.', ['limit']],
      ['limit=501', 'limit_invalid', 'limit must be a whole number from 1 to 500.', ['limit']],
      ['limit=', 'limit_invalid', 'limit must be a whole number from 1 to 500.', ['limit']],
      ['limit=1e2', 'limit_invalid', 'limit must be a whole number from 1 to 500.', ['limit']],
      ['limit=10&limit=10', 'parameter_repeated', 'Send the parameter limit once.', ['limit']],
      ['limit[]=10', 'parameter_unknown', 'limit[] is unknown: remove it, or correct its name.', ['limit[]']],
      [
        'accountId=01',
        'id_malformed',
        'accountId must be a whole number from 1 to 9007199254740991, in digits without a leading zero.',
        ['accountId'],
      ],
      ['direction=DEBIT', 'parameter_invalid', 'direction must be one of debit, credit.', ['direction']],
      [
        'createdFrom=2026-11-22T00:00:00Z&createdTo=2026-11-21T00:00:00Z',
        'timestamp_invalid',
        'createdFrom must not be after createdTo.',
        ['createdFrom'],
      ],
      [
        'createdFrom=2026-11-21',
        'timestamp_invalid',
        'createdFrom must be RFC 3339 with an offset, such as 2026-11-21T09:30:00Z; in a query, + is written %2B.',
        ['createdFrom'],
      ],
      ['acountId=1', 'parameter_unknown', 'acountId is unknown: remove it, or correct its name.', ['acountId']],
      ['__proto__=1', 'parameter_unknown', '__proto__ is unknown: remove it, or correct its name.', ['__proto__']],
      [
        'constructor=1',
        'parameter_unknown',
        'constructor is unknown: remove it, or correct its name.',
        ['constructor'],
      ],
      ['cursor=', 'cursor_invalid', 'cursor must be the cursor of a `Link` header, unchanged.', ['cursor']],
      [
        'limit=0&direction=up',
        'parameter_invalid',
        'A query parameter has a value that the operation does not accept.',
        ['limit', 'direction'],
      ],
    ])('refuses the query %s and names the parameter', async (query, reason, message, paths) => {
      const { status, body } = await get(`/transfers?${query}`);

      expect(status).toBe(400);
      expect(body).toMatchObject({ errorCode: 'invalid_request', reason, message });
      const { details } = body as { details: { path: string }[] };
      expect(details.map(({ path }) => path).sort()).toEqual([...paths].sort());
    });

    it.each([
      ['accountId=999999', 404, 'account_not_found'],
      ['recipientId=999999', 404, 'recipient_not_found'],
      ['cursor=AAAA', 400, 'cursor_invalid'],
    ])('refuses the query %s', async (query, status, reason) => {
      expect(await get(`/transfers?${query}`)).toMatchObject({ status, body: { reason } });
    });

    it('refuses a cursor with other filters or in another workspace', async () => {
      const { next = '' } = await client().workspace(workspace()).transfers.listPage({ limit: 1 });
      const elsewhere = { as: ADA, workspace: idOf(service.world, 'workspaces', 'Ada personal') };

      expect(await get(`/transfers?cursor=${next}&type=payout`)).toMatchObject({ body: { reason: 'cursor_invalid' } });
      expect(await sendRequest(service, `/transfers?cursor=${next}`, elsewhere)).toMatchObject({
        body: { reason: 'cursor_invalid' },
      });
      expect(await get(`/transfers?cursor=${next}&limit=2`)).toMatchObject({ status: 200 });
    });
  });
}

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

/** The reads without a workspace, by our client. */
export function readsContract(provide: () => Service): void {
  const service = provide();
  const client = (email: string) => new BankingClient({ baseUrl: service.url, token: () => service.tokenOf(email) });

  describe('reads of a user', () => {
    it('lists only the app of the user', async () => {
      const apps = await client(ADA).apps.list();

      expect(faultsIn(apps, 'App[]')).toEqual([]);
      expect(apps).toMatchObject([
        { id: idOf(service.world, 'apps', 'Northwind Treasury'), name: 'Northwind Treasury' },
      ]);
      expect(apps).toHaveLength(1);
    });

    it('lists different apps for a user of another app', async () => {
      const apps = await client(EVE).apps.list();

      expect(apps.map(({ id }) => id)).toEqual([idOf(service.world, 'apps', 'Southwind')]);
    });

    it('lists users of an app with the published fields and their roles', async () => {
      const users = await client(ADA).apps.users(idOf(service.world, 'apps', 'Northwind Treasury'));

      expect(faultsIn(users, 'User[]')).toEqual([]);
      expect(users.filter(({ edges }) => !Array.isArray(edges.roles))).toEqual([]);
    });

    it('lists products of one currency each, with unique names per currency', async () => {
      const products = await client(ADA).products.list();

      expect(faultsIn(products, 'Product[]')).toEqual([]);
      expect(products.length).toBeGreaterThan(4);
      const named = products.map(({ name, edges }) => `${name} ${edges.currency.id}`);
      expect(new Set(named).size).toBe(products.length);
      expect(products.map(({ edges }) => edges.currency.code)).toEqual(
        expect.arrayContaining(['USD', 'EUR', 'JPY', 'KWD']),
      );
    });

    it('shows decimals and the minimum SWIFT withdrawal in minor units of the currency', async () => {
      const products = await client(ADA).products.list();

      const decimals = new Map(products.map(({ edges }) => [edges.currency.code, edges.currency.decimals]));
      expect(Object.fromEntries(decimals)).toMatchObject({ USD: 2, JPY: 0, KWD: 3 });
    });

    it.each(['/apps', '/products', '/recipients/countries/IN/corridors'])(
      'returns %s as JSON in UTF-8 without null',
      async (path) => {
        const response = await sendRequest(service, path, { as: ADA });

        expect(response.status).toBe(200);
        expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8');
        expect(response.text).toMatch(/^\[/);
        expect(response.text).not.toMatch(/[:[,]null\b/);
      },
    );

    it('returns the same body for a repeated read', async () => {
      const [once, again] = [
        await sendRequest(service, '/products', { as: ADA }),
        await sendRequest(service, '/products', { as: EVE }),
      ];

      expect(again.text).toBe(once.text);
    });
  });
}
