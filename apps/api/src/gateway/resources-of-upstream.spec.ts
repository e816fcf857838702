import { gatewayOf } from './testing/gateway-of.js';
import { type Script, scriptedUpstream } from './testing/scripted-upstream.js';

const ORDER = { id: 5, amount: '5', status: 'completed', type: 'instant', edges: { executions: [] } };
const TRANSACTION = { id: 5, status: 'completed', edges: { transfers: [] } };
const NOT_FOUND = { errorCode: 'invalid_request', message: 'No.', requestId: 'theirs' };

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

const send = async (call: string, script: Script) => {
  upstream.says(call.split('?')[0]!, script);
  const response = await gateway.send(call);
  return { status: response.status, link: response.headers.get('link'), body: (await response.json()) as unknown };
};

describe.each([
  ['GET /orders/5', ORDER, 'order_not_found'],
  ['GET /transactions/5', TRANSACTION, 'transaction_not_found'],
])('%s behind a gateway', (call, resource, reason) => {
  it('is that of the upstream', async () => {
    expect(await send(call, { status: 200, body: resource })).toEqual({ status: 200, link: null, body: resource });
    expect(await send(call, { status: 404, body: { ...NOT_FOUND, reason } })).toMatchObject({
      status: 404,
      body: { reason },
    });
  });

  it.each<[string, Script]>([
    ['a page of its framework', { status: 404, body: '<h1>Cannot GET</h1>' }],
    ['an error without a reason', { status: 404, body: NOT_FOUND }],
    ['route_not_found', { status: 404, body: { ...NOT_FOUND, reason: 'route_not_found' } }],
  ])('is no route if the upstream responds with %s', async (_, script) => {
    expect(await send(call, script)).toMatchObject({ status: 404, body: { reason: 'route_not_found' } });
  });

  it('is refused if the upstream returns another one', async () => {
    expect(await send(call, { status: 200, body: { ...resource, id: 6 } })).toMatchObject({
      status: 502,
      body: { reason: 'upstream_error' },
    });
  });
});

describe('GET /accounts/{accountId}/orders/{orderId} behind a gateway', () => {
  it('is part of the published interface, so a 404 without a reason means that there is no such order', async () => {
    expect(await send('GET /accounts/1/orders/5', { status: 404, body: NOT_FOUND })).toMatchObject({
      status: 404,
      body: { reason: 'order_not_found' },
    });
  });
});

describe('a page of an order behind a gateway', () => {
  it('links to the next one by the same path', async () => {
    const headers = { link: '</orders/5?cursor=n2>; rel="next"' };
    expect(await send('GET /orders/5?limit=1', { status: 200, body: ORDER, headers })).toMatchObject({
      link: '</orders/5?limit=1&cursor=n2>; rel="next"',
    });
  });
});
