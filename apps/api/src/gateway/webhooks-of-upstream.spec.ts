import { gatewayOf } from './testing/gateway-of.js';
import { scriptedUpstream } from './testing/scripted-upstream.js';

const CALLS = [
  'GET /webhook-endpoints',
  'GET /webhook-endpoints/3',
  'DELETE /webhook-endpoints/3',
  'POST /webhook-endpoints/3/secret-rotation',
  'POST /webhook-endpoints/3/test',
  'GET /webhook-endpoints/3/deliveries',
  'POST /webhook-endpoints/3/deliveries/9/retry',
];
const DELIVERY = {
  ...{ id: 9, eventType: 'webhook.test', kind: 'test', status: 'pending', attempts: 0 },
  createdAt: '2026-11-21T09:30:00.123456Z',
};
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

const send = async (call: string) => {
  const [method, path] = call.split(' ');
  // None of the requests has a body.
  const { 'content-type': _, ...headers } = await gateway.headersOf();
  const response = await fetch(`${gateway.url}${path}`, { method: method!, headers });
  return { status: response.status, body: (await response.json()) as unknown };
};

describe('webhook endpoints behind a gateway', () => {
  it.each(CALLS)('are no route if the upstream has none: %s', async (call) => {
    upstream.says(call, { status: 404, body: NOT_FOUND });
    expect(await send(call)).toMatchObject({ status: 404, body: { reason: 'route_not_found' } });
  });

  it.each(CALLS)('are not found if the upstream says so: %s', async (call) => {
    upstream.says(call, { status: 404, body: { ...NOT_FOUND, reason: 'webhook_endpoint_not_found' } });
    expect(await send(call)).toMatchObject({ status: 404, body: { reason: 'webhook_endpoint_not_found' } });
  });

  it('are tested by the upstream, whose response is validated', async () => {
    const call = 'POST /webhook-endpoints/3/test';
    upstream.says(call, { status: 202, body: DELIVERY });
    expect(await send(call)).toEqual({ status: 202, body: DELIVERY });

    upstream.says(call, { status: 202, body: { ...DELIVERY, attempts: 'none' } });
    expect(await send(call)).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
  });
});
