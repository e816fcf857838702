import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { Agent, request } from 'undici';
import { gatewayOf, type Script, scriptedUpstream, withGatewayOf } from './testing/gateway.js';

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

describe('events behind a gateway', () => {
  const NEXT = { link: '</events?cursor=there>; rel="next"' };
  const EVENT = {
    id: 64,
    type: 'order.placed',
    createdAt: '2026-11-21T09:30:00.123456Z',
    sequence: 1,
    resource: { type: 'order', id: 1 },
    changes: { status: { after: 'active' } },
    actor: { type: 'user', id: 1 },
  };
  const EMPTY: Script = { status: 200, body: [], headers: NEXT };
  const NOT_FOUND = { errorCode: 'invalid_request', message: 'No.', requestId: 'theirs' };

  const send = async (call: string) => {
    const response = await gateway.send(call);
    return { status: response.status, link: response.headers.get('link'), body: (await response.json()) as unknown };
  };

  /** The requests for events with a wait, which the upstream holds until they are released. `counted` resolves when there are so many. */
  function holdWaiting(count: number) {
    const held: (() => void)[] = [];
    let isCounted = () => {};
    const counted = new Promise<void>((resolve) => (isCounted = resolve));
    upstream.says('GET /events', ({ url = '' }, response) => {
      const end = (body: string) => response.writeHead(200, { 'content-type': 'application/json', ...NEXT }).end(body);
      if (!url.includes('wait=')) return end('[]');
      if (held.push(() => end(JSON.stringify([EVENT]))) === count) isCounted();
    });
    return { counted, release: () => held.forEach((end) => end()) };
  }

  it.each<[string, Script]>([
    ['a page of its framework', { status: 404, body: '<h1>Cannot GET</h1>' }],
    ['an error without a reason', { status: 404, body: NOT_FOUND }],
    ['an error of another reason', { status: 404, body: { ...NOT_FOUND, reason: 'no_such_path' } }],
    ['route_not_found', { status: 404, body: { ...NOT_FOUND, reason: 'route_not_found' } }],
  ])('are no route if the upstream has none and responds with %s', async (_, script) => {
    for (const path of ['/events', '/events/64']) {
      upstream.says(`GET ${path}`, script);
      expect(await send(`GET ${path}`)).toMatchObject({ status: 404, body: { reason: 'route_not_found' } });
    }
    expect((await send('GET /events?wait=20')).status).toBe(404);
  });

  it('are those of the upstream', async () => {
    upstream.says('GET /events', { status: 200, body: [EVENT], headers: NEXT });
    upstream.says('GET /events/64', { status: 200, body: EVENT });
    upstream.says('GET /events/65', { status: 404, body: { ...NOT_FOUND, reason: 'event_not_found' } });

    expect(await send('GET /events')).toEqual({
      status: 200,
      body: [EVENT],
      link: '</events?cursor=there>; rel="next"',
    });
    expect((await send('GET /events/64')).body).toEqual(EVENT);
    expect(await send('GET /events/65')).toMatchObject({ status: 404, body: { reason: 'event_not_found' } });
  });

  it('are refused as the upstream refuses a cursor whose events were deleted', async () => {
    upstream.says('GET /events', { status: 410, body: { ...NOT_FOUND, reason: 'cursor_expired' } });
    expect(await send('GET /events?cursor=old')).toMatchObject({ status: 410, body: { reason: 'cursor_expired' } });
  });

  it.each<[string, Script]>([
    ['has no link to continue from', { status: 200, body: [EVENT] }],
    ['has an event without a type', { status: 200, body: [{ ...EVENT, type: undefined }], headers: NEXT }],
    ['has an event whose id is no number', { status: 200, body: [{ ...EVENT, id: '64' }], headers: NEXT }],
  ])('are refused if the page %s', async (_, script) => {
    upstream.says('GET /events', script);
    expect(await send('GET /events')).toMatchObject({ status: 502, body: { reason: 'upstream_error' } });
  });

  it('are held by the upstream, and leave the places of other requests free', async () => {
    const held = holdWaiting(10);
    const waiting = Array.from({ length: 10 }, () => send('GET /events?wait=20'));
    await held.counted;
    const others: (() => void)[] = [];
    upstream.says('GET /accounts', (_, response) => {
      others.push(() => response.writeHead(200, { 'content-type': 'application/json' }).end('[]'));
      if (others.length === 32) others.forEach((end) => end());
    });

    // One caller alone gets half of the 64 places of each kind. The upstream responds when all of them are taken.
    expect(
      (await Promise.all(Array.from({ length: 32 }, () => send('GET /accounts')))).map(({ status }) => status),
    ).toEqual(Array.from({ length: 32 }, () => 200));
    held.release();
    for (const { status, body } of await Promise.all(waiting)) expect([status, body]).toEqual([200, [EVENT]]);
  });

  it('have the time of the wait besides the time of a request', async () => {
    const slow = await gatewayOf(upstream.url, { UPSTREAM_TIMEOUT_MS: '1000' });
    const held = holdWaiting(1);
    const response = slow.send('GET /events?wait=20');
    await held.counted;
    // A request without a wait has only its own time.
    upstream.says('GET /accounts', () => undefined);
    expect((await slow.send('GET /accounts')).status).toBe(504);
    held.release();
    expect((await response).status).toBe(200);
    await slow.close();
  });

  it('are the same position if the upstream returns none', async () => {
    upstream.says('GET /events', EMPTY);
    expect(await send('GET /events?wait=1')).toMatchObject({ status: 200, body: [] });
  });
});

describe('approvals behind a gateway', () => {
  const APPROVAL = {
    ...{ id: 1, version: 1, status: 'required', operation: 'inviteMember', operations: 'members', digest: '00' },
    ...{ input: { email: 'mia@bank.example' }, shown: {}, decisions: [], makerID: 1 },
    requirements: [{ approvals: 1, roles: ['approver'] }],
    ...{ createdAt: '2026-11-21T09:30:00.123456Z', updatedAt: '2026-11-21T09:30:00.123456Z' },
    expiresAt: '2026-11-28T09:30:00.123456Z',
  };
  const OPEN = { ...APPROVAL, id: 2, operation: 'addInternalRecipient', operations: 'recipients', input: {} };
  const user = (id: number, role: string) => ({
    ...{ id, email: `${role}@bank.example`, status: 'completed' },
    edges: { roles: [{ id: 1, role, edges: { workspace: { id: 1, name: 'Bank' } } }] },
  });

  it.each([
    ['admin', [1, 2]],
    ['approver', [1, 2]],
    ['viewer', [2]],
    ['member', [2]],
  ] as const)('of what only administrators read are shown by the roles of a caller: %s', async (role, shown) => {
    upstream.says('GET /apps/1/users', {
      status: 200,
      body: ['admin', 'approver', 'viewer', 'member'].map((each, index) => user(index + 10, each)),
    });
    for (const approval of [APPROVAL, OPEN])
      upstream.says(`GET /approvals/${approval.id}`, { status: 200, body: approval });
    upstream.says('GET /approvals', { status: 200, body: [APPROVAL, OPEN] });
    await withGatewayOf(upstream.url, {}, async (by) => {
      const send = (call: string) => by.send(call, {}, `${role}@bank.example`);
      const listed = (await (await send('GET /approvals')).json()) as { readonly id: number }[];
      expect(listed.map(({ id }) => id)).toEqual(shown);
      const statuses = [(await send('GET /approvals/1')).status, (await send('GET /approvals/2')).status];
      expect(statuses).toEqual([(shown as readonly number[]).includes(1) ? 200 : 404, 200]);
    });
  });

  const AWAITING = {
    ...{ id: 5, amount: '250000', status: 'active', type: 'instant', approvalID: 2 },
    edges: { executions: [{ id: 1, status: 'awaiting_approval', edges: {} }] },
  };

  it.each<[string, Script, object]>([
    ['POST /recipients/internal', { status: 202, body: { approval: OPEN } }, { accountCode: 'NW-1', alias: 'Rent' }],
    [
      'POST /accounts/1/orders',
      { status: 202, body: AWAITING },
      { amount: '250000', recipientID: 2, type: 'instant', purposeCode: 'IR002' },
    ],
  ])('have the generated key of their request, with which its maker repeats it: %s', async (call, script, input) => {
    upstream.says(call, script);
    const body = JSON.stringify(input);
    const send = (headers: Record<string, string>) => gateway.send(call, { method: 'POST', body, headers });
    const [generated, own] = [await send({}), await send({ 'idempotency-key': 'mine' })];
    const sent = upstream.received.filter(({ method }) => method === 'POST');

    expect([generated.status, own.status]).toEqual([202, 202]);
    expect(generated.headers.get('idempotency-key')).toBe(sent[0]?.headers['idempotency-key']);
    expect([sent[1]?.headers['idempotency-key'], own.headers.get('idempotency-key')]).toEqual(['mine', null]);
  });
});

describe('resources of upstream', () => {
  const ORDER = { id: 5, amount: '5', status: 'completed', type: 'instant', edges: { executions: [] } };
  const TRANSACTION = { id: 5, status: 'completed', edges: { transfers: [] } };
  const NOT_FOUND = { errorCode: 'invalid_request', message: 'No.', requestId: 'theirs' };

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
});

describe('webhook endpoints behind a gateway', () => {
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

  const send = async (call: string) => {
    const [method, path] = call.split(' ');
    // None of the requests has a body.
    const { 'content-type': _, ...headers } = await gateway.headersOf();
    const response = await fetch(`${gateway.url}${path}`, { method: method!, headers });
    return { status: response.status, body: (await response.json()) as unknown };
  };

  it.each(CALLS)('are no route if the upstream has none: %s', async (call) => {
    upstream.says(call, { status: 404, body: NOT_FOUND });
    expect(await send(call)).toMatchObject({ status: 404, body: { reason: 'route_not_found' } });
  });

  it.each<[call: string, script: Script, expected: object]>([
    ['DELETE /webhook-endpoints/3', { status: 404, body: '<h1>No site</h1>' }, { status: 502 }],
    [
      'POST /webhook-endpoints/3/test',
      { status: 404, body: { ...NOT_FOUND, reason: 'key_missing' } },
      { status: 404, body: { reason: 'key_missing', message: 'No.' } },
    ],
  ])('are not reported as missing if another 404 answers a change: %s', async (call, script, expected) => {
    upstream.says(call, script);
    expect(await send(call)).toMatchObject(expected);
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

describe('a gateway of a deployment by another vendor', () => {
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

    // Another gateway, because this one has found the upstream at the current paths.
    await withGatewayOf(upstream.url, {}, async (other) => {
      for (const path of ['/recipients/countries/DE/corridors', '/countries/DE/corridors', schemas]) {
        expect([path, (await other.send(`GET ${path}`)).status]).toEqual([path, 200]);
      }
    });
  });
});

describe('a caller who disconnects during a call of the upstream', () => {
  /** Of its own: the other tests may have filled the cache of its reference data. */
  let own: typeof gateway;

  beforeAll(async () => {
    own = await gatewayOf(upstream.url);
  });
  afterAll(() => own.close());

  /** The upstream's response to the next request of a call, which is not sent. */
  const arrivalOf = (call: string) =>
    new Promise<ServerResponse>((resolve) => upstream.says(call, (_, response) => resolve(response)));

  /** Sends a call, disconnects once it has reached the upstream, and returns the upstream's unfinished response. */
  async function disconnect(call: string, init: RequestInit = {}): Promise<ServerResponse> {
    const client = new AbortController();
    const arrived = arrivalOf(call);
    const outcome = own.send(call, { ...init, signal: client.signal }).catch((error: Error) => error.name);
    const response = await arrived;
    client.abort();
    expect(await outcome).toBe('AbortError');
    return response;
  }

  it('aborts a read at the upstream, without counting a failure', async () => {
    for (let time = 0; time < 10; time += 1) {
      const response = await disconnect('GET /transfers/42');
      if (!response.destroyed) await once(response, 'close');
      expect(response.writableEnded).toBe(false);
    }

    upstream.says('GET /accounts', { status: 200, body: [] });
    expect((await own.send('GET /accounts')).status).toBe(200);
    expect(own.lines).toEqual([]);
  });

  it('aborts a later read of its connection, and no read of another connection', async () => {
    const headers = await own.headersOf();
    const [one, another] = [new Agent({ connections: 1 }), new Agent({ connections: 1 })];
    const connected = jest.fn();
    one.on('connect', connected);
    const disconnect = new AbortController();
    const read = (dispatcher: Agent, path: string, signal?: AbortSignal) =>
      request(`${own.url}${path}`, { dispatcher, headers, signal });
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
    upstream.says('GET /accounts', { status: 200, body: [] });
    expect((await own.send('GET /accounts')).status).toBe(200);

    response.writeHead(201, { 'content-type': 'application/json' }).end('{"id":1}');
    await once(response, 'finish');

    expect(response.errored).toBeNull();
  });

  it('does not abort a read whose response other callers share', async () => {
    const response = await disconnect('GET /products');
    const other = own.send('GET /products');
    response.writeHead(200, { 'content-type': 'application/json' }).end('[]');

    expect((await other).status).toBe(200);
    expect(upstream.received.filter(({ path }) => path === '/products')).toHaveLength(1);
  });
});
