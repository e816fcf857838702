import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Agent, request } from 'undici';
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

/** The upstream's response to the next request of a call, which is not sent. */
const arrivalOf = (call: string) =>
  new Promise<ServerResponse>((resolve) => upstream.says(call, (_, response) => resolve(response)));

/** Sends a call, disconnects once it has reached the upstream, and returns the upstream's unfinished response. */
async function disconnect(call: string, init: RequestInit = {}): Promise<ServerResponse> {
  const client = new AbortController();
  const arrived = arrivalOf(call);
  const outcome = gateway.send(call, { ...init, signal: client.signal }).catch((error: Error) => error.name);
  const response = await arrived;
  client.abort();
  expect(await outcome).toBe('AbortError');
  return response;
}

describe('a caller who disconnects during a call of the upstream', () => {
  it('aborts a read at the upstream, without counting a failure', async () => {
    for (let time = 0; time < 10; time += 1) {
      const response = await disconnect('GET /transfers/42');
      if (!response.destroyed) await once(response, 'close');
      expect(response.writableEnded).toBe(false);
    }

    upstream.says('GET /accounts', { status: 200, body: [] });
    expect((await gateway.send('GET /accounts')).status).toBe(200);
    expect(gateway.lines).toEqual([]);
  });

  it('aborts a later read of its connection, and no read of another connection', async () => {
    const headers = await gateway.headersOf();
    const [one, another] = [new Agent({ connections: 1 }), new Agent({ connections: 1 })];
    const connected = jest.fn();
    one.on('connect', connected);
    const disconnect = new AbortController();
    const read = (dispatcher: Agent, path: string, signal?: AbortSignal) =>
      request(`${gateway.url}${path}`, { dispatcher, headers, signal });
    upstream.says('GET /accounts', { status: 200, body: [] });
    for (const agent of [one, another]) await (await read(agent, '/accounts')).body.dump();

    const arriving = [42, 43].map((id) => arrivalOf(`GET /transfers/${id}`));
    const aborted = read(one, '/transfers/42', disconnect.signal).catch((error: Error) => error.name);
    const completed = read(another, '/transfers/43');
    const [abandoned, response] = await Promise.all(arriving);
    expect(connected).toHaveBeenCalledTimes(1);
    disconnect.abort();
    if (!abandoned?.destroyed) await once(abandoned as ServerResponse, 'close');
    response?.writeHead(200, { 'content-type': 'application/json' }).end('{"id":43,"amount":"5"}');

    expect(await aborted).toBe('AbortError');
    const { statusCode, body } = await completed;
    expect([statusCode, await body.json()]).toEqual([200, { id: 43, amount: '5', edges: {} }]);
    await Promise.all([one.close(), another.close()]);
  });

  it('does not abort a payment', async () => {
    const body = JSON.stringify({ amount: '5000', recipientID: 1, type: 'instant' });
    const response = await disconnect('POST /accounts/1/orders', { method: 'POST', body });
    // A later call has completed, so an abort would have arrived by now.
    expect((await gateway.send('GET /accounts')).status).toBe(200);

    response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":1}');
    await once(response, 'finish');

    expect(response.errored).toBeNull();
  });

  it('does not abort a read whose response other callers share', async () => {
    const response = await disconnect('GET /products');
    const other = gateway.send('GET /products');
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]');

    expect((await other).status).toBe(200);
    expect(upstream.received.filter(({ path }) => path === '/products')).toHaveLength(1);
  });
});
