import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import fastify from 'fastify';
import { boundHandlers } from './handler-deadline.js';
import { keepHeldConnections } from './held-routes.js';
import { LIMITS } from './limits.js';

describe('a route whose requests are held', () => {
  it('has more time than other routes', async () => {
    const server = fastify();
    boundHandlers(server, { withdrawAfterMs: 1, respondAfterMs: 1, checkEveryMs: 1 });
    let finish: (word: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (finish = resolve));
    server.get('/', () => ended);
    server.get('/held', { config: { holdMs: 1_000_000 } }, () => ended);
    server.get('/held-briefly', { config: { holdMs: 1 } }, () => new Promise(() => undefined));

    const held = server.inject('/held');
    for (const path of ['/', '/held-briefly', '/']) {
      expect((await server.inject(path)).json()).toMatchObject({ message: 'The response took too long.' });
    }
    finish('in time');
    expect((await held).body).toBe('in time');
    await server.close();
  });

  it.each([
    ['/held', LIMITS.idleTimeoutMs + 20_000, 'close'],
    ['/', 12_345, 'keep-alive'],
  ])('keeps its connection and closes it in a stop: %s', async (path, timeoutMs, connection) => {
    const server = fastify({ connectionTimeout: 12_345 });
    keepHeldConnections(server, () => true);
    const timeouts: (number | undefined)[] = [];
    const handler = (call: { raw: { socket: Socket } }) => {
      timeouts.push(call.raw.socket.timeout);
      return { done: true };
    };
    server.get('/', handler);
    server.get('/held', { config: { holdMs: 20_000 } }, handler);
    await server.listen({ port: 0, host: '127.0.0.1' });
    const { port } = server.server.address() as AddressInfo;

    const sent = request({ port, host: '127.0.0.1', path, headers: { connection: 'keep-alive' } });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    sent.destroy();
    await server.close();

    expect(timeouts).toEqual([timeoutMs]);
    expect(response.headers.connection).toBe(connection);
  });
});
