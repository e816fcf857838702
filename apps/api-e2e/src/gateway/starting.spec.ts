import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { LocalIssuer } from '@banking/process/local-issuer';
import { until } from '@banking/postgres/testing';
import { newDataDir, refusedStart, RunningService, type TestDataDir } from '../running-service.js';
import { ADA, AUDIENCE, GATEWAY, localToken } from '../service.js';
import { BreakingProxy, startGateway } from './stacked-services.js';
import { AttackedGateway, type Behaviour, body, HostileUpstream, json } from './attacked-gateway.js';
import { KeepAliveClient } from '../running/keep-alive-client.js';

/** Messages to an operator are sentences, without a stack or the name of a class. */
const STACK = /^\s+at .+:\d+:\d+|node:internal|\bError:/m;
const SECRET = 'hunter2-of-the-upstream';
const URL_OF = 'https://bank.example/banking';

/** The invalid setting, and a pattern of the message. */
const MISTAKES: readonly (readonly [what: string, environment: Readonly<Record<string, string>>, sentence: RegExp])[] =
  [
    ['no credential', { UPSTREAM_URL: URL_OF }, /UPSTREAM_TOKEN/],
    [
      'an address that anybody can listen to',
      { UPSTREAM_URL: 'http://bank.example', UPSTREAM_TOKEN: SECRET },
      /UPSTREAM_URL .*https/,
    ],
    [
      'a password in the address',
      { UPSTREAM_URL: `https://me:${SECRET}@bank.example`, UPSTREAM_TOKEN: SECRET },
      /UPSTREAM_URL .*password/,
    ],
    ['a token with a line break', { UPSTREAM_URL: URL_OF, UPSTREAM_TOKEN: `${SECRET}\r\nX-A: b` }, /UPSTREAM_TOKEN/],
    [
      'two credentials',
      { UPSTREAM_URL: URL_OF, UPSTREAM_TOKEN: SECRET, UPSTREAM_TOKEN_FILE: '/nowhere' },
      /UPSTREAM_TOKEN.*UPSTREAM_TOKEN_FILE/,
    ],
    [
      'books of its own, and too much time',
      {
        UPSTREAM_URL: URL_OF,
        UPSTREAM_TOKEN: SECRET,
        UPSTREAM_TIMEOUT_MS: '15000',
        DATABASE_URL: `postgres://a:${SECRET}@db.example/x`,
        DEMO_DATA: 'on',
        WORKER: 'on',
        RATES_URL: 'https://rates.example',
        QUOTE_VALID_S: '60',
      },
      /UPSTREAM_TIMEOUT_MS [^]*DATABASE_URL [^]*DEMO_DATA [^]*WORKER [^]*RATES_URL [^]*QUOTE_VALID_S /,
    ],
    [
      'itself',
      { UPSTREAM_URL: 'http://localhost:39999', UPSTREAM_TOKEN: SECRET, PORT: '39999' },
      /UPSTREAM_URL .*39999/,
    ],
  ];

/** The first response of the upstream, and a pattern of the message. */
const NOT_OURS: readonly (readonly [what: string, behaviour: Behaviour, sentence: RegExp])[] = [
  ['does not let it list apps', json({ errorCode: 'forbidden', message: 'No.' }, 403), /403/],
  ['has no such path', json({ errorCode: 'invalid_request', message: 'No.' }, 404), /UPSTREAM_URL.*404/],
  ['sends elsewhere', body('', { location: 'https://bank.example/login' }, 302), /UPSTREAM_URL/],
];

describe('gateway start', () => {
  let folder: TestDataDir;
  let upstream: HostileUpstream;
  let token: string;
  beforeAll(async () => {
    folder = await newDataDir();
    upstream = await HostileUpstream.start();
    token = await localToken(folder.path, GATEWAY);
  });
  afterAll(async () => {
    await upstream.stop();
    await folder.remove();
  });
  afterEach(() => {
    upstream.listsBehaviour = undefined;
  });

  const start = (environment: Readonly<Record<string, string>> = {}) =>
    startGateway({ dataDir: folder.path, upstream: upstream.url, environment });

  async function expectRefused(environment: Readonly<Record<string, string>>, sentence: RegExp): Promise<void> {
    const dataDir = join(folder.path, 'of-a-mistake');
    const { code, stdout, stderr } = await refusedStart({ dataDir, environment });

    expect([code, stderr]).toEqual([2, expect.stringMatching(sentence)]);
    expect(stderr).not.toMatch(STACK);
    expect(stdout + stderr).not.toMatch(new RegExp(`${SECRET}|eyJ`));
    expect(stdout).not.toMatch(/Ready/);
    expect(existsSync(join(dataDir, 'database'))).toBe(false);
  }

  it.each(MISTAKES)('refuses to start with %s and says what to change', (_, environment, sentence) =>
    expectRefused(environment, sentence),
  );

  it.each(NOT_OURS)('refuses to start if the upstream %s', async (_, behaviour, sentence) => {
    upstream.listsBehaviour = behaviour;

    await expectRefused({ UPSTREAM_URL: upstream.url, UPSTREAM_TOKEN: token }, sentence);
  });

  it('reports an expired token and a token for another audience', async () => {
    const issuer = await LocalIssuer.open(folder.path);
    const other = await issuer.sign({ email: GATEWAY, audience: 'another-service', lifetimeSeconds: 60 });
    upstream.listsBehaviour = json({ errorCode: 'invalid_request', message: 'No.' }, 401);

    await expectRefused({ UPSTREAM_URL: upstream.url, UPSTREAM_TOKEN: other }, /another-service/);
    expect(other).not.toContain(AUDIENCE);
  });

  it('calls the upstream below the path of its address', async () => {
    const gateway = await start({ UPSTREAM_URL: `${upstream.url}/banking`, UPSTREAM_TOKEN: token });
    await gateway.stop();

    expect(upstream.received.at(-1)).toMatchObject({ method: 'GET', path: '/banking/apps' });
    expect(upstream.received.at(-1)?.headers.authorization).toBe(`Bearer ${token}`);
  });

  it('starts without a database and logs its upstream', async () => {
    const gateway = await start();

    await gateway.logged(new RegExp(`gateway of ${new URL(upstream.url).host}`));
    expect(existsSync(join(folder.path, 'database'))).toBe(false);
    await gateway.stop();
  });

  it('waits for an unreachable upstream and serves once it is reachable', async () => {
    await upstream.stop();
    const gateway = await start();
    const ready = async () => (await fetch(`${gateway.url}/health/ready`)).status;
    const read = async () => {
      const authorization = `Bearer ${await localToken(folder.path, ADA)}`;
      return (await fetch(`${gateway.url}/accounts`, { headers: { authorization, 'workspace-id': '1' } })).status;
    };

    expect([await ready(), (await fetch(`${gateway.url}/health/live`)).status]).toEqual([503, 200]);
    expect([502, 503]).toContain(await read());
    await upstream.restart();
    for (const status of [ready, read]) await until(status, (found) => found === 200);
    await gateway.stop();
  });

  it('refuses to start as a gateway of itself', async () => {
    const probe = createServer();
    await once(probe.listen(0, '127.0.0.1'), 'listening');
    const { port } = probe.address() as AddressInfo;
    await once(probe.close(), 'close');
    const proxy = await BreakingProxy.start(`http://127.0.0.1:${port}`);

    await expectRefused(
      { UPSTREAM_URL: proxy.url, UPSTREAM_TOKEN: token, PORT: String(port) },
      /UPSTREAM_URL leads back/,
    );
    await proxy.stop();
  });

  it('sends the token from its token file', async () => {
    const file = join(folder.path, 'token');
    await writeFile(file, `${token}\n`, { mode: 0o600 });
    await chmod(file, 0o600);
    const environment = { UPSTREAM_URL: upstream.url, UPSTREAM_TOKEN_FILE: file };
    const gateway = await RunningService.start({ dataDir: folder.path, environment });

    expect((await fetch(`${gateway.url}/health/ready`)).status).toBe(200);
    await gateway.stop();
    await expectRefused({ ...environment, UPSTREAM_TOKEN_FILE: '/nowhere/token' }, /token file \/nowhere\/token/);
  });
});

const CLIENTS = 12;
const PATH = '/accounts/1/orders';
const ORDER = { id: 7, amount: '10', status: 'active', type: 'instant', edges: {} };

describe('gateway stop', () => {
  let attacked: AttackedGateway;
  beforeEach(async () => {
    attacked = await AttackedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
  });
  afterEach(async () => {
    await attacked.upstream.stop();
  });

  it('finishes requests under load, including those in progress upstream', async () => {
    const pending: (() => void)[] = [];
    attacked.upstream.behaviour = (response, request) => {
      if (request.method === 'GET') json({ id: 1, amount: '1' })(response, request);
      else pending.push(() => json(ORDER, 200)(response, request));
    };
    const headers = { authorization: `Bearer ${await attacked.service.tokenOf(ADA)}`, 'workspace-id': '1' };
    const clients = Array.from(
      { length: CLIENTS },
      () => new KeepAliveClient(`${attacked.service.url}/transfers/1`, headers),
    );
    const order = attacked.sendRequest(PATH, { body: { amount: '10', recipientID: 3, type: 'instant' } });
    await attacked.upstream.until(() => pending.length > 0 && clients.every(({ statuses }) => statuses.length > 5));

    attacked.gateway.signal('SIGTERM');
    const endings = await Promise.all(clients.map(({ ended }) => ended));
    pending.forEach((respond) => respond());

    expect((await order).status).toBe(200);
    expect(endings).toEqual(clients.map(() => 'told to leave'));
    expect(new Set(clients.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]));
    expect(await attacked.gateway.ended).toEqual({ code: 0, signal: null });
    expect(attacked.wrongLines()).toEqual([]);
  });

  it('stops after a caller disconnected, and has sent the order once', async () => {
    attacked.upstream.behaviour = () => undefined;
    const leaving = new AbortController();
    const headers = {
      authorization: `Bearer ${await attacked.service.tokenOf(ADA)}`,
      'workspace-id': '1',
      'content-type': 'application/json',
    };
    const body = JSON.stringify({ amount: '10', recipientID: 3, type: 'instant' });
    const order = fetch(`${attacked.service.url}${PATH}`, { method: 'POST', headers, body, signal: leaving.signal });
    await attacked.upstream.until(() => attacked.upstream.received.length > 0);
    leaving.abort();
    await expect(order).rejects.toThrow('aborted');

    await attacked.gateway.stop();

    expect(attacked.upstream.received).toHaveLength(1);
    expect(attacked.wrongLines()).toEqual([]);
  });
});
