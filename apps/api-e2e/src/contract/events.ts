import type { AuditEvent, AuditQuery, Event, EventQuery, Order, Transaction } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { sendRequest } from '../responses.js';
import { ADA, EVE, idOf, type Service } from '../service.js';
import { Payer } from './paying.js';
import { DATA, INDIA } from './recipients.js';
import { faultsIn } from './shapes.js';

/** The record of what happened in a workspace. */
export function eventsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const linkOf = (headers: Headers) => /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '';
  /** The position behind all events that are recorded now. */
  const now = async (filters: EventQuery = {}) => {
    for (let cursor: string | undefined; ;) {
      const { items, next } = await ada.view.events.listPage({ ...filters, cursor, limit: 500 });
      if (items.length === 0 && next === cursor) return next;
      cursor = next;
    }
  };

  describe('GET /events', () => {
    it('lists complete events, oldest first, and always links behind them', async () => {
      const { body, headers } = await ada.sendRequest('/events?limit=20');

      const events = body as Event[];
      expect(events).toHaveLength(20);
      expect(events.flatMap((event) => faultsIn(event, 'Event'))).toEqual([]);
      const ids = events.map(({ id }) => id);
      expect(ids).toEqual([...ids].sort((one, other) => one - other));
      const rest = (await ada.sendRequest(linkOf(headers))).body as Event[];
      expect(rest[0]!.id).toBeGreaterThan(ids.at(-1)!);
      expect((await ada.sendRequest(`/events/${ids[0]}`)).body).toEqual(events[0]);
    });

    it('tells the life of a payment abroad, and the client waits for its end', async () => {
      const account = await ada.account('100000000');
      const { resource: asha } = await ada.view.recipients.addInternational({ ...INDIA, data: DATA, saved: false });
      const input = { amount: '250000', recipientID: asha.id, type: 'instant', purposeCode: 'IR002' };
      const placed = (await ada.send(account.id, input)).body as { id: number };

      const name = { accountId: account.id, orderId: placed.id as never };
      const settled = await ada.view.orders.waitFor(name, { until: 'settled', timeoutMs: 60_000 });

      const [execution] = settled.edges.executions!;
      expect(execution?.status).toBe('completed');
      const typesOf = async (resourceType: 'order' | 'execution' | 'transaction', resourceId: number) => {
        const events: Event[] = [];
        // An event follows its change by a moment.
        for await (const event of ada.view.events.follow({ resourceType, resourceId })) {
          events.push(event);
          if (event.type === `${resourceType}.completed`) break;
        }
        expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
        return events.map(({ type }) => type);
      };
      expect(await typesOf('order', placed.id)).toEqual(['order.placed', 'order.completed']);
      expect(await typesOf('execution', execution!.id)).toEqual(['execution.started', 'execution.completed']);
      expect(await typesOf('transaction', execution!.edges.transaction!.id)).toEqual([
        'transaction.created',
        'transaction.completed',
      ]);
    });

    it('holds a request until there is an event', async () => {
      const type = ['account.opened'] as const;
      const cursor = await now({ type });
      const held = ada.sendRequest(`/events?type=account.opened&wait=20&cursor=${cursor}`);
      const account = await ada.account();

      const { body, headers } = await held;
      expect(body).toMatchObject([
        {
          type: 'account.opened',
          resource: { type: 'account', id: account.id },
          changes: { status: { after: 'enabled' } },
        },
      ]);
      expect(linkOf(headers)).toContain('wait=20');
    });

    it('returns the same position if there is no event in time', async () => {
      const cursor = await now({ type: ['account.disabled'], resourceType: 'account' });
      const path = `/events?type=account.disabled&resourceType=account&wait=1&cursor=${cursor}`;
      const { body, status } = await ada.sendRequest(path);
      expect([status, body]).toEqual([200, []]);
    });

    it('is followed by the client until its signal is aborted', async () => {
      const after = await now({ resourceType: 'account' });
      const controller = new AbortController();
      const { signal } = controller;
      const opened = [await ada.account(), await ada.account()].map(({ id }) => id);
      const seen: number[] = [];
      const saved: string[] = [];
      const saveCursor = (cursor: string) => void saved.push(cursor);

      for await (const { resource } of ada.view.events.follow({ after, resourceType: 'account', signal, saveCursor })) {
        if (opened.includes(resource.id as never)) seen.push(resource.id);
        if (seen.length === opened.length) controller.abort();
      }

      expect(seen).toEqual(opened);
    });

    it.each([
      ['type=order.lost', 400, 'parameter_invalid'],
      ['type=order.placed&type=', 400, 'parameter_invalid'],
      ['type[]=order.placed', 400, 'parameter_unknown'],
      ['resourceType=orders', 400, 'parameter_invalid'],
      ['resourceType=order&resourceType=account', 400, 'parameter_repeated'],
      ['resourceId=1', 400, 'parameter_invalid'],
      ['resourceType=order&resourceId=01', 400, 'id_malformed'],
      ['createdFrom=2026-13-45', 400, 'timestamp_invalid'],
      ['createdFrom=2026-02-02T00:00:00Z&createdTo=2026-02-01T00:00:00Z', 400, 'timestamp_invalid'],
      ['wait=21', 400, 'parameter_invalid'],
      ['wait=1.5', 400, 'parameter_invalid'],
      ['wait=1&wait=1', 400, 'parameter_repeated'],
      ['limit=501', 400, 'limit_invalid'],
      ['cursor=%00', 400, 'cursor_invalid'],
      ['cursor=x&wait=20', 400, 'cursor_invalid'],
      ['colour=blue', 400, 'parameter_unknown'],
    ])('refuses %s', async (query, status, reason) => {
      expect(await ada.sendRequest(`/events?${query}`)).toMatchObject({ status, body: { reason } });
    });

    it('refuses a cursor of another workspace, or with other filters', async () => {
      const { next } = await ada.view.events.listPage({ limit: 1 });
      const elsewhere = { as: ADA, workspace: idOf(service.world, 'workspaces', 'Ada personal') };

      const refused = { status: 400, body: { reason: 'cursor_invalid' } };
      expect(await sendRequest(service, `/events?cursor=${next}&wait=20`, elsewhere)).toMatchObject(refused);
      expect(await ada.sendRequest(`/events?cursor=${next}&type=order.placed`)).toMatchObject(refused);
      expect(await ada.sendRequest(`/events?cursor=${next}&limit=2&wait=0`)).toMatchObject({ status: 200 });
    });
  });

  describe('GET /events/{eventId}', () => {
    it.each([
      ['9007199254740991', 404, 'event_not_found'],
      ['0', 400, 'id_malformed'],
      ['first', 400, 'id_malformed'],
    ])('refuses %s', async (id, status, reason) => {
      expect(await ada.sendRequest(`/events/${id}`)).toMatchObject({ status, body: { reason } });
    });
  });
}

/** The sandbox network sends no event of its own for payments to this account number. */
const SILENT = '50100123459012';

/** The path of the resource that an event names, by its type. An execution is part of its order. */
const PATHS: Readonly<Record<string, string>> = {
  order: '/orders',
  transaction: '/transactions',
  payout: '/transactions',
  transfer: '/transfers',
  account: '/accounts',
  recipient: '/recipients',
  quote: '/quotes',
};

/** The events of an account that is opened and funded, and of a payment that is quoted, placed, rejected and returned. */
const LIFE = [
  'account.opened',
  ...['execution.failed', 'execution.started', 'order.completed', 'order.placed', 'quote.created'],
  ...['transaction.completed', 'transaction.completed', 'transaction.created', 'transaction.failed'],
  'transaction.returned',
  ...['transfer.booked', 'transfer.booked', 'transfer.booked', 'transfer.booked'],
];

/** The resource of an event and those in its changes, each with its type. */
const namedBy = ({ resource, changes: { status: _, ...ids } }: Event): [type: string, id: number][] => [
  [resource.type, resource.id],
  ...Object.entries(ids).map(([name, id]) => [name.slice(0, -'ID'.length), id] as [string, number]),
];

/** The events that the account or the order leads to. Other tests pay in the workspace, too, and to the same recipients. */
function lifeOf(accountId: number, orderId: number, events: readonly Event[]): Event[] {
  const known = new Set([`account ${accountId}`, `order ${orderId}`]);
  for (let size = 0; size < known.size;) {
    size = known.size;
    for (const event of events) {
      const names = namedBy(event).map(([type, id]) => `${type} ${id}`);
      if (names.some((name) => known.has(name))) {
        for (const name of names.filter((one) => !one.startsWith('recipient'))) known.add(name);
      }
    }
  }
  return events.filter((event) => namedBy(event).some(([type, id]) => known.has(`${type} ${id}`)));
}

const stripped = (text: string) => text.replace(/"requestId":"[^"]*"/, '');

/** Orders and transactions by their ids alone, and that every id of an event leads to a resource. */
export function resourcesOfEventsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);
  const eve = new Payer(service, 'Southwind Imports', EVE);

  /** A payment abroad with a quote, which the network has rejected. */
  async function rejectedPayment() {
    const { resource: recipient } = await ada.view.recipients.addInternational({
      ...INDIA,
      data: { ...DATA, beneficiaryAccountNumber: SILENT },
      saved: false,
    });
    const account = await ada.account('100000000');
    const amount = '100000' as const;
    const terms = { accountID: account.id, recipientID: recipient.id, amount: amount as never };
    const { resource: quote } = await ada.view.quotes.create(terms);
    const input = { amount, recipientID: recipient.id, type: 'instant', purposeCode: 'IR002', quoteID: quote.id };
    const order = (await ada.send(account.id, input)).body as Order;
    const { id } = order.edges.executions![0]!.edges.transaction!;
    const rejection = await ada.sendRequest(`/sandbox/transactions/${id}/events`, { body: { status: 'RJCT' } });
    return { account, order, rejection };
  }

  /** The resource of an id, or its execution if it is one of an order. */
  async function read(type: string, id: number, orderId: number | undefined): Promise<unknown> {
    const path = type === 'execution' ? `/orders/${orderId}` : `${PATHS[type]}/${id}`;
    const { status, body } = await ada.sendRequest(path);
    expect({ type, path, status }).toEqual({ type, path, status: 200 });
    if (type !== 'execution') return body;
    return (body as Order).edges.executions?.find((execution) => execution.id === id);
  }

  describe('what events name', () => {
    it('is a resource that can be read, in the whole life of an order', async () => {
      const { account, order } = await rejectedPayment();
      const recorded: Event[] = [];
      for await (const event of ada.view.events.follow({ createdFrom: account.createdAt })) {
        recorded.push(event);
        if (lifeOf(account.id, order.id, recorded).length === LIFE.length) break;
      }

      const life = lifeOf(account.id, order.id, recorded);

      expect(life.map(({ type }) => type).sort()).toEqual(LIFE);
      for (const event of life) {
        const orderId = event.changes.orderID;
        for (const [type, id] of namedBy(event)) expect(await read(type, id, orderId)).toMatchObject({ id });
      }
    });
  });

  describe('GET /transactions/{transactionId}', () => {
    it('returns the transaction of an order with its transfers, tracking and links', async () => {
      const { account, order, rejection } = await rejectedPayment();
      const { id, returnedBy } = rejection.body as Transaction;

      const { status, body, headers } = await ada.sendRequest(`/transactions/${id}`);

      expect(status).toBe(200);
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(faultsIn(body, 'Transaction')).toEqual([]);
      expect(body).toEqual(rejection.body);
      expect(body).toMatchObject({ id, status: 'failed', orderID: order.id, returnedBy });
      const { edges } = body as Transaction;
      expect(edges.transfers?.map(({ type, edges: { account: of } }) => [type, of?.id])).toEqual([
        ['spot', account.id],
        ['fee', account.id],
      ]);
      expect(edges.internationalRemittance?.edges.events).toMatchObject([{ status: 'RJCT' }]);
      expect(rejection.headers.get('location')).toBe(`/transactions/${id}`);
      const [transfer] = (await ada.view.transfers.listPage({ accountId: account.id, type: 'return' })).items;
      expect(await ada.view.transactions.get(returnedBy!)).toEqual(transfer!.edges.transaction);
    });
  });

  describe('GET /orders/{orderId}', () => {
    it('returns the order as its account shows it, with pages of its executions', async () => {
      const { account, order } = await rejectedPayment();

      const { status, body, headers } = await ada.sendRequest(`/orders/${order.id}?limit=1`);

      expect(status).toBe(200);
      expect(headers.has('link')).toBe(false);
      expect(faultsIn(body, 'Order')).toEqual([]);
      expect(body).toEqual((await ada.sendRequest(`/accounts/${account.id}/orders/${order.id}`)).body);
      expect(await ada.view.orders.getById(order.id)).toEqual(body);
    });
  });

  describe('orders and transactions of others', () => {
    it('are answered like those that exist nowhere', async () => {
      const [from, to] = [await eve.account('1000'), await eve.account()];
      const input = { amount: '1000', recipientID: await eve.recipientOf(to), type: 'instant' };
      const order = (await eve.send(from.id, input)).body as Order;
      const { id } = order.edges.executions![0]!.edges.transaction!;
      expect((await eve.sendRequest(`/orders/${order.id}`)).body).toMatchObject({ id: order.id });
      expect((await eve.sendRequest(`/transactions/${id}`)).body).toMatchObject({ id, orderID: order.id });

      for (const [path, one, reason] of [
        ['/orders', order.id, 'order_not_found'],
        ['/transactions', id, 'transaction_not_found'],
      ] as const) {
        const notYours = await ada.sendRequest(`${path}/${one}`);
        const notThere = await ada.sendRequest(`${path}/9007199254740991`);
        expect(notYours).toMatchObject({ status: 404, body: { errorCode: 'invalid_request', reason } });
        expect([notThere.status, stripped(notThere.text)]).toEqual([notYours.status, stripped(notYours.text)]);
      }
    });

    it.each(['0', '01', '1.5', 'first'])('are refused with the id %s', async (id) => {
      for (const path of ['/orders', '/transactions']) {
        const refused = { status: 400, body: { reason: 'id_malformed' } };
        expect(await ada.sendRequest(`${path}/${id}`)).toMatchObject(refused);
      }
    });
  });
}

/** The audit trail, which is recorded shortly after each change. */
export function auditEventsContract(provide: () => Service): void {
  const service = provide();
  const ada = new Payer(service);

  const untilRecorded = async (query: AuditQuery): Promise<AuditEvent> =>
    (await until(async () => (await ada.view.auditEvents.listPage(query)).items[0]))!;
  const read = (path: string, accept: string, email = ADA) =>
    sendRequest(service, path, {
      as: email,
      workspace: idOf(service.world, 'workspaces', email === ADA ? 'Northwind Trading' : 'Southwind Imports'),
      headers: { accept },
    });

  describe('GET /audit-events', () => {
    it('has a change with its operation, resource and user', async () => {
      const account = await ada.account();
      const resource = { type: 'account', id: account.id };

      const opened = await untilRecorded({ operation: 'openAccount', resourceType: 'account', resourceId: account.id });

      expect(opened).toMatchObject({ operation: 'openAccount', outcome: 'done', resource, actor: { type: 'user' } });
      expect(opened.hash).toMatch(/^[0-9a-f]{64}$/);
      const { userID: actor } = opened.actor;
      await ada.view.accounts.change(account.id, { status: 'disabled' });
      const query = { resourceId: account.id, actor, operation: 'changeAccount' };
      expect(await untilRecorded(query)).toMatchObject({ operation: 'changeAccount', resource });
    });

    it('is paged, newest first', async () => {
      const { items, next } = await ada.view.auditEvents.listPage({ limit: 2 });
      const more = await ada.view.auditEvents.listPage({ limit: 2, cursor: next });

      const times = [...items, ...more.items].map(({ createdAt }) => createdAt);
      expect(times).toEqual([...times].sort().reverse());
      expect(new Set([...items, ...more.items].map(({ id }) => id)).size).toBe(4);
    });

    it('is a table for a spreadsheet on request', async () => {
      const { status, headers, text } = await read('/audit-events?limit=2', 'text/csv');

      expect([status, headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8; header=present']);
      expect(headers.get('link')).toMatch(/rel="next"/);
      const [names, ...lines] = text.trimEnd().split('\r\n');
      expect(names).toMatch(/id,createdAt,operation,outcome,reason,/);
      expect(lines).toHaveLength(2);
    });

    it('refuses the cursor of another workspace', async () => {
      const { next = '' } = await ada.view.auditEvents.listPage({ limit: 1 });

      const theirs = await read(`/audit-events?limit=1&cursor=${encodeURIComponent(next)}`, 'application/json', EVE);
      expect(theirs).toMatchObject({ status: 400, body: { reason: 'cursor_invalid' } });
    });

    it.each([
      ['actor=ada', 400, 'id_malformed'],
      ['resourceId=0', 400, 'id_malformed'],
      ['operation=', 400, 'parameter_invalid'],
      ['from=2026-02-02', 400, 'timestamp_invalid'],
      ['from=2026-02-02T00:00:00Z&to=2026-02-01T00:00:00Z', 400, 'timestamp_invalid'],
      ['limit=501', 400, 'limit_invalid'],
      ['outcome=done', 400, 'parameter_unknown'],
    ])('refuses %s', async (query, status, reason) => {
      expect(await read(`/audit-events?${query}`, 'application/json')).toMatchObject({ status, body: { reason } });
    });
  });
}
