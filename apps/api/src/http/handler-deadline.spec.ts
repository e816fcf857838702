import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { RequestContext } from './request-context.js';
import { boundHandlers } from './handler-deadline.js';

describe('boundHandlers', () => {
  it('responds without a slow handler, and ignores its later result', async () => {
    const server = fastify();
    boundHandlers(server, { withdrawAfterMs: 1, respondAfterMs: 1, checkEveryMs: 1 });
    let finish: (word: string) => void = () => undefined;
    const ended = new Promise<string>((resolve) => (finish = resolve));
    server.get('/', () => ended);

    const answer = await server.inject('/');
    finish('too late');
    await server.close();

    expect(answer.json()).toMatchObject({ message: 'The response took too long.' });
  });

  it('sends no second response if one has begun', async () => {
    const server = fastify();
    const limits = { withdrawAfterMs: Infinity, respondAfterMs: Infinity, checkEveryMs: 1 };
    boundHandlers(server, limits);
    const checked = new Promise<void>((resolve) => {
      server.get('/', (_request, reply) => {
        const body = new Readable({ read: () => undefined });
        body.push('the first part');
        jest.spyOn(reply, 'send');
        void reply.send(body);
        // Read by the check, which is then past the reply that is older.
        Object.defineProperty(reply, 'elapsedTime', { get: () => (queueMicrotask(resolve), Infinity) });
        replies.push(reply);
        return reply;
      });
    });
    const replies: FastifyReply[] = [];
    await server.listen({ port: 0, host: '127.0.0.1' });
    const { port } = server.server.address() as AddressInfo;
    const sent = request({ port, host: '127.0.0.1' });
    sent.end();

    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    await once(response, 'data');
    limits.respondAfterMs = 0;
    await checked;
    sent.on('error', () => undefined).destroy();
    server.server.closeAllConnections();
    await server.close();

    expect(replies[0]!.send).toHaveBeenCalledTimes(1);
  });

  it.each([
    ['has not arrived', '', 408],
    ['has arrived', '{}', 504],
  ])('responds to a change whose body %s (%j) with %i', async (_, body, status) => {
    const server = fastify();
    const limits = { withdrawAfterMs: Infinity, respondAfterMs: Infinity, checkEveryMs: 1 };
    boundHandlers(server, limits);
    server.addHook('onRequest', async (called: FastifyRequest & RequestContext) => {
      called.caller = {} as never;
      if (body === '') limits.respondAfterMs = 0;
    });
    server.post('/', () => {
      limits.respondAfterMs = 0;
      return new Promise(() => undefined);
    });
    await server.listen({ port: 0, host: '127.0.0.1' });
    const { port } = server.server.address() as AddressInfo;
    const headers = { 'content-type': 'application/json', 'content-length': '2' };
    const sent = request({ port, host: '127.0.0.1', method: 'POST', headers });
    sent.write(body);
    sent.flushHeaders();

    const [{ statusCode }] = (await once(sent, 'response')) as [IncomingMessage];
    sent.on('error', () => undefined).destroy();
    await server.close();

    expect(statusCode).toBe(status);
  });
});
