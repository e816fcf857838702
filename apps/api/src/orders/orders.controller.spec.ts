import { ADA, openTestApp, type TestApp } from '../testing/test-app.js';
import { OrdersModule } from './orders.module.js';

const ORDER = { id: 5, amount: '250000', status: 'completed', type: 'instant', edges: {} };
const INPUT = { amount: '250000', recipientID: 2, type: 'instant' };

describe('OrdersController', () => {
  const banking = {
    listOrders: jest.fn(),
    placeOrder: jest.fn(),
    getOrderPage: jest.fn(),
    cancelOrder: jest.fn(),
    resumeOrder: jest.fn(),
  };
  let app: TestApp;
  beforeAll(async () => {
    app = await openTestApp(OrdersModule, banking, { orderLimit: { perMinute: 3 } });
  });
  afterAll(() => app.close());
  afterEach(() => jest.resetAllMocks());

  it('lists a page of orders that match all filters', async () => {
    banking.listOrders.mockResolvedValue({ items: [ORDER], next: 'n2' });

    const { status, headers, body } = await app.send('GET /orders?status=active&accountId=1&limit=1');

    expect({ status, body }).toEqual({ status: 200, body: [ORDER] });
    expect(headers.link).toBe('</payments/orders?status=active&accountId=1&limit=1&cursor=n2>; rel="next"');
    expect(banking.listOrders).toHaveBeenCalledWith(ADA, { status: 'active', accountId: 1, limit: 1 });
  });

  it.each([
    ['status=unknown', 'parameter_invalid'],
    ['accountId=0', 'id_malformed'],
    ['createdFrom=today', 'timestamp_invalid'],
  ])('refuses a list with %s', async (query, reason) => {
    expect(await app.send(`GET /orders?${query}`)).toMatchObject({ status: 400, body: { reason } });
    expect(banking.listOrders).not.toHaveBeenCalled();
  });

  it('places an order and says where it is', async () => {
    banking.placeOrder.mockResolvedValue({ resource: ORDER, isReplay: false });

    const response = await app.send('POST /accounts/1/orders', INPUT, { 'idempotency-key': 'one' });

    expect(response).toMatchObject({
      status: 200,
      body: ORDER,
      headers: { location: '/payments/accounts/1/orders/5' },
    });
    expect(banking.placeOrder).toHaveBeenCalledWith(ADA, { ...INPUT, accountId: 1 }, { idempotencyKey: 'one' });
  });

  it('refuses an order above the limit per minute of the configuration', async () => {
    banking.placeOrder.mockImplementation(async () => ({ resource: ORDER, isReplay: false }));
    const statuses = [];
    for (let attempt = 0; attempt < 4; attempt++) {
      statuses.push((await app.send('POST /accounts/1/orders', { ...INPUT, description: `${attempt}` })).status);
    }

    expect(statuses.at(-1)).toBe(429);
  });

  it.each([
    [{ ...INPUT, amount: 250000 }, 'amount_malformed'],
    [{ ...INPUT, startAt: 'tomorrow' }, 'timestamp_invalid'],
    [{ ...INPUT, type: 'later' }, 'body_malformed'],
  ])('refuses %j', async (input, reason) => {
    expect(await app.send('POST /accounts/1/orders', input)).toMatchObject({ status: 400, body: { reason } });
    expect(banking.placeOrder).not.toHaveBeenCalled();
  });

  it('returns an order and links to its earlier executions', async () => {
    banking.getOrderPage.mockResolvedValue({ ...ORDER, next: 'n2' });

    const { status, headers, body } = await app.send('GET /accounts/1/orders/5?limit=2');

    expect({ status, body }).toEqual({ status: 200, body: ORDER });
    expect(headers.link).toBe('</payments/accounts/1/orders/5?limit=2&cursor=n2>; rel="next"');
    expect(banking.getOrderPage).toHaveBeenCalledWith(ADA, { accountId: 1, orderId: 5, limit: 2 });
  });

  it('returns an order without its account in the path', async () => {
    banking.getOrderPage.mockResolvedValue({ ...ORDER, next: 'n2' });

    const { status, headers, body } = await app.send('GET /orders/5?limit=2');

    expect({ status, body }).toEqual({ status: 200, body: ORDER });
    expect(headers.link).toBe('</payments/orders/5?limit=2&cursor=n2>; rel="next"');
    expect(banking.getOrderPage).toHaveBeenCalledWith(ADA, { orderId: 5, limit: 2 });
  });

  it('cancels an order', async () => {
    banking.cancelOrder.mockResolvedValue(ORDER);

    expect(await app.send('POST /accounts/1/orders/5/cancellation')).toMatchObject({ status: 200, body: ORDER });
    expect(banking.cancelOrder).toHaveBeenCalledWith(ADA, { accountId: 1, orderId: 5 });
  });

  it('resumes an order', async () => {
    banking.resumeOrder.mockResolvedValue(ORDER);

    expect(await app.send('POST /accounts/1/orders/5/resumption')).toMatchObject({ status: 200, body: ORDER });
    expect(banking.resumeOrder).toHaveBeenCalledWith(ADA, { accountId: 1, orderId: 5 });
  });
});
