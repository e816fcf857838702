import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyInstance } from 'fastify';
import { Refusal } from '@banking/domain';
import { RateLimit } from './rate-limit.js';

describe('Given a limit of two requests a second', () => {
  let server: FastifyInstance;
  beforeAll(async () => {
    server = fastify();
    await server.register(rateLimit, { global: false });
    const limit = new RateLimit(2);
    limit.attach((options) => server.createRateLimit(options));
    server.get<{ Querystring: { key: string } }>('/', async (request, reply) => {
      try {
        await limit.take(request, reply, request.query.key);
        return { taken: true };
      } catch (error) {
        if (!(error instanceof Refusal)) throw error;
        return { reason: error.reason, retryAfterSeconds: error.retryAfterSeconds };
      }
    });
    await server.ready();
  });
  afterAll(() => server.close());

  const take = async (key: string) => {
    const { headers, json } = await server.inject(`/?key=${key}`);
    return { body: json<unknown>(), policy: headers['ratelimit-policy'], left: headers['ratelimit'] };
  };

  it('When one key asks three times at once, Then two are let through and the third is told when, and another key is not held up', async () => {
    const [other, ...same] = await Promise.all([take('bob'), take('ada'), take('ada'), take('ada')]);

    expect(other).toEqual({ body: { taken: true }, policy: '"user";q=2;w=1', left: '"user";r=1;t=1' });
    expect(same.map(({ left }) => left).sort()).toEqual(['"user";r=0;t=1', '"user";r=0;t=1', '"user";r=1;t=1']);
    const refused = same.filter(({ body }) => !('taken' in (body as object)));
    expect(refused.map(({ body }) => body)).toEqual([{ reason: 'rate_limited', retryAfterSeconds: 1 }]);
  });
});
