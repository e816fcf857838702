import { connect, type Socket } from 'node:net';
import fastify from 'fastify';
import { Refusal, type WorkspaceId } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { type PageLimits, PAGES } from './limits.js';
import { pageRows, PagedReads } from './paged-reads.js';
import { replyWithoutServer } from './testing/reply-without-server.js';
import type {} from './request-log.js';

/** More than the buffers of a connection between two processes. */
const UNREAD = 'x'.repeat(32 * 1024 * 1024);

/** A server with one list, whose pages the spec reads by hand. */
async function listening(limits: Partial<PageLimits> = {}) {
  const server = fastify();
  const reads = new PagedReads({ ...PAGES, ...limits });
  const running: { readonly workspaceId: number; respond(body?: string): void }[] = [];
  const statuses: Record<string, number> = {};
  server.addHook('onRequest', async (request) => {
    request.caller = { workspaceId: Number(request.headers['workspace-id']) as WorkspaceId } as never;
  });
  server.addHook('onSend', async (request, reply) => {
    const key = `${String(request.headers['workspace-id'])} ${reply.statusCode}`;
    statuses[key] = (statuses[key] ?? 0) + 1;
  });
  server.setErrorHandler((error, _request, reply) =>
    reply.code(error instanceof Refusal ? error.status : 500).send({ message: String(error) }),
  );
  reads.serve(server);
  server.get(
    '/list',
    { config: { pageRows: 100 } },
    (request) =>
      new Promise((resolve) => {
        const workspaceId = Number(request.headers['workspace-id']);
        const entry = {
          workspaceId,
          respond: (body = 'ok') => {
            running.splice(running.indexOf(entry), 1);
            resolve(body);
          },
        };
        running.push(entry);
      }),
  );
  await server.listen({ port: 0, host: '127.0.0.1' });
  const port = server.addresses()[0]!.port;
  const clients: Socket[] = [];
  return {
    server,
    reads,
    running,
    statuses,
    runningOf: (workspaceId: number) => running.filter((entry) => entry.workspaceId === workspaceId).length,
    /** Sends a request, and reads nothing. */
    send(workspaceId: number, limit: number) {
      const client = connect(port, '127.0.0.1').on('error', () => undefined);
      client.write(`GET /list?limit=${limit} HTTP/1.1\r\nhost: bank.example\r\nworkspace-id: ${workspaceId}\r\n\r\n`);
      clients.push(client);
      return client;
    },
    async close() {
      clients.forEach((client) => client.destroy());
      for (const entry of [...running]) entry.respond();
      await server.close();
    },
  };
}

describe('pages of lists', () => {
  it('are read one large page of a workspace at a time, and delay no other workspace', async () => {
    const { send, runningOf, running, statuses, close } = await listening();
    for (let count = 0; count < 20; count += 1) send(1, 500);
    await until(() => runningOf(1) === 1);
    send(2, 10);
    send(2, 500);

    await until(() => runningOf(2) === 2);
    expect(runningOf(1)).toBe(1);

    running.find(({ workspaceId }) => workspaceId === 1)?.respond();
    await until(() => statuses['1 200'] === 1 && runningOf(1) === 1);
    await close();
  });

  it('take turns when all rows of the process are read', async () => {
    const { server, send, running, runningOf, close } = await listening({ rows: 500 });
    let arrived = 0;
    server.server.on('request', () => (arrived += 1));
    for (const workspaceId of [1, 2, 2, 2, 3]) {
      send(workspaceId, 500);
      const count = arrived + 1;
      await until(() => arrived === count);
    }
    const order: number[] = [];
    while (order.length < 5) {
      await until(() => running.length === 1);
      order.push(running[0]!.workspaceId);
      running[0]!.respond();
    }
    expect(order).toEqual([1, 2, 3, 2, 2]);
    expect(runningOf(1)).toBe(0);
    await close();
  });

  it('count their rows: several small ones are read at once', async () => {
    const { send, runningOf, close } = await listening();
    for (let count = 0; count < 5; count += 1) send(1, 100);

    await until(() => runningOf(1) === 5);
    await close();
  });

  it('count until their query has ended, also if the client disconnects', async () => {
    const { send, running, runningOf, statuses, close } = await listening();
    const first = send(1, 500);
    await until(() => runningOf(1) === 1);
    first.destroy();
    const [abandoned] = running;
    send(1, 500);
    send(2, 500);
    await until(() => runningOf(2) === 1);
    expect(runningOf(1)).toBe(1);

    abandoned!.respond();

    await until(() => running.some((entry) => entry.workspaceId === 1 && entry !== abandoned));
    expect(statuses['1 503']).toBeUndefined();
    await close();
  });

  it('leave the queue when their client disconnects', async () => {
    const { server, send, running, runningOf, statuses, close } = await listening();
    send(1, 500);
    await until(() => runningOf(1) === 1);
    const connections: Socket[] = [];
    server.server.on('request', ({ socket }: { socket: Socket }) => connections.push(socket));
    const waiting = send(1, 500);
    await until(() => connections.length === 1);
    waiting.destroy();
    await until(() => connections[0]!.destroyed);

    running[0]!.respond();

    await until(() => statuses['1 200'] === 1);
    expect(running).toEqual([]);
    await close();
  });

  it('are refused when too many of the workspace wait, and not those of another', async () => {
    const { send, runningOf, statuses, close } = await listening({ waiting: 4 });
    for (let count = 0; count < 5; count += 1) send(1, 500);

    await until(() => statuses['1 429'] === 2);
    send(2, 500);
    await until(() => runningOf(2) === 1);
    await close();
  });

  it('further pages of a table wait for their turn as well', async () => {
    const { send, reads, running, runningOf, close } = await listening();
    send(1, 500);
    await until(() => runningOf(1) === 1);
    let isRead = false;
    const read = reads.readPage(1 as WorkspaceId, replyWithoutServer(), async () => {
      isRead = true;
      return 'page';
    });
    expect(isRead).toBe(false);

    running[0]!.respond();

    await expect(read).resolves.toBe('page');
    await close();
  });
});

describe('responses that no client reads', () => {
  const unsent = { unsentBytes: 48 * 1024 * 1024, unsentBytesPerWorkspace: 16 * 1024 * 1024 };

  it('are bounded for a workspace, and for large pages of all, until they are read or closed', async () => {
    const { send, running, runningOf, statuses, close } = await listening(unsent);
    const unread = async (workspaceId: number) => {
      const client = send(workspaceId, 10);
      await until(() => runningOf(workspaceId) === 1);
      running.find((entry) => entry.workspaceId === workspaceId)!.respond(UNREAD);
      await until(() => statuses[`${workspaceId} 200`] === 1);
      return client;
    };

    const first = await unread(1);
    send(1, 10);
    await until(() => statuses['1 429'] === 1);
    await unread(2);
    send(3, 500);
    await until(() => statuses['3 503'] === 1);
    send(3, 10);
    await until(() => runningOf(3) === 1);

    running[0]!.respond();
    await until(() => statuses['3 200'] === 1);
    first.destroy();
    // The server learns of the close later.
    await until(() => {
      if (runningOf(3) === 0) send(3, 500);
      return runningOf(3) > 0;
    });
    await close();
  });

  it('are bounded also for requests that waited before there were any', async () => {
    const { server, send, running, statuses, close } = await listening(unsent);
    let arrived = 0;
    server.server.on('request', () => (arrived += 1));
    for (let count = 0; count < 4; count += 1) send(1, 500);
    await until(() => running.length === 1 && arrived === 4);

    running[0]!.respond(UNREAD);

    await until(() => statuses['1 429'] === 3);
    expect(running).toEqual([]);
    await close();
  });

  it('end with their connection when the client takes nothing for the time limit', async () => {
    const { server, send, running, runningOf, statuses, close } = await listening(unsent);
    let closed = 0;
    let stalled: Socket | undefined;
    server.server.once('connection', (socket: Socket) => {
      stalled = socket;
      socket.once('close', () => (closed += 1));
    });
    send(1, 10);
    await until(() => runningOf(1) === 1);
    running[0]!.respond(UNREAD);
    await until(() => statuses['1 200'] === 1);

    // As the server sets it for every connection. Earlier, a busy machine could exceed it before the response began.
    stalled!.setTimeout(100);
    await until(() => closed === 1);

    send(1, 10);
    await until(() => runningOf(1) === 1);
    expect(statuses['1 429']).toBeUndefined();
    await close();
  });
});

describe('the rows of a request', () => {
  const LIST = { pageRows: 7, wholeTypes: ['text/csv'], mediaTypes: ['application/json', 'text/csv'] };

  it.each([
    ['the usual number of its operation', LIST, {}, 'application/json', 7],
    ['its limit', LIST, { limit: '500' }, 'application/json', 500],
    ['the usual number, if the limit will be refused', LIST, { limit: '501' }, 'application/json', 7],
    ['the maximum, for the whole list', LIST, {}, 'text/csv', 500],
    ['none without pages, whatever its limit', {}, { limit: '500' }, 'application/json', 0],
  ])('are %s', (_what, config, query, accept, rows) => {
    expect(pageRows({ routeOptions: { config }, query, headers: { accept } } as never)).toBe(rows);
  });
});
