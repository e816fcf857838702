import { mkdtemp, rm } from 'node:fs/promises';
import { BlockList } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { Refusal } from '@banking/domain';
import { LOCAL_ISSUER, LocalIssuer } from '@banking/process/local-issuer';
import { demoUserOf, isOfThisMachine, serveSignIn, type SignInConfig } from './docs-page.js';
import type {} from '../http/request-log.js';

const ADA = 'ada@northwind.example';

const proxies = new BlockList();
proxies.addSubnet('10.0.0.0', 8);

/** A sandbox as `npm start` opens it. */
const SANDBOX = {
  sandbox: true,
  deployment: { demo: true, dataDir: '' },
  tokens: [{ audience: 'banking-api', type: 'at+jwt', bindsByEmail: true, source: { kind: 'local' } }],
  host: '127.0.0.1',
  publicUrl: undefined,
  trustedProxies: new BlockList(),
  upstream: undefined,
} as unknown as SignInConfig;

const issuer = { kind: 'discovery', issuer: 'https://login.example' } as const;

describe('sign-in as the demo user', () => {
  it.each(['127.0.0.1', '127.8.8.8', 'localhost', '::1'])('is offered by a sandbox on %s', (host) => {
    expect(demoUserOf({ ...SANDBOX, host })).toBe(ADA);
  });

  it.each<[string, object]>([
    ['a live deployment', { sandbox: false }],
    ['a sandbox without demo data', { deployment: { demo: false } }],
    ['a sandbox with an identity provider', { tokens: [{ ...SANDBOX.tokens[0], source: issuer }] }],
    ['a gateway', { upstream: {} }],
    ['a sandbox on every address', { host: '0.0.0.0' }],
    ['a sandbox on a private address', { host: '192.168.1.7' }],
    ['a sandbox with a public address', { publicUrl: 'https://bank.example' }],
    ['a sandbox behind trusted proxies', { trustedProxies: proxies }],
  ])('is not offered by %s', (_, change) => {
    expect(demoUserOf({ ...SANDBOX, ...change } as SignInConfig)).toBeUndefined();
  });
});

/** The headers of a browser with the page at this address. */
const ofPage = (host: string) => ({ host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' });

describe('the route of the sign-in', () => {
  let dataDir: string;
  let server: FastifyInstance;
  let sourceAddress: string;
  beforeEach(async () => {
    dataDir = await mkdtemp(join(tmpdir(), 'sign-in-'));
    sourceAddress = '127.0.0.1';
    server = fastify();
    server.addHook('onRequest', (request, _reply, done) => {
      request.sourceAddress = sourceAddress;
      done();
    });
    server.setErrorHandler((error, _request, reply) =>
      error instanceof Refusal ? reply.code(error.status).send({ reason: error.reason }) : reply.code(500).send(),
    );
    await serveSignIn(server, ADA, { ...SANDBOX, deployment: { ...SANDBOX.deployment, dataDir } });
  });
  afterEach(async () => {
    await server.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const signIn = (headers: Record<string, string>) => server.inject({ method: 'POST', url: '/docs/sign-in', headers });

  it.each(['127.0.0.1:3000', 'localhost:8080', '[::1]:3000', 'localhost'])(
    'returns a token of the demo user for eight hours to the page at %s',
    async (host) => {
      const response = await signIn(ofPage(host));

      const { keySet } = await LocalIssuer.open(dataDir);
      const { token } = response.json<{ token: string }>();
      const { payload } = await jwtVerify(token, createLocalJWKSet(keySet), {
        issuer: LOCAL_ISSUER,
        audience: 'banking-api',
      });
      expect([response.statusCode, payload.sub, payload.exp! - payload.iat!]).toEqual([200, ADA, 8 * 3_600]);
    },
  );

  const page = ofPage('127.0.0.1:3000');
  it.each<[string, Record<string, string>]>([
    ['a page of another site', { ...page, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['another server of this machine', { ...page, origin: 'http://127.0.0.1:8000', 'sec-fetch-site': 'same-site' }],
    ['a sandboxed frame', { ...page, origin: 'null' }],
    ['a page of an older browser on another site', { host: page.host, origin: 'https://evil.example' }],
    ['a site whose name resolves to this machine', ofPage('evil.example:3000')],
    ['a name that begins like a loopback address', ofPage('127.0.0.1.evil.example:3000')],
    ['a program without an origin', { host: page.host }],
    ['a host that is no host', { ...page, host: '[', origin: 'http://[' }],
    ...['forwarded', 'via', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip'].map(
      (name): [string, Record<string, string>] => [`a proxy that sets ${name}`, { ...page, [name]: '127.0.0.1' }],
    ),
  ])('does not exist for %s', async (_, headers) => {
    const response = await signIn(headers);

    expect([response.statusCode, response.json()]).toEqual([404, { reason: 'route_not_found' }]);
  });

  it('does not exist for another machine', async () => {
    sourceAddress = '192.168.1.9';

    expect((await signIn(page)).statusCode).toBe(404);
  });
});

it('a request without a peer is of no machine', () => {
  expect(isOfThisMachine({ headers: { host: '127.0.0.1' } } as FastifyRequest)).toBe(false);
});
