import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { LocalIssuer } from '@banking/process/local-issuer';
import { until } from '@banking/postgres/testing';
import { newDataDir, refusedStart, type TestDataDir } from '../running-service.js';
import { ADA, AUDIENCE, GATEWAY, localToken } from '../service.js';
import { startGateway } from './stacked-services.js';
import { AttackedGateway, HostileUpstream, json } from './attacked-gateway.js';
import { KeepAliveClient } from '../running/keep-alive-client.js';

/** Messages to an operator are sentences, without a stack or the name of a class. */
const STACK = /^\s+at .+:\d+:\d+|node:internal|\bError:/m;

describe('gateway start', () => {
  let folder: TestDataDir;
  let upstream: HostileUpstream;
  beforeAll(async () => {
    folder = await newDataDir();
    upstream = await HostileUpstream.start();
  });
  afterAll(async () => {
    await upstream.stop();
    await folder.remove();
  });
  afterEach(() => {
    upstream.listsBehaviour = undefined;
  });

  // upstream-config.spec.ts has each mistake of the settings.
  it('refuses to start if the upstream does not accept the token, and reports its audience', async () => {
    const issuer = await LocalIssuer.open(folder.path);
    const other = await issuer.sign({ email: GATEWAY, audience: 'another-service', lifetimeSeconds: 60 });
    upstream.listsBehaviour = json({ errorCode: 'invalid_request', message: 'No.' }, 401);
    const dataDir = join(folder.path, 'of-a-mistake');
    const environment = { UPSTREAM_URL: upstream.url, UPSTREAM_TOKEN: other };

    const { code, stdout, stderr } = await refusedStart({ dataDir, environment });

    expect([code, stderr]).toEqual([2, expect.stringMatching(/another-service/)]);
    expect(stderr).not.toMatch(STACK);
    expect(stdout + stderr).not.toMatch(/eyJ/);
    expect(stdout).not.toMatch(/Ready/);
    expect(existsSync(join(dataDir, 'database'))).toBe(false);
    expect(other).not.toContain(AUDIENCE);
  });

  it('starts without a database, waits for an unreachable upstream and serves once it is reachable', async () => {
    await upstream.stop();
    const gateway = await startGateway({ dataDir: folder.path, upstream: upstream.url });
    const ready = async () => (await fetch(`${gateway.url}/health/ready`)).status;
    const read = async () => {
      const authorization = `Bearer ${await localToken(folder.path, ADA)}`;
      return (await fetch(`${gateway.url}/accounts`, { headers: { authorization, 'workspace-id': '1' } })).status;
    };

    await gateway.logged(new RegExp(`gateway of ${new URL(upstream.url).host}`));
    expect([await ready(), (await fetch(`${gateway.url}/health/live`)).status]).toEqual([503, 200]);
    expect([502, 503]).toContain(await read());
    await upstream.restart();
    for (const status of [ready, read]) await until(status, (found) => found === 200);
    expect(existsSync(join(folder.path, 'database'))).toBe(false);
    await gateway.stop();
  });
});

const CLIENTS = 12;
const PATH = '/accounts/1/orders';
const ORDER = { id: 7, amount: '10', status: 'active', type: 'instant', edges: {} };

describe('gateway stop', () => {
  let attacked: AttackedGateway;
  beforeAll(async () => {
    attacked = await AttackedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
  });
  afterAll(async () => {
    await attacked?.upstream.stop();
  });

  it('finishes requests under load, including those in progress upstream and that of a caller who left', async () => {
    const pending: (() => void)[] = [];
    attacked.upstream.behaviour = (response, request) => {
      if (request.method === 'GET') json({ id: 1, amount: '1' })(response, request);
      else pending.push(() => json(ORDER, 200)(response, request));
    };
    const ordersReceived = () => attacked.upstream.received.filter(({ method }) => method === 'POST');
    const headers = { authorization: `Bearer ${await attacked.service.tokenOf(ADA)}`, 'workspace-id': '1' };
    const input = { amount: '10', recipientID: 3, type: 'instant' };
    // The upstream never responds to this order.
    const leaving = new AbortController();
    const abandoned = fetch(`${attacked.service.url}${PATH}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(input),
      signal: leaving.signal,
    });
    await attacked.upstream.until(() => pending.length === 1);
    leaving.abort();
    await expect(abandoned).rejects.toThrow('aborted');
    const clients = Array.from(
      { length: CLIENTS },
      () => new KeepAliveClient(`${attacked.service.url}/transfers/1`, headers),
    );
    const order = attacked.sendRequest(PATH, { body: input });
    await attacked.upstream.until(() => pending.length === 2 && clients.every(({ statuses }) => statuses.length > 5));

    attacked.gateway.signal('SIGTERM');
    const endings = await Promise.all(clients.map(({ ended }) => ended));
    pending[1]?.();

    expect((await order).status).toBe(200);
    expect(endings).toEqual(clients.map(() => 'told to leave'));
    expect(new Set(clients.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]));
    expect(await attacked.gateway.ended).toEqual({ code: 0, signal: null });
    expect(ordersReceived()).toHaveLength(2);
    expect(attacked.wrongLines()).toEqual([]);
  });
});
