import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { until } from '@banking/postgres/testing';
import { demoDataDir, type Ending, RunningService, type TestDataDir, demoIds } from '../running-service.js';
import { ADA, type DemoIds, idOf, localToken } from '../service.js';
import { KeepAliveClient } from './keep-alive-client.js';

const CLIENTS = 24;

describe('two services on one DATA_DIR', () => {
  let folder: TestDataDir;
  let first: RunningService;
  let second: RunningService;
  let world: DemoIds;
  let headers: Record<string, string>;

  beforeAll(async () => {
    folder = await demoDataDir();
    [first, second] = await Promise.all([
      RunningService.start({ dataDir: folder.path }),
      RunningService.start({ dataDir: folder.path }),
    ]);
    world = demoIds();
    headers = {
      authorization: `Bearer ${await localToken(folder.path, ADA)}`,
      'workspace-id': String(idOf(world, 'workspaces', 'Northwind Trading')),
    };
  });

  afterAll(async () => {
    await second?.stop().finally(folder.remove);
  });

  const transferAt = (service: RunningService) =>
    `${service.url}/transfers/${idOf(world, 'transfers', 'international')}`;

  it('return the same transfer', async () => {
    const texts = await Promise.all(
      [first, second].map(async (service) => (await fetch(transferAt(service), { headers })).text()),
    );

    expect(texts[1]).toBe(texts[0]);
    expect(texts[0]).toContain('"status":"completed"');
  });

  it('report the first not ready before it stops, and lose no request of a keep-alive connection', async () => {
    const clients = Array.from({ length: CLIENTS }, () => new KeepAliveClient(transferAt(first), headers));
    await until(() => clients.every(({ statuses }) => statuses.length > 5));

    first.signal('SIGTERM');
    const ready = await firstNotReady(first.url);
    const meanwhile = await fetch(transferAt(first), { headers });
    const endings = await Promise.all(clients.map(({ ended }) => ended));
    const ending = await first.ended;

    expect(ready.status).toBe(503);
    expect(ready.headers.get('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(ready.body).toMatchObject({ errorCode: 'unavailable', message: expect.any(String) });
    expect(meanwhile.status).toBe(200);
    expect(endings).toEqual(clients.map(() => 'told to leave'));
    expect(new Set(clients.flatMap(({ statuses }) => statuses))).toEqual(new Set([200]));
    expect(ending).toEqual({ code: 0, signal: null });
    expect(first.log).toMatch(/"msg":"stopped"/);
  });

  it('keep the database of the second after the first has stopped', async () => {
    const [ready, transfer] = [await fetch(`${second.url}/health/ready`), await fetch(transferAt(second), { headers })];

    expect([ready.status, transfer.status]).toEqual([200, 200]);
  });

  it('stop without waiting for an idle connection, and return the same books after a restart', async () => {
    const before = await (await fetch(transferAt(second), { headers })).text();
    const silent = connect(Number(new URL(second.url).port), '127.0.0.1');
    await once(silent, 'connect');
    const closed = once(silent, 'close');
    // A later request has a response, so the service has accepted the other connection too.
    await (await fetch(`${second.url}/health/live`)).text();

    second.signal('SIGINT');

    expect(await second.ended).toEqual({ code: 0, signal: null });
    await closed;
    const third = await RunningService.start({ dataDir: folder.path });
    expect(await (await fetch(transferAt(third), { headers })).text()).toBe(before);
    await third.stop();
  });

  it('name the database that a second signal leaves running, and how to end it', async () => {
    const fourth = await RunningService.start({ dataDir: folder.path });
    const unfinished = connect(Number(new URL(fourth.url).port), '127.0.0.1').on('error', () => undefined);
    // The handler of this request has begun, and waits for the rest of the body. A stop waits for it.
    const { authorization, 'workspace-id': workspace } = headers;
    unfinished.write(
      `POST /quotes HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nWorkspace-ID: ${workspace}\r\n` +
        'Content-Type: application/json\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n',
    );
    await once(unfinished, 'data');

    let ending: Ending | undefined;
    void fourth.ended.then((ended) => (ending = ended));
    await until(() => {
      fourth.signal('SIGINT');
      return ending !== undefined;
    });

    expect(ending).toEqual({ code: 1, signal: null });
    const [, pid] = /server of \S+ still runs \(process (\d+)\)\..* with kill -INT \1\.\n$/.exec(fourth.log) ?? [];
    process.kill(Number(pid), 'SIGINT');
    await until(() => !existsSync(join(folder.path, 'database', 'postmaster.pid')));
  });
});

/** Repeats requests until the service reports that it is not ready, which it must do before it stops. */
const firstNotReady = (url: string) =>
  until(
    async () => {
      const response = await fetch(`${url}/health/ready`);
      return { status: response.status, headers: response.headers, body: (await response.json()) as unknown };
    },
    ({ status }) => status !== 200,
  );
