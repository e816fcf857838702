import { gatewayOf } from './testing/gateway-of.js';
import { scriptedUpstream } from './testing/scripted-upstream.js';

let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
let gateway: Awaited<ReturnType<typeof gatewayOf>>;
beforeAll(async () => {
  upstream = await scriptedUpstream();
  gateway = await gatewayOf(upstream.url);
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});
beforeEach(() => upstream.reset());

const PLACE = 'POST /accounts/1/orders';
const ORDER = { method: 'POST', body: JSON.stringify({ amount: '5000', recipientID: 1, type: 'instant' }) };

/** Returns the response to a caller for a response of the upstream. */
async function passed(
  call: string,
  body: unknown,
  { status = 200, init = {} }: { status?: number; init?: RequestInit } = {},
) {
  upstream.says(call, { status, body });
  const response = await gateway.send(call, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

describe('a gateway of a deployment by another vendor', () => {
  it('adds missing edges at every level', async () => {
    const transaction = { id: 1, status: 'completed', edges: { transfers: [{}], internationalRemittance: { id: 1 } } };
    const { text } = await passed('GET /transfers/42', { id: 42, amount: '5', edges: { transaction } });

    expect(JSON.parse(text)).toEqual({
      id: 42,
      amount: '5',
      edges: {
        transaction: {
          ...transaction,
          edges: { transfers: [{ edges: {} }], internationalRemittance: { id: 1, edges: {} } },
        },
      },
    });
    expect((await passed('GET /transfers/42', { id: 42, amount: '5' })).text).toBe('{"id":42,"amount":"5","edges":{}}');
  });

  it('accepts users that are listed without edges', async () => {
    upstream.says('GET /apps/1/users', { status: 200, body: [{ id: 1, email: 'ada@bank.example' }] });
    const other = await gatewayOf(upstream.url);
    const users = await (await other.send('GET /apps/1/users')).json();
    await other.close();

    expect(users).toEqual([{ id: 1, email: 'ada@bank.example', edges: { roles: [] } }]);
  });

  it.each([
    '{"id":42,"amount":"5","feeAmount":"12.50 EUR","createdAt":"yesterday","direction":"sideways","edges":{}}',
    '{"id":42,"amount":"5","edges":{"balance":{"id":9007199254740991,"amount":-9007199254740991}}}',
    '{"id":42,"amount":"5","edges":{"transaction":{"id":0,"status":"dreaming","orderID":"o-1","edges":{"transfers":[]}}}}',
  ])('forwards a transfer byte for byte: %s', async (text) => {
    expect((await passed('GET /transfers/42', JSON.parse(text))).text).toBe(text);
  });

  it('forwards products and corridors byte for byte', async () => {
    const currency = { id: 8, code: 'BTC', name: 'Bitcoin', decimals: 18, swiftMinimumWithdrawalAmount: '0.001' };
    const products = [{ id: 9007199254740991, name: 'P', edges: { currency } }];
    const corridors = [
      { minimumAmount: '10.00', maximumAmount: '1e6', deliveryTAT: '', edges: { limitCurrency: currency } },
    ];

    expect((await passed('GET /products', products)).text).toBe(JSON.stringify(products));
    expect((await passed('GET /recipients/countries/DE/corridors', corridors)).text).toBe(JSON.stringify(corridors));
  });

  it.each([200, 201])('forwards an order that was placed with status %i', async (status) => {
    const order = { id: 7, state: 'new', amount: 5000, edges: { executions: [{ id: 'e-1', edges: {} }] } };
    const answer = await passed(PLACE, order, { status, init: ORDER });

    expect(answer.status).toBeLessThan(300);
    expect(answer.headers.get('location')).toBe('/accounts/1/orders/7');
    expect(answer.text).toBe(JSON.stringify(order));
  });

  it.each([undefined, null, 'o-1', 'a\r\nSet-Cookie: a=b', {}, 1.5])(
    'forwards an order whose id is %j without a Location',
    async (id) => {
      const answer = await passed(PLACE, { id, edges: {} }, { init: ORDER });

      expect(answer.headers.has('location') || answer.headers.has('set-cookie')).toBe(false);
      expect(answer.text).toBe(JSON.stringify({ id, edges: {} }));
    },
  );

  it('serves the paths of the former revision', async () => {
    upstream.says('GET /countries/DE/corridors', { status: 200, body: [] });
    upstream.says('GET /validation-schema', { status: 200, body: [] });
    const schemas = '/recipients/validation-schema?countryCode=DE&currencyCode=EUR&payoutMethod=LOCAL';

    for (const path of ['/recipients/countries/DE/corridors', '/countries/DE/corridors', schemas]) {
      expect([path, (await gateway.send(`GET ${path}`)).status]).toEqual([path, 200]);
    }
  });
});
