import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
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

/** Sends a call, disconnects once it has reached the upstream, and returns the upstream's unfinished response. */
async function disconnect(call: string, init: RequestInit = {}): Promise<ServerResponse> {
  const client = new AbortController();
  const arrived = new Promise<ServerResponse>((resolve) => upstream.says(call, (_, response) => resolve(response)));
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
