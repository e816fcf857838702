import { AsyncLocalStorage } from 'node:async_hooks';
import { once } from 'node:events';
import { connect } from 'node:net';
import fastify, { type FastifyInstance } from 'fastify';
import { until } from '@banking/postgres/testing';
import type { ReceivedRequest, RequestEnd, Tracing } from '@banking/telemetry/tracing';
import { traceRequests } from './trace-requests.js';

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

describe('traced requests', () => {
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
