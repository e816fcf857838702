import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { ConfigError } from '@banking/process';
import { type Script, scriptedUpstream, withGatewayOf } from './testing/gateway.js';

let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
beforeAll(async () => {
  upstream = await scriptedUpstream();
});
afterAll(() => upstream.close());
beforeEach(() => upstream.reset());

const withGateway = <T>(use: Parameters<typeof withGatewayOf<T>>[2], environment = {}, url = upstream.url) =>
  withGatewayOf(url, environment, use);

describe('the first call of a gateway', () => {
  const refused = (status: number, reason: string) => ({
    status,
    body: { errorCode: 'x', message: 'No.', reason, requestId: 'r' },
  });

  const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2lnbmF0dXJl`;
  const EXPIRED = jwt({ iss: 'https://login.example', aud: 'another-api', exp: 1_700_000_000 });

  it.each<[string, Script, Record<string, string>, RegExp]>([
    [
      '401 to a JWT',
      refused(401, 'not_authenticated'),
      { UPSTREAM_TOKEN: EXPIRED },
      /issuer https:\/\/login\.example and audience another-api\. It expired at 2023-11-14T22:13:20\.000Z/,
    ],
    ['401 to another token', refused(401, 'not_authenticated'), {}, /\(401\)\. It is no JWT/],
    ['401 of a proxy', { status: 401, body: '<h1>No</h1>' }, {}, /does not accept our credential/],
    ['403', refused(403, 'role_insufficient'), {}, /\(403\)/],
    ['404', { status: 404, body: { errorCode: 'x', message: 'y' } }, {}, /GET \/apps has status 404/],
    ['HTML', { status: 200, body: '<h1>Welcome</h1>' }, {}, /Content-Type is not JSON/],
    ['a redirect', { status: 301, headers: { location: '/elsewhere' } }, {}, /redirect/],
    ['another interface', { status: 200, body: [{ name: 'no id' }] }, {}, /must have required property 'id'/],
  ])('fails the start with a ConfigError if the response is %s', async (_, script, environment, why) => {
    upstream.says('GET /apps', script);
    await withGateway(async ({ backing }) => {
      const error = await backing.onListening().catch((thrown: unknown) => thrown);

      expect(error).toBeInstanceOf(ConfigError);
      expect((error as Error).message).toMatch(why);
      expect((error as Error).message).not.toContain(environment['UPSTREAM_TOKEN'] ?? 'ours');
    }, environment);
  });

  it.each<[string, Script]>([
    ['missing', (request) => void request.socket.destroy()],
    ['500', { status: 500 }],
    ['429', refused(429, 'rate_limited')],
  ])('does not fail the start if the response is %s', async (_, script) => {
    upstream.says('GET /apps', script);
    await withGateway(async ({ backing }) => {
      await backing.onListening();
    });
  });

  it('fails the start if the token file does not exist or the session has ended', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'credential-'));
    const file = join(folder, 'token');
    const start = (environment: object) =>
      withGateway(({ backing }) => backing.onListening(), { UPSTREAM_TOKEN: '', ...environment });

    await expect(start({ UPSTREAM_TOKEN_FILE: file })).rejects.toThrow(/token file \S+ does not exist/);
    await writeFile(file, 'of-a-file\n', { mode: 0o600 });
    await start({ UPSTREAM_TOKEN_FILE: file });
    expect(upstream.received.at(-1)?.headers.authorization).toBe('Bearer of-a-file');

    const session = { UPSTREAM_AUTH_URL: `${upstream.url}/auth`, UPSTREAM_REFRESH_TOKEN_FILE: file };
    upstream.says('POST /auth/sessions/tokens', { status: 401 });
    await expect(start(session)).rejects.toThrow(/answered 401: sign in again/);
    upstream.says('POST /auth/sessions/tokens', {
      status: 200,
      body: { accessToken: 'of-a-session', refreshToken: 'next', expiresIn: 600 },
    });
    await start(session);
    expect(upstream.received.at(-1)?.headers.authorization).toBe('Bearer of-a-session');
    expect(await readFile(file, 'utf8')).toContain('"refreshToken":"next"');
    await rm(folder, { recursive: true });
  });

  it('responds 503 if the upstream later refuses the credential, and the health check says why', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'credential-'));
    const file = join(folder, 'token');
    await writeFile(file, 'of-a-file', { mode: 0o600 });
    await withGateway(
      async ({ send, url }) => {
        expect((await send('GET /apps')).status).toBe(200);
        await rm(folder, { recursive: true });
        for (const call of ['GET /products', 'GET /apps']) upstream.says(call, refused(401, 'not_authenticated'));

        const answer = await send('GET /products');
        expect({ status: answer.status, body: await answer.json() }).toMatchObject({
          status: 503,
          body: {
            reason: 'unavailable',
            message: 'The service is temporarily unavailable. The request was not executed.',
          },
        });
        const health = await fetch(`${url}/health/ready`);
        expect(health.status).toBe(503);
      },
      { UPSTREAM_TOKEN: '', UPSTREAM_TOKEN_FILE: file },
    );
  });

  it('fails the start if the upstream leads back to this gateway', async () => {
    await withGateway(async (gateway) => {
      for (const call of ['/apps', '/apps/1/users']) {
        upstream.says(`GET ${call}`, (request, response) => {
          const { via = '', authorization = '' } = request.headers;
          fetch(`${gateway.url}${call}`, { headers: { via: `${via}, 1.1 proxy`, authorization } })
            .then(async (answer) =>
              response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text()),
            )
            .catch(() => response.destroy());
        });
      }

      await expect(gateway.backing.onListening()).rejects.toThrow('UPSTREAM_URL leads back to this gateway');
    });
  });

  it('is sent below the path of UPSTREAM_URL', async () => {
    upstream.says('GET /banking/apps', { status: 200, body: [{ id: 1, name: 'Bank' }] });
    await withGateway(({ backing }) => backing.onListening(), {}, `${upstream.url}/banking`);

    expect(new Set(upstream.received.map(({ path }) => path))).toEqual(
      new Set(['/banking/apps', '/banking/apps/1/users']),
    );
  });

  it('fails the start if TLS fails', async () => {
    await withGateway(
      async ({ backing }) => {
        await expect(backing.onListening()).rejects.toThrow(/The TLS connection to UPSTREAM_URL fails \(\w+\)/);
      },
      {},
      // The server speaks plain HTTP.
      upstream.url.replace('http:', 'https:'),
    );
  });
});

describe('a gateway', () => {
  const reasonOf = async (response: Response) => ((await response.json()) as { reason?: string }).reason;
  const refused = (status: number, reason: string) => ({
    status,
    body: { errorCode: 'x', message: 'No.', reason, requestId: 'r' },
  });

  it('authorizes the caller itself and forwards the request with its own credential and the same request id', async () => {
    upstream.says('GET /transfers/42', { status: 200, body: { id: 42, amount: '5', colour: 'blue' } });
    await withGateway(async ({ send }) => {
      const answer = await send('GET /transfers/42', { headers: { 'x-request-id': 'one-id' } });

      expect(await answer.json()).toMatchObject({ id: 42, amount: '5', colour: 'blue' });
      expect(upstream.received.at(-1)).toMatchObject({
        path: '/transfers/42',
        headers: {
          authorization: 'Bearer ours',
          'workspace-id': '1',
          'x-request-id': 'one-id',
          via: expect.stringMatching(/^1\.1 gateway-/),
        },
      });
      const count = upstream.received.length;
      expect(await reasonOf(await send('GET /transfers/42', { headers: { 'workspace-id': '2' } }))).toBe(
        'workspace_forbidden',
      );
      expect(await reasonOf(await send('GET /transfers/42', {}, 'bob@bank.example'))).toBe('workspace_forbidden');
      expect(await reasonOf(await send('GET /apps', {}, 'eve@bank.example'))).toBe('not_authenticated');
      expect(upstream.received.slice(count).filter(({ path }) => path.startsWith('/transfers'))).toEqual([]);
    });
  });

  it('stores nothing in DATA_DIR except the key that signs local tokens', async () => {
    await withGateway(async ({ dataDir }) => {
      expect(await readdir(dataDir)).toEqual(['signing-key.json']);
    });
  });

  it('lists the apps of the caller and the users they may see', async () => {
    upstream.says('GET /apps', {
      status: 200,
      body: [
        { id: 1, name: 'Bank' },
        { id: 2, name: 'Other' },
      ],
    });
    upstream.says('GET /apps/2/users', { status: 200, body: [{ id: 9, email: 'eve@bank.example' }] });
    await withGateway(async ({ send }) => {
      const read = async (call: string, email: string) =>
        (await send(call, {}, email)).json() as Promise<{ id: number }[]>;

      expect(await read('GET /apps', 'ada@bank.example')).toEqual([{ id: 1, name: 'Bank' }]);
      expect(await read('GET /apps', 'eve@bank.example')).toEqual([{ id: 2, name: 'Other' }]);
      expect((await read('GET /apps/1/users', 'ada@bank.example')).map(({ id }) => id)).toEqual([1, 2]);
      expect((await read('GET /apps/1/users', 'bob@bank.example')).map(({ id }) => id)).toEqual([2]);
      expect(await read('GET /apps/2/users', 'ada@bank.example')).toMatchObject({ reason: 'app_not_found' });
    });
  });

  it('is ready if its upstream responds, and calls it once a second for readiness and never for liveness', async () => {
    await withGateway(async ({ url }) => {
      for (let time = 0; time < 20; time += 1) {
        expect(await (await fetch(`${url}/health/ready`)).json()).toEqual({ status: 'ok' });
      }
      expect(upstream.received.length).toBeLessThan(6);
      const count = upstream.received.length;
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      expect(upstream.received).toHaveLength(count);
    });
  });

  it.each<[string, Script]>([
    ['closes the connection', (request) => void request.socket.destroy()],
    ['refuses our credential', refused(401, 'not_authenticated')],
    ['sends an invalid response', { status: 200, body: [{ id: 'one' }] }],
  ])('is not ready if its upstream %s', async (_, script) => {
    upstream.says('GET /apps', script);
    await withGateway(async ({ url }) => {
      const answer = await fetch(`${url}/health/ready`);

      expect({
        status: answer.status,
        retryAfter: answer.headers.get('retry-after'),
        body: await answer.json(),
      }).toMatchObject({
        status: 503,
        retryAfter: '1',
        body: { reason: 'unavailable', message: 'The service is not ready.' },
      });
    });
  });

  it('documents 502 and 504 for the operations that call the upstream, with an idempotency key for creations', async () => {
    await withGateway(async ({ url }) => {
      const { paths, components } = (await (await fetch(`${url}/openapi.json`)).json()) as {
        paths: Record<
          string,
          Record<string, { security?: object[]; responses: Record<string, { $ref: string; headers?: object }> }>
        >;
        components: { responses: Record<string, { headers: object }> };
      };
      const headersOf = (method: string, path: string, status: string) =>
        components.responses[paths[path]?.[method]?.responses[status]?.$ref.split('/').at(-1) ?? '']?.headers;
      const operations = Object.entries(paths).flatMap(([path, item]) =>
        Object.values(item).map((one) => ({ path, ...one })),
      );

      expect(operations.length).toBeGreaterThan(20);
      for (const { path, responses } of operations) {
        const promised = ['502', '504'].filter((status) => responses[status]);
        expect({ path, promised }).toEqual({ path, promised: path.startsWith('/health') ? [] : ['502', '504'] });
      }
      for (const status of ['502', '504'])
        expect(headersOf('post', '/quotes', status)).toHaveProperty('Idempotency-Key');
      expect(paths['/accounts/{accountId}/orders']?.['post']?.responses['202']?.headers).toHaveProperty(
        'Idempotency-Key',
      );
      expect(headersOf('post', '/quotes', '503')).not.toHaveProperty('Idempotency-Key');
      expect(headersOf('get', '/quotes/{quoteId}', '502')).not.toHaveProperty('Idempotency-Key');
    });
  });

  it('opens the circuit if all requests of callers fail, although the user lists can be read', async () => {
    upstream.says('GET /products', { status: 500 });
    await withGateway(async ({ send }) => {
      for (let time = 0; time < 5; time += 1) expect((await send('GET /products')).status).toBe(502);

      expect((await send('GET /products')).status).toBe(503);
    });
  });

  it('does not forward a request if reading the user lists left too little time for a response', async () => {
    const realNow = performance.now.bind(performance);
    let laterMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => realNow() + laterMs);
    upstream.says('GET /apps/1/users', (_, response) => {
      laterMs = 1_500;
      response.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":1,"email":"ada@bank.example"}]');
    });
    await withGateway(
      async ({ send }) => {
        const answer = await send('GET /products');

        expect({ status: answer.status, reason: await reasonOf(answer) }).toEqual({
          status: 503,
          reason: 'unavailable',
        });
        expect(upstream.received.filter(({ path }) => path === '/products')).toEqual([]);
      },
      { UPSTREAM_TIMEOUT_MS: '14000' },
    ).finally(() => clock.mockRestore());
  });
});
