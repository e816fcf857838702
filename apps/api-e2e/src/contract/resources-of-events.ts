import type { Event, Order, Transaction } from '@banking/domain';
import { EVE, type Service } from '../service.js';
import { Payer } from './paying.js';
import { DATA, INDIA } from './recipients.js';
import { faultsIn } from './shapes.js';

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
