import { gatewayOf } from './testing/gateway-of.js';
import { type Script, scriptedUpstream } from './testing/scripted-upstream.js';

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

describe('events behind a gateway', () => {
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
