import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { UserId } from '@banking/domain';
import { CachedResponses } from './cached-responses.js';
import type {} from './request-log.js';

/** The calls of a controller, by URL. */
let called: string[];
let server: FastifyInstance;

beforeEach(async () => {
  called = [];
  server = fastify();
  const responses = new CachedResponses();
  // In the place of the access check.
  server.addHook('onRequest', (request, reply, done) => {
    const { authorization } = request.headers;
    if (authorization === 'refused') return void reply.code(401).send('refused');
    if (authorization === 'ada') request.caller = { actor: 1 as UserId };
    done();
  });
  responses.serve(server);
  const controller = async (request: FastifyRequest, reply: FastifyReply) => {
    called.push(request.url);
    return reply
      .header('controller', 'called')
      .send(await responses.send(reply, request.url, async () => [request.url]));
  };
  server.get('/cached', { config: { isCached: true } }, controller);
  server.get('/other', controller);
  await server.ready();
});
afterEach(async () => {
  jest.useRealTimers();
  await server.close();
});

const get = (url: string, headers: Record<string, string> = { authorization: 'ada' }) =>
  server.inject({ url, headers });

describe('a stored response', () => {
  it('is sent without the controller, with the same headers and bytes', async () => {
    const first = await get('/cached');
    const second = await get('/cached');

    expect(called).toEqual(['/cached']);
    expect(second.rawPayload).toEqual(first.rawPayload);
    const { date: _, controller: __, ...headers } = first.headers;
    expect(second.headers).toEqual({ ...headers, date: expect.any(String) as string });
  });

  it('is 304 for its tag', async () => {
    const { headers } = await get('/cached');
    const { statusCode, body } = await get('/cached', {
      authorization: 'ada',
      'if-none-match': String(headers['etag']),
    });

    expect([statusCode, body, called.length]).toEqual([304, '', 1]);
  });

  it('is not sent to a request that the access check refused', async () => {
    await get('/cached');

    expect(await get('/cached', { authorization: 'refused' })).toMatchObject({ statusCode: 401, body: 'refused' });
  });

  it('is not sent to a request without a caller', async () => {
    await get('/cached');
    await get('/cached', {});

    expect(called).toEqual(['/cached', '/cached']);
  });

  it.each(['/other', `/cached?${'a'.repeat(300)}`])('is sent by the controller for %.20s', async (url) => {
    await get(url);
    await get(url);

    expect(called).toEqual([url, url]);
  });

  it('belongs to one URL and method', async () => {
    await get('/cached');
    const { headers } = await server.inject({ method: 'HEAD', url: '/cached', headers: { authorization: 'ada' } });
    expect(headers).toMatchObject({ controller: 'called' });

    expect((await get('/cached?a=b')).json()).toEqual(['/cached?a=b']);
    expect(called).toEqual(['/cached', '/cached', '/cached?a=b']);
  });

  it('is sent for a second only', async () => {
    const now = jest.spyOn(performance, 'now').mockReturnValue(0);
    await get('/cached');
    now.mockReturnValue(999);
    await get('/cached');
    expect(called).toHaveLength(1);
    now.mockReturnValue(1_000);
    await get('/cached');
    now.mockRestore();

    expect(called).toHaveLength(2);
  });
});
