import { gatewayOf } from '../testing/gateway-of.js';
import { scriptedUpstream } from '../testing/scripted-upstream.js';

const ADA = 'ada@bank.example';
const LIMITED = { status: 429, body: { errorCode: 'rate_limited', message: 'No.' }, headers: { 'retry-after': '1' } };

let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
let gateway: Awaited<ReturnType<typeof gatewayOf>>;
beforeAll(async () => {
  upstream = await scriptedUpstream();
});
afterAll(() => upstream.close());
/** The spec sets the clocks; timers run. */
beforeEach(async () => {
  jest.useFakeTimers({
    now: Date.now(),
    doNotFake: [
      'nextTick',
      'setImmediate',
      'clearImmediate',
      'setTimeout',
      'clearTimeout',
      'setInterval',
      'clearInterval',
      'queueMicrotask',
      'hrtime',
    ],
  });
  upstream.reset();
  upstream.says('GET /accounts', { status: 200, body: [] });
  gateway = await gatewayOf(upstream.url);
  expect((await get('/accounts')).status).toBe(200);
  upstream.says('GET /apps', LIMITED);
  upstream.says('GET /apps/1/users', LIMITED);
});
afterEach(async () => {
  await gateway.close();
  jest.useRealTimers();
});

const get = (path: string, email = ADA) => gateway.send(`GET ${path}`, {}, email);
const inShort = async (response: Response) => [
  response.status,
  response.headers.get('retry-after'),
  ((await response.json()) as { reason?: string }).reason,
];

describe('a gateway whose upstream limits reads of the user lists', () => {
  it('is ready and serves known users; other users get a Retry-After', async () => {
    for (const ms of [6_000, 8_000, 8_000]) {
      jest.advanceTimersByTime(ms);
      for (const path of ['/accounts', '/apps', '/apps/1/users']) expect((await get(path)).status).toBe(200);
      expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200);
      expect(await inShort(await get('/apps', 'eve@bank.example'))).toEqual([503, '1', 'unavailable']);
    }
  });

  it('refuses all callers with a Retry-After once the lists are a minute old, until they are read again', async () => {
    jest.advanceTimersByTime(60_000);
    for (const path of ['/accounts', '/apps', '/apps/1/users']) {
      expect(await inShort(await get(path))).toEqual([503, '1', 'unavailable']);
    }
    expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(503);

    upstream.reset();
    upstream.says('GET /accounts', { status: 200, body: [] });
    jest.advanceTimersByTime(1_000);
    expect((await get('/accounts')).status).toBe(200);
    expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200);
  });

  it('reads lists that are thirty seconds old before it sends requests of callers', async () => {
    jest.advanceTimersByTime(6_000);
    await get('/accounts');
    upstream.reset();
    upstream.says('GET /accounts', { status: 200, body: [] });
    jest.advanceTimersByTime(30_000);

    const { status } = await get('/accounts');

    const paths = upstream.received.map(({ path }) => path);
    const untilRead = paths.slice(0, paths.indexOf('/apps/1/users') + 1);
    expect(untilRead).toEqual(['/apps', '/apps/1/users']);
    // The read may take longer than a request waits.
    expect([200, 503]).toContain(status);
    expect(paths.slice(2)).toEqual(status === 200 ? ['/accounts'] : []);
    expect((await get('/accounts')).status).toBe(200);
  });
});
