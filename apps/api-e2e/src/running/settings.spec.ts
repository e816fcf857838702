import { BankingClient } from '@banking/client';
import type { Event } from '@banking/domain';
import { bind, type Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { administer, openDatabase, until } from '@banking/postgres/testing';
import { PrefixProxy } from '../docs/prefix-proxy.js';
import { blocksOf } from '../documented/examples.js';
import { sendRequest } from '../responses.js';
import { DemoDatabase, type OwnService } from '../running-service.js';
import { ADA, BOB, EVE, idOf } from '../service.js';

const PAGE = 'https://app.example';
const EXPOSED = [
  ...['X-Request-Id', 'Link', 'Location', 'ETag', 'Idempotent-Replayed', 'Retry-After', 'RateLimit'],
  ...['RateLimit-Policy', 'Idempotency-Key', 'WWW-Authenticate', 'Allow'],
];

/** A service with several settings. Without a worker, no session waits for a lock, and no event is recorded. */
let database: DemoDatabase;
let service: OwnService;
beforeAll(async () => {
  database = await DemoDatabase.open();
  service = await database.start({ WORKER: 'off', CORS_ORIGINS: PAGE, ORDER_LIMIT_PER_MINUTE: '6' });
});
afterAll(async () => {
  await service?.running.stop();
  await database?.close();
});

describe('cross-origin requests', () => {
  const sendRequest = (path: string, origin: string, method = 'GET', headers: Record<string, string> = {}) =>
    fetch(`${service.url}${path}`, { method, headers: { origin, ...headers } });

  it.each([
    ['a response', '/health/live', 'GET', 200],
    ['a refusal for want of a token', '/apps', 'GET', 401],
    ['a path that is not there', '/nowhere', 'GET', 404],
    ['a method that is not there', '/apps', 'DELETE', 405],
    ['a query too long', `/apps?${'a'.repeat(9_000)}`, 'GET', 414],
  ])('lets a page of an allowed origin read %s and its headers', async (_, path, method, status) => {
    const response = await sendRequest(path, PAGE, method);

    expect(response.status).toBe(status);
    expect(response.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(response.headers.get('access-control-expose-headers')?.split(', ')).toEqual(expect.arrayContaining(EXPOSED));
    expect(response.headers.get('vary')).toMatch(/origin/i);
  });

  it('allows a POST with the headers of the interface in a preflight', async () => {
    const response = await sendRequest('/accounts', PAGE, 'OPTIONS', {
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,idempotency-key,workspace-id',
    });

    expect(response.status).toBe(204);
    expect(response.headers.get('access-control-allow-origin')).toBe(PAGE);
    expect(response.headers.get('access-control-allow-methods')).toContain('POST');
    expect(response.headers.get('access-control-allow-headers')).toMatch(/idempotency-key/i);
    for (const name of ['x-request-id', 'content-security-policy', 'x-content-type-options']) {
      expect([name, response.headers.has(name)]).toEqual([name, true]);
    }
    expect(response.headers.get('cache-control')).toBe('no-store');
  });

  it.each([
    ['/accounts', 405, 'method_not_allowed', 'GET, HEAD, POST'],
    ['/docs', 405, 'method_not_allowed', 'GET, HEAD'],
    ['/nowhere', 404, 'route_not_found', null],
  ])('refuses OPTIONS of %s without a preflight in the published form', async (path, status, reason, allow) => {
    for (const headers of [{}, { origin: PAGE }, { 'access-control-request-method': 'POST' }]) {
      const response = await fetch(`${service.url}${path}`, { method: 'OPTIONS', headers });

      expect([response.status, response.headers.get('allow')]).toEqual([status, allow]);
      expect(await response.json()).toMatchObject({ reason, requestId: response.headers.get('x-request-id') });
    }
  });

  it('sends no CORS headers to a page of an origin that is not allowed', async () => {
    for (const path of ['/health/live', '/apps', '/nowhere']) {
      const response = await sendRequest(path, 'https://evil.example');

      expect(response.headers.get('access-control-allow-origin')).not.toBe('https://evil.example');
      expect(response.headers.get('access-control-allow-origin')).not.toBe('*');
    }
  });
});

const LOCK = sqlStatement('lock_transfers', 'lock table banking.transfer in access exclusive mode');
/** The sessions that wait for the lock. */
const WAITING = sqlStatement<{ count: number }>(
  'waiting',
  `select count(distinct pid)::int as count from pg_locks where not granted and relation = 'banking.transfer'::regclass`,
);

describe('a service whose database connections a workspace could use up', () => {
  let owner: Database;
  beforeAll(async () => {
    owner = await openDatabase({ connection: database.server.connection, role: OWNER_ROLE });
  });
  afterAll(() => owner?.end());

  const workspaceOf = (name: string) => idOf(service.world, 'workspaces', name);

  it('reads one large page of the workspace at a time, and serves other workspaces meanwhile', async () => {
    const large = () =>
      sendRequest(service, '/transfers?limit=500', { as: ADA, workspace: workspaceOf('Northwind Trading') });
    const small = () => sendRequest(service, '/accounts', { as: EVE, workspace: workspaceOf('Southwind Imports') });
    await Promise.all([large(), small()]);

    const pages = await owner.transaction({}, async (tx) => {
      await tx.pipeline([bind(LOCK)]);
      const sent = Array.from({ length: 30 }, large);
      const waiting = async () => {
        const [[row]] = await tx.pipeline([bind(WAITING)]);
        return row?.count ?? 0;
      };
      await until(waiting);

      const others = await Promise.all(Array.from({ length: 30 }, small));

      expect(new Set(others.map(({ status }) => status))).toEqual(new Set([200]));
      expect(await waiting()).toBeLessThanOrEqual(1);
      return sent;
    });

    await Promise.all(pages);
    expect((await large()).status).toBe(200);
  });
});

describe('order rate limit of six a minute and a burst of two', () => {
  const place = (as: string, key: string) =>
    sendRequest(service, `/accounts/${idOf(service.world, 'accounts', 'Northwind Trading USD')}/orders`, {
      as,
      workspace: idOf(service.world, 'workspaces', 'Northwind Trading'),
      headers: { 'Idempotency-Key': key },
      body: { amount: '100', recipientID: idOf(service.world, 'recipients', 'internal'), type: 'instant' },
    });

  it('refuses further orders with Retry-After, and still replays a lost response', async () => {
    const [first, second] = [await place(ADA, 'one'), await place(BOB, 'two')];
    const [third, again] = [await place(ADA, 'three'), await place(ADA, 'one')];

    expect([first.status, second.status, third.status, again.status]).toEqual([200, 200, 429, 200]);
    expect(first.headers.get('ratelimit-policy')).toBe('"orders";q=2;w=20');
    expect(third.body).toMatchObject({ errorCode: 'rate_limited', reason: 'rate_limited' });
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect((await sendRequest(service, '/apps', { as: ADA })).status).toBe(200);
  });
});

describe('service behind a proxy that strips a prefix, with PUBLIC_URL', () => {
  let proxy: PrefixProxy;
  let proxied: OwnService;
  let headers: Record<string, string>;

  beforeAll(async () => {
    proxy = await PrefixProxy.start('/bank/payments');
    proxied = await database.start({ PUBLIC_URL: `${proxy.url}/`, WORKER: 'off' });
    proxy.target = proxied.url;
    headers = { authorization: `Bearer ${await proxied.tokenOf(ADA)}`, 'workspace-id': '1' };
  });
  afterAll(async () => {
    await proxied?.running.stop();
    await proxy?.stop();
  });

  /** Follows a reference as a client does: resolved against the address that was asked (RFC 3986, section 5). */
  const follow = (reference: string | null | undefined, asked: string) =>
    fetch(new URL(reference ?? 'nowhere', asked), { headers });

  const linkOf = (response: Response) => /<([^>]*)>/.exec(response.headers.get('link') ?? '')?.[1];

  it.each([
    ['/accounts', { productID: 2 }, 201],
    ['/quotes', { accountID: 1, targetCurrency: 'JPY', amount: '10000' }, 201],
    ['/accounts/1/orders', { amount: '5000', recipientID: 1, type: 'instant' }, 200],
    ['/recipients/internal', { accountCode: 'NW0000000008' }, 201],
    ['/sandbox/accounts/1/fundings', { amount: '1' }, 201],
  ])('returns a Location that resolves for POST %s', async (path, body, status) => {
    const asked = `${proxy.url}${path}`;
    const json = { ...headers, 'content-type': 'application/json' };

    const created = await fetch(asked, { method: 'POST', headers: json, body: JSON.stringify(body) });
    const { id } = (await created.json()) as { id: number };
    const read = await follow(created.headers.get('location'), asked);

    expect(created.status).toBe(status);
    expect([read.status, await read.json()]).toEqual([200, expect.objectContaining({ id })]);
  });

  it.each(['/transfers?limit=2', '/accounts/2/statement?from=2026-01-01&to=2036-01-01&limit=2'])(
    'returns a next link that resolves for %s',
    async (path) => {
      const asked = `${proxy.url}${path}`;

      const first = await fetch(asked, { headers });
      const next = await follow(linkOf(first), asked);

      expect([first.status, next.status]).toEqual([200, 200]);
      expect(await next.text()).not.toBe(await first.text());
    },
  );

  it.each(['/countries/IN/corridors', '/validation-schema?countryCode=IN&currencyCode=INR&payoutMethod=LOCAL'])(
    'returns a canonical link that resolves for the other path %s',
    async (path) => {
      const asked = `${proxy.url}${path}`;

      const former = await fetch(asked, { headers });
      const canonical = await follow(linkOf(former), asked);

      expect([former.status, canonical.status]).toEqual([200, 200]);
      expect(await canonical.text()).toBe(await former.text());
    },
  );

  it('lets the client read every page with the public URL as its base URL', async () => {
    const { transfers } = new BankingClient({ baseUrl: proxy.url, token: await proxied.tokenOf(ADA) }).workspace(1);
    const all = (await transfers.listPage({ type: 'payout', limit: 100 })).items;

    const paged = [];
    for await (const transfer of transfers.list({ type: 'payout', limit: 2 })) paged.push(transfer.id);

    expect(paged).toEqual(all.map(({ id }) => id));
    expect(paged.length).toBeGreaterThan(2);
  });

  it('names the public URL as the server and in the commands of the document', async () => {
    const { servers, info } = (await (await fetch(`${proxy.url}/openapi.json`)).json()) as {
      servers: { url: string }[];
      info: { description: string };
    };

    expect(servers.map(({ url }) => url)).toEqual([proxy.url]);
    expect(blocksOf('sh', info.description)[0]).toContain(`export BASE_URL=${proxy.url}\n`);
  });

  it('redirects the docs page with a trailing slash below the prefix', async () => {
    const { url, status } = await fetch(`${proxy.url}/docs/`);

    expect([url, status]).toEqual([`${proxy.url}/docs`, 200]);
  });
});

describe('requests that wait for one lock', () => {
  const COUNT = 20;
  const emails = Array.from({ length: COUNT }, (_, index) => `new-${index}@northwind.example`);
  const sendAs = async (email: string, method: string, path: string, body?: object) =>
    fetch(`${service.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await service.tokenOf(email)}`,
        'workspace-id': '1',
        ...(body && { 'content-type': 'application/json' }),
      },
      ...(body && { body: JSON.stringify(body) }),
    });

  beforeAll(async () => {
    await administer(database.server.connection, (client) =>
      client.query('insert into banking.app_user (email) select unnest($1::text[])', [emails]),
    );
  });

  it.each<[what: string, lock: string, send: (index: number) => Promise<Response>]>([
    [
      'first sign-ins',
      `pg_advisory_xact_lock(hashtextextended('banking.directory', 0))`,
      (index) => sendAs(emails[index]!, 'GET', '/apps'),
    ],
    [
      'changes of one recipient',
      'from banking.recipient where workspace_id = 1 and id = 2 for update',
      (index) => sendAs(ADA, 'PATCH', '/recipients/2', { alias: `Alias ${index}` }),
    ],
    [
      'verifications of recipients',
      `pg_advisory_xact_lock(hashtextextended(jsonb_build_array('recipient verifications', 1::bigint)::text, 0))`,
      () => sendAs(ADA, 'POST', '/recipients/2/verification'),
    ],
  ])('leave the connections to other requests: %s', async (_, lock, send) => {
    const bob = () => sendAs(BOB, 'GET', '/accounts');
    for (const email of [ADA, BOB]) await sendAs(email, 'GET', '/accounts');

    await administer(database.server.connection, async (client) => {
      await client.query(`begin; select ${lock}`);
      const waiting = Array.from({ length: COUNT }, (_, index) => send(index));
      await until(async () => (await client.query('select from pg_locks where not granted')).rows.length > 0);
      const others = await Promise.all(Array.from({ length: COUNT }, bob));

      expect(others.map(({ status }) => status)).toEqual(others.map(() => 200));
      await client.query('rollback');
      await Promise.all(waiting);
    });
  });
});

/** The address in a `Link` to the next page. */
const nextOf = (headers: Headers) => /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '';

// The last, because the service stops.
describe('a service with requests that are held', () => {
  let headers: Record<string, string>;
  beforeAll(async () => {
    headers = { authorization: `Bearer ${await service.tokenOf(ADA)}`, 'workspace-id': '1' };
  });

  const get = (path: string) => fetch(`${service.url}${path}`, { headers });

  it('serves more other requests than it has connections to the database', async () => {
    const end = nextOf((await get('/events?limit=500')).headers);
    // As many as a user may have, and more than the 8 connections.
    const held = Array.from({ length: 10 }, () => get(`${end}&wait=2`));
    const others = await Promise.all(Array.from({ length: 20 }, () => get('/accounts')));

    expect(others.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    for (const response of await Promise.all(held)) expect(await response.json()).toEqual([]);
  });

  it('responds to them at once when it stops, with the position to continue from', async () => {
    const end = nextOf((await get('/events?limit=500')).headers);
    const held = [get(`${end}&wait=20`), get(`${end}&wait=20`)];
    // The requests are held when a later one on the same route was served.
    await get('/events?limit=1');
    service.running.signal('SIGTERM');

    for (const response of await Promise.all(held)) {
      expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
      expect((await response.json()) as Event[]).toEqual([]);
      expect(nextOf(response.headers)).toContain(end);
    }
    expect((await service.running.ended).code).toBe(0);
  });
});
