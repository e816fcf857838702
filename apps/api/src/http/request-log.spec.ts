import { BlockList, connect } from 'node:net';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { pino } from 'pino';
import type { Scope, UserId, WorkspaceId } from '@banking/domain';
import type { RequestContext } from './request-context.js';
import { createServer, prepareServer } from './server.js';

const CANARY = 'canary-3f9a1c7e';

describe('the log of requests', () => {
  let lines: Record<string, unknown>[];
  let server: FastifyInstance;
  beforeEach(async () => {
    lines = [];
    const log = pino({ level: 'trace' }, { write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>) });
    const proxies = new BlockList();
    proxies.addAddress('127.0.0.1');
    server = createServer(log, proxies).getInstance<FastifyInstance>();
    prepareServer(server, {
      authorize: async (request: FastifyRequest & RequestContext) => {
        if (request.headers.authorization === undefined) return;
        request.userId = 1 as UserId;
        request.caller = { actor: request.userId, workspaceId: 7 as WorkspaceId } as Scope;
      },
      isDraining: () => false,
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
      ...{ userId: 1, workspaceId: 7, resourceIds: { accountId: 3 }, sourceAddress: '198.51.100.1' },
    });
    // The library would log the URL of the second response.
    expect(lines).toContainEqual(expect.objectContaining({ code: 'FST_ERR_REP_ALREADY_SENT' }));
  });

  it('name no id of a caller without access, but the source address', async () => {
    const line = await lineOf('/countries/DE/accounts/4242424242424242');

    expect(line).toMatchObject({ sourceAddress: '127.0.0.1' });
    expect(line).not.toHaveProperty('resourceIds');
  });

  it('name the source address of a path that cannot be read', async () => {
    expect(await lineOf(`/countries/%zz${CANARY}`)).toMatchObject({ route: 'none', sourceAddress: '127.0.0.1' });
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
