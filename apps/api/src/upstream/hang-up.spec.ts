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

/** A call that reaches the upstream, whose caller then goes; what the upstream still has to answer. */
async function leave(call: string, init: RequestInit = {}): Promise<ServerResponse> {
  const leaving = new AbortController();
  const reached = new Promise<ServerResponse>((resolve) => upstream.says(call, (_, response) => resolve(response)));
  const asked = gateway.ask(call, { ...init, signal: leaving.signal }).catch((error: Error) => error.name);
  const response = await reached;
  leaving.abort();
  expect(await asked).toBe('AbortError');
  return response;
}

describe('Given a caller who goes while the upstream is asked', () => {
  it('When it was a read, Then it is ended there too, and that is no failure of the upstream', async () => {
    for (let time = 0; time < 10; time += 1) {
      const response = await leave('GET /transfers/42');
      if (!response.destroyed) await once(response, 'close');
      expect(response.writableEnded).toBe(false);
    }

    upstream.says('GET /accounts', { status: 200, body: [] });
    expect((await gateway.ask('GET /accounts')).status).toBe(200);
    expect(gateway.lines).toEqual([]);
  });

  it('When it was a payment, Then it is carried on', async () => {
    const body = JSON.stringify({ amount: '5000', recipientID: 1, type: 'instant' });
    const response = await leave('POST /accounts/1/orders', { method: 'POST', body });
    // Another answer has come and gone meanwhile: had it been ended, it would be by now.
    expect((await gateway.ask('GET /accounts')).status).toBe(200);

    response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":1}');
    await once(response, 'finish');

    expect(response.errored).toBeNull();
  });

  it('When it was what all callers are answered alike, Then the others who wait for it are answered', async () => {
    const response = await leave('GET /products');
    const other = gateway.ask('GET /products');
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]');

    expect((await other).status).toBe(200);
    expect(upstream.received.filter(({ path }) => path === '/products')).toHaveLength(1);
  });
});
