import type { FastifyReply } from 'fastify';
import { Refusal } from '@banking/domain';
import { CachedResponses } from './cached-responses.js';

/** A reply that records what was set on it. */
function replyTo(ifNoneMatch?: string, actor = 1) {
  const headers: Record<string, string> = {};
  const reply = {
    request: {
      method: 'GET',
      url: '/one',
      routeOptions: { config: {} },
      headers: { 'if-none-match': ifNoneMatch },
      caller: { actor },
    },
    status: 200,
    headers,
    header(name: string, value: string) {
      headers[name] = value;
      return reply;
    },
    code(status: number) {
      reply.status = status;
      return reply;
    },
  };
  return reply as unknown as FastifyReply & { readonly status: number; readonly headers: Record<string, string> };
}

async function etagOf(value: unknown): Promise<string> {
  const reply = replyTo();
  await new CachedResponses().send(reply, 'one', async () => value);
  return reply.headers['etag'] ?? '';
}

describe('CachedResponses', () => {
  it('sends JSON with a validator for private caches', async () => {
    const reply = replyTo();

    const bytes = await new CachedResponses().send(reply, 'one', async () => [{ symbol: '€' }]);

    expect(bytes?.toString()).toBe('[{"symbol":"€"}]');
    expect(reply.headers).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, no-cache',
      etag: expect.stringMatching(/^"[A-Za-z0-9_-]{22}"$/),
    });
  });

  it('loads once for concurrent requests of one caller', async () => {
    const responses = new CachedResponses();
    const ask = jest.fn(async () => [1]);

    await Promise.all([1, 2, 3].map(() => responses.send(replyTo(), 'one', ask)));
    await responses.send(replyTo(), 'another', ask);

    expect(ask).toHaveBeenCalledTimes(2);
  });

  it('does not let a caller wait for the load of another, and shares the first response', async () => {
    const responses = new CachedResponses();
    const never = () => new Promise<unknown>(() => undefined);
    void responses.send(replyTo(undefined, 1), 'one', never);

    expect((await responses.send(replyTo(undefined, 2), 'one', async () => [2]))?.toString()).toBe('[2]');
    expect((await responses.send(replyTo(undefined, 3), 'one', never))?.toString()).toBe('[2]');
    expect((await responses.send(replyTo(undefined, 1), 'one', never))?.toString()).toBe('[2]');
  });

  it('does not cache a refusal', async () => {
    const responses = new CachedResponses();
    const refused = responses.send(replyTo(), 'one', () => Promise.reject(new Refusal('country_unknown')));
    await expect(refused).rejects.toMatchObject({ reason: 'country_unknown' });

    await expect(responses.send(replyTo(), 'one', async () => [])).resolves.toBeDefined();
  });

  it('changes the validator with the response', async () => {
    expect(await etagOf([1])).toBe(await etagOf([1]));
    expect(await etagOf([1])).not.toBe(await etagOf([2]));
  });

  it.each([
    ['its own', (etag: string) => etag, 304],
    ['its own, made weak on the way', (etag: string) => `W/${etag}`, 304],
    ['its own among others', (etag: string) => `"other", ${etag}`, 304],
    ['any', () => '*', 304],
    ['another', () => '"other"', 200],
    ['its own without quotes', (etag: string) => etag.slice(1, -1), 200],
    ['nothing', () => '', 200],
  ])('sends a body or 304 for %s in If-None-Match', async (_, known, status) => {
    const etag = await etagOf([1]);
    const reply = replyTo(known(etag));

    const bytes = await new CachedResponses().send(reply, 'one', async () => [1]);

    expect([reply.status, bytes?.toString()]).toEqual([status, status === 304 ? undefined : '[1]']);
    expect(reply.headers['etag']).toBe(etag);
  });
});
