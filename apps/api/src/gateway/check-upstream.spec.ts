import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigError } from '@banking/process';
import { withGatewayOf } from './testing/gateway-of.js';
import { scriptedUpstream, type Script } from './testing/scripted-upstream.js';

let upstream: Awaited<ReturnType<typeof scriptedUpstream>>;
beforeAll(async () => {
  upstream = await scriptedUpstream();
});
afterAll(() => upstream.close());
beforeEach(() => upstream.reset());

const withGateway = <T>(use: Parameters<typeof withGatewayOf<T>>[2], environment = {}, url = upstream.url) =>
  withGatewayOf(url, environment, use);

const refused = (status: number, reason: string) => ({
  status,
  body: { errorCode: 'x', message: 'No.', reason, requestId: 'r' },
});

describe('the first call of a gateway', () => {
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
