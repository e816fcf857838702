import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { type AddressInfo, BlockList, connect } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { pino } from 'pino';
import { isRefusalReason, REFUSALS, type Scope, type UserId, type WorkspaceId } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import type { ReceivedRequest, RequestEnd, Tracing } from '@banking/telemetry/tracing';
import { traceRequests } from './request-log.js';
import { createServer, prepareServer } from './server.js';

describe('the log of requests', () => {
  const CANARY = 'canary-3f9a1c7e';

  let lines: Record<string, unknown>[];
  let server: FastifyInstance;
  beforeEach(async () => {
    lines = [];
    const log = pino({ level: 'trace' }, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
    const proxies = new BlockList();
    proxies.addAddress('127.0.0.1');
    server = createServer(log, proxies).getInstance<FastifyInstance>();
    prepareServer(server, {
      access: {
        async admit(request) {
          if (request.headers.authorization === undefined) return;
          request.userId = 1 as UserId;
          request.origin = { clientId: 'treasury-app' };
          request.operation = request.url.startsWith('/recipients') ? 'listRecipients' : 'getAccount';
          request.caller = { actor: request.userId, workspaceId: 7 as WorkspaceId } as Scope;
        },
      },
      draining: { begun: false },
    });
    server.get('/recipients', { config: { operation: 'listRecipients' } }, async () =>
      Array.from({ length: 120 }, (_, n) => ({ id: n + 1, name: CANARY })),
    );
    server.get('/refused/:reason', (request, reply) => {
      const { reason } = request.params as { readonly reason: string };
      request.reason = reason;
      return reply.code(isRefusalReason(reason) ? REFUSALS[reason].status : 404).send();
    });
    server.get('/countries/:country/accounts/:accountId', (_request, reply) => {
      // As if a response without the handler had come first.
      reply.send('ok');
      reply.send('late');
    });
  });
  afterEach(() => server.close());

  const lineOf = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    await server.inject({ url: path, headers, query: { q: CANARY } });
    expect(JSON.stringify(lines)).not.toContain(CANARY);
    return lines.find(({ msg }) => msg === 'request');
  };

  it('name the caller, the workspace, the ids of the path and the source address', async () => {
    const headers = { authorization: 'Bearer a', 'x-forwarded-for': `${CANARY}, 198.51.100.1` };

    expect(await lineOf(`/countries/${CANARY}/accounts/3`, headers)).toMatchObject({
      route: '/countries/:country/accounts/:accountId',
      ...{ operation: 'getAccount', clientId: 'treasury-app' },
      ...{ userId: 1, workspaceId: 7, resourceIds: { accountId: 3 }, sourceAddress: '198.51.100.1' },
    });
    // The library would log the URL of the second response.
    expect(lines).toContainEqual(expect.objectContaining({ code: 'FST_ERR_REP_ALREADY_SENT' }));
  });

  it('name how many recipients of a list were read, and the ids of the first 100', async () => {
    const line = await lineOf('/recipients', { authorization: 'Bearer a' });

    expect(line).toMatchObject({ operation: 'listRecipients', userId: 1, clientId: 'treasury-app', workspaceId: 7 });
    expect(line?.['read']).toEqual({ count: 120, ids: Array.from({ length: 100 }, (_, n) => n + 1) });
  });

  it('name no id of a caller without access, but the source address', async () => {
    const line = await lineOf('/countries/DE/accounts/4242424242424242');

    expect(line).toMatchObject({ sourceAddress: '127.0.0.1' });
    expect(line).not.toHaveProperty('resourceIds');
  });

  it('name the source address of a path that cannot be read', async () => {
    expect(await lineOf(`/countries/%zz${CANARY}`)).toMatchObject({ route: 'none', sourceAddress: '127.0.0.1' });
  });

  it('name the reason of a refusal, and warn of a fault of the service', async () => {
    const refused = { level: 30, status: 422, reason: 'insufficient_funds' };
    expect(await lineOf('/refused/insufficient_funds')).toMatchObject(refused);
    lines = [];
    expect(await lineOf('/refused/unavailable')).toMatchObject({ level: 40, status: 503, reason: 'unavailable' });
    lines = [];
    // The reason of an upstream is a text that it chooses.
    expect(await lineOf(`/refused/${CANARY}`)).toMatchObject({ level: 30, status: 404, reason: 'other' });
    lines = [];
    expect(await lineOf('/recipients')).not.toHaveProperty('reason');
    lines = [];
    expect(await lineOf('/countries/%zz')).toMatchObject({ level: 30, status: 400, reason: 'request_malformed' });
  });

  it('name the peer of a request that cannot be parsed', async () => {
    await server.listen({ port: 0, host: '127.0.0.1' });
    const socket = connect((server.server.address() as AddressInfo).port, '127.0.0.1');
    socket.end(`${CANARY} nonsense\r\n\r\n`).resume();
    await once(socket, 'close');

    expect(lines.find(({ msg }) => msg === 'request')).toMatchObject({ method: 'none', sourceAddress: '127.0.0.1' });
    expect(JSON.stringify(lines)).not.toContain(CANARY);
  });
});

describe('traced requests', () => {
  /** Traces that note what they are told. */
  function notedTracing() {
    const active = new AsyncLocalStorage<string | undefined>();
    const started: ReceivedRequest[] = [];
    const ended: RequestEnd[] = [];
    let onEnd: () => void = () => undefined;
    const tracing: Tracing = {
      startRequest(request) {
        started.push(request);
        const spanId = String(started.length);
        const end = (how: RequestEnd) => {
          ended.push(how);
          onEnd();
        };
        return { traceId: 'trace', spanId, run: (work) => active.run(spanId, work), end };
      },
      activeIds: () => undefined,
      headersFor: () => undefined,
      close: () => Promise.resolve(),
    };
    const endOf = (count: number) =>
      new Promise<void>((resolve) => {
        onEnd = () => {
          if (ended.length >= count) resolve();
        };
        onEnd();
      });
    return { tracing, active, started, ended, endOf };
  }

  const { tracing, active, started, ended, endOf } = notedTracing();
  let server: FastifyInstance;
  let url: string;
  beforeAll(async () => {
    server = fastify();
    traceRequests(server, tracing);
    server.get('/transfers/:transferId', async () => ({ span: active.getStore() ?? 'none' }));
    server.post('/orders', async () => ({ span: active.getStore() ?? 'none' }));
    server.get('/health/live', async () => ({ span: active.getStore() ?? 'none' }));
    server.get('/slow', () => new Promise(() => undefined));
    url = await server.listen({ host: '127.0.0.1', port: 0 });
  });
  afterAll(() => server.close());
  beforeEach(() => {
    started.length = 0;
    ended.length = 0;
  });

  const spanOf = async (path: string, init?: RequestInit) => {
    const response = await fetch(`${url}${path}`, init);
    return ((await response.json()) as { span: string }).span;
  };

  it('run with the span of the request, also after a body', async () => {
    const body = JSON.stringify({ text: 'x'.repeat(100_000) });

    const spans = [
      await spanOf('/transfers/42?secret=1'),
      await spanOf('/orders', { method: 'POST', body, headers: { 'content-type': 'application/json' } }),
    ];
    await endOf(2);

    expect(spans).toEqual(['1', '2']);
    expect(started.map(({ method, route }) => [method, route])).toEqual([
      ['GET', '/transfers/:transferId'],
      ['POST', '/orders'],
    ]);
    expect(ended.map(({ status }) => status)).toEqual([200, 200]);
  });

  it('leave out health checks', async () => {
    const spans = [await spanOf('/transfers/42'), await spanOf('/health/live')];

    expect(spans).toEqual(['1', 'none']);
    expect(started).toHaveLength(1);
  });

  it('have no route if none matches', async () => {
    await fetch(`${url}/secret`);
    await endOf(1);

    expect(started.map(({ route }) => route)).toEqual([undefined]);
    expect(ended).toMatchObject([{ status: 404 }]);
  });

  it('end without a status when the caller disconnects', async () => {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, 'connect');
    socket.write('GET /slow HTTP/1.1\r\nHost: x\r\n\r\n');
    await until(() => started.length > 0);

    socket.destroy();
    await endOf(1);

    expect(ended).toMatchObject([{ status: undefined }]);
  });
});
