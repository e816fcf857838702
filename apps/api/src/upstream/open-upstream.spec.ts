import { performance } from 'node:perf_hooks';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@banking/process';
import { gatewayOf } from './testing/gateway-of.js';
import { scriptedUpstream, type Script } from './testing/scripted-upstream.js';

let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
beforeAll(async () => {
  upstream = await scriptedUpstream();
});
afterAll(() => upstream.close());
beforeEach(() => upstream.reset());

type Gateway = Awaited<ReturnType<typeof gatewayOf>>;

/** A gateway for the time of a test. */
async function withGateway<T>(use: (gateway: Gateway) => Promise<T>, environment = {}, url = upstream.url): Promise<T> {
  const gateway = await gatewayOf(url, environment);
  try {
    return await use(gateway);
  } finally {
    await gateway.close();
  }
}

const reasonOf = async (response: Response) => ((await response.json()) as { reason?: string }).reason;
const refused = (status: number, reason: string) => ({ status, body: { errorCode: 'x', message: 'No.', reason, requestId: 'r' } }); // prettier-ignore

describe('Given a gateway in front of an upstream', () => {
  it('When somebody asks, Then our own check comes first, and what is asked goes on with our credential and the same id', async () => {
    upstream.says('GET /transfers/42', { status: 200, body: { id: 42, amount: '5', colour: 'blue' } });
    await withGateway(async ({ ask }) => {
      const answer = await ask('GET /transfers/42', { headers: { 'x-request-id': 'one-id' } });

      expect(await answer.json()).toMatchObject({ id: 42, amount: '5', colour: 'blue' });
      expect(upstream.received.at(-1)).toMatchObject({ path: '/transfers/42', headers: { 'authorization': 'Bearer ours', 'workspace-id': '1', 'x-request-id': 'one-id', 'via': expect.stringMatching(/^1\.1 gateway-/) } }); // prettier-ignore
      const asked = upstream.received.length;
      expect(await reasonOf(await ask('GET /transfers/42', { headers: { 'workspace-id': '2' } }))).toBe('workspace_forbidden'); // prettier-ignore
      expect(await reasonOf(await ask('GET /transfers/42', {}, 'bob@bank.example'))).toBe('workspace_forbidden');
      expect(await reasonOf(await ask('GET /apps', {}, 'eve@bank.example'))).toBe('not_authenticated');
      expect(upstream.received.slice(asked).filter(({ path }) => path.startsWith('/transfers'))).toEqual([]);
    });
  });

  it('When it runs, Then nothing lies in DATA_DIR but the key that signs local tokens', async () => {
    await withGateway(async ({ dataDir }) => {
      expect(await readdir(dataDir)).toEqual(['signing-key.json']);
    });
  });

  it('When a caller lists apps and users, Then they see theirs, by our own rule', async () => {
    upstream.says('GET /apps', {
      status: 200,
      body: [
        { id: 1, name: 'Bank' },
        { id: 2, name: 'Other' },
      ],
    });
    upstream.says('GET /apps/2/users', { status: 200, body: [{ id: 9, email: 'eve@bank.example' }] });
    await withGateway(async ({ ask }) => {
      const read = async (call: string, email: string) =>
        (await ask(call, {}, email)).json() as Promise<{ id: number }[]>;

      expect(await read('GET /apps', 'ada@bank.example')).toEqual([{ id: 1, name: 'Bank' }]);
      expect(await read('GET /apps', 'eve@bank.example')).toEqual([{ id: 2, name: 'Other' }]);
      expect((await read('GET /apps/1/users', 'ada@bank.example')).map(({ id }) => id)).toEqual([1, 2]);
      expect((await read('GET /apps/1/users', 'bob@bank.example')).map(({ id }) => id)).toEqual([2]);
      expect(await read('GET /apps/2/users', 'ada@bank.example')).toMatchObject({ reason: 'app_not_found' });
    });
  });

  it('When its upstream answers, Then it is ready; the upstream is asked once a second, for liveness never', async () => {
    await withGateway(async ({ url }) => {
      for (let time = 0; time < 20; time += 1) {
        expect(await (await fetch(`${url}/health/ready`)).json()).toEqual({ status: 'ok' });
      }
      expect(upstream.received.length).toBeLessThan(6);
      const asked = upstream.received.length;
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
      expect(upstream.received).toHaveLength(asked);
    });
  });

  it.each<[string, Script, string]>([
    ['does not answer', (request) => void request.socket.destroy(), 'The upstream does not answer as it should.'],
    [
      'refuses our credential',
      refused(401, 'not_authenticated'),
      'The upstream refuses our credential, or there is none.',
    ],
    ['answers nonsense', { status: 200, body: [{ id: 'one' }] }, 'The upstream does not answer as it should.'],
  ])('When its upstream %s, Then it is not ready and says so', async (_, script, message) => {
    upstream.says('GET /apps', script);
    await withGateway(async ({ url }) => {
      const answer = await fetch(`${url}/health/ready`);

      expect({ status: answer.status, retryAfter: answer.headers.get('retry-after'), body: await answer.json() }).toMatchObject({ status: 503, retryAfter: '1', body: { reason: 'unavailable', message } }); // prettier-ignore
    });
  });

  it('When its document is read, Then operations that ask the upstream promise 502 and 504, and creations a key with them', async () => {
    await withGateway(async ({ url }) => {
      const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { paths: Record<string, Record<string, { security?: object[]; responses: Record<string, { headers: object }> }>> }; // prettier-ignore
      const operations = Object.entries(paths).flatMap(([path, item]) => Object.values(item).map((one) => ({ path, ...one }))); // prettier-ignore

      expect(operations.length).toBeGreaterThan(20);
      for (const { path, responses } of operations) {
        const promised = ['502', '504'].filter((status) => responses[status]);
        expect({ path, promised }).toEqual({ path, promised: path.startsWith('/health') ? [] : ['502', '504'] });
      }
      const { responses } = paths['/quotes']!['post']!;
      for (const status of ['502', '504']) expect(responses[status]?.headers).toHaveProperty('Idempotency-Key');
      expect(responses['503']?.headers).not.toHaveProperty('Idempotency-Key');
      expect(paths['/quotes/{quoteId}']!['get']!.responses['502']?.headers).not.toHaveProperty('Idempotency-Key');
    });
  });

  it('When every caller is answered 500 and only the lists are served, Then it is left alone for a while', async () => {
    upstream.says('GET /products', { status: 500 });
    await withGateway(async ({ ask }) => {
      for (let time = 0; time < 5; time += 1) expect((await ask('GET /products')).status).toBe(502);

      expect((await ask('GET /products')).status).toBe(503);
    });
  });

  it('When finding out who calls took so long that the answer might come too late, Then nothing is sent', async () => {
    const realNow = performance.now.bind(performance);
    let laterMs = 0;
    const clock = jest.spyOn(performance, 'now').mockImplementation(() => realNow() + laterMs);
    upstream.says('GET /apps/1/users', (_, response) => {
      laterMs = 1_500;
      response.writeHead(200, { 'content-type': 'application/json' }).end('[{"id":1,"email":"ada@bank.example"}]');
    });
    await withGateway(
      async ({ ask }) => {
        const answer = await ask('GET /products');

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

describe('Given the first question of a gateway', () => {
  const jwt = (claims: object) => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.c2lnbmF0dXJl`;
  const EXPIRED = jwt({ iss: 'https://login.example', aud: 'another-api', exp: 1_700_000_000 });

  it.each<[string, Script, Record<string, string>, RegExp]>([
    ['401 to a JWT', refused(401, 'not_authenticated'), { UPSTREAM_TOKEN: EXPIRED }, /https:\/\/login\.example issued it for another-api, good until 2023-11-14T22:13:20\.000Z, which is over/], // prettier-ignore
    ['401 to another token', refused(401, 'not_authenticated'), {}, /\(401\)\. It is no JWT/],
    ['401 of a proxy', { status: 401, body: '<h1>No</h1>' }, {}, /does not accept our credential/],
    ['403', refused(403, 'role_insufficient'), {}, /\(403\)/],
    ['404', { status: 404, body: { errorCode: 'x', message: 'y' } }, {}, /GET \/apps answered 404/],
    ['HTML', { status: 200, body: '<h1>Welcome</h1>' }, {}, /Content-Type is not JSON/],
    ['a redirect', { status: 301, headers: { location: '/elsewhere' } }, {}, /redirect/],
    ['another interface', { status: 200, body: [{ name: 'no id' }] }, {}, /must have required property 'id'/],
  ])('When the answer is %s, Then the start is refused with what to change', async (_, script, environment, why) => {
    upstream.says('GET /apps', script);
    await withGateway(async ({ backing }) => {
      const error = await backing.begin().catch((thrown: unknown) => thrown);

      expect(error).toBeInstanceOf(ConfigError);
      expect((error as Error).message).toMatch(why);
      expect((error as Error).message).not.toContain(environment['UPSTREAM_TOKEN'] ?? 'ours');
    }, environment);
  });

  it.each<[string, Script]>([
    ['nothing', (request) => void request.socket.destroy()],
    ['500', { status: 500 }],
    ['429', refused(429, 'rate_limited')],
  ])('When the answer is %s, Then the gateway begins, and is ready when it comes', async (_, script) => {
    upstream.says('GET /apps', script);
    await withGateway(async ({ backing }) => {
      await backing.begin();
    });
  });

  it('When the credential stands in a file that is not there, or in a session that is over, Then the start is refused', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'credential-'));
    const file = join(folder, 'token');
    const begin = (environment: object) =>
      withGateway(({ backing }) => backing.begin(), { UPSTREAM_TOKEN: '', ...environment });

    await expect(begin({ UPSTREAM_TOKEN_FILE: file })).rejects.toThrow(/token file \S+ is not there/);
    await writeFile(file, 'of-a-file\n', { mode: 0o600 });
    await begin({ UPSTREAM_TOKEN_FILE: file });
    expect(upstream.received.at(-1)?.headers.authorization).toBe('Bearer of-a-file');

    const session = { UPSTREAM_AUTH_URL: `${upstream.url}/auth`, UPSTREAM_REFRESH_TOKEN_FILE: file };
    upstream.says('POST /auth/sessions/tokens', { status: 401 });
    await expect(begin(session)).rejects.toThrow(/answered 401: sign in again/);
    upstream.says('POST /auth/sessions/tokens', { status: 200, body: { accessToken: 'of-a-session', refreshToken: 'next', expiresIn: 600 } }); // prettier-ignore
    await begin(session);
    expect(upstream.received.at(-1)?.headers.authorization).toBe('Bearer of-a-session');
    expect(await readFile(file, 'utf8')).toContain('"refreshToken":"next"');
    await rm(folder, { recursive: true });
  });

  it('When the credential goes away later, Then our callers are told 503 and the supervisor why', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'credential-'));
    const file = join(folder, 'token');
    await writeFile(file, 'of-a-file', { mode: 0o600 });
    await withGateway(
      async ({ ask, url }) => {
        expect((await ask('GET /apps')).status).toBe(200);
        await rm(folder, { recursive: true });
        for (const call of ['GET /products', 'GET /apps']) upstream.says(call, refused(401, 'not_authenticated'));

        const answer = await ask('GET /products');
        expect({ status: answer.status, body: await answer.json() }).toMatchObject({ status: 503, body: { reason: 'unavailable', message: 'The service cannot answer at the moment. Nothing was done.' } }); // prettier-ignore
        const health = await fetch(`${url}/health/ready`);
        expect(await health.json()).toMatchObject({
          message: 'The upstream refuses our credential, or there is none.',
        });
      },
      { UPSTREAM_TOKEN: '', UPSTREAM_TOKEN_FILE: file },
    );
  });

  it('When it comes back to us over other addresses, Then the start is refused', async () => {
    await withGateway(async (gateway) => {
      for (const call of ['/apps', '/apps/1/users']) {
        upstream.says(`GET ${call}`, (request, response) => {
          const { via = '', authorization = '' } = request.headers;
          fetch(`${gateway.url}${call}`, { headers: { via: `${via}, 1.1 proxy`, authorization } })
            .then(async (answer) =>
              response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text()),
            ) // prettier-ignore
            .catch(() => response.destroy());
        });
      }

      await expect(gateway.backing.begin()).rejects.toThrow('UPSTREAM_URL leads back to this gateway');
    });
  });

  it('When TLS fails, Then the start is refused', async () => {
    await withGateway(
      async ({ backing }) => {
        await expect(backing.begin()).rejects.toThrow(/its certificate or its TLS fails \(\w+\)/);
      },
      {},
      // It speaks plain HTTP.
      upstream.url.replace('http:', 'https:'),
    );
  });
});
