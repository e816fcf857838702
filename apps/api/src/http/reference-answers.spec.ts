import type { FastifyReply } from 'fastify';
import { Refusal } from '@banking/domain';
import { ReferenceAnswers } from './reference-answers.js';

/** What the answerer sees of a reply, with what it did to it. */
function replyTo(ifNoneMatch?: string, actor = 1) {
  const headers: Record<string, string> = {};
  const reply = {
    request: { headers: { 'if-none-match': ifNoneMatch }, caller: { actor } },
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

async function etagOf(answer: unknown): Promise<string> {
  const reply = replyTo();
  await new ReferenceAnswers().send(reply, 'one', async () => answer);
  return reply.headers['etag'] ?? '';
}

describe('Given answers that are the same for everybody', () => {
  it('When one is sent, Then it is JSON with a validator, for the caller alone to keep', async () => {
    const reply = replyTo();

    const bytes = await new ReferenceAnswers().send(reply, 'one', async () => [{ symbol: '€' }]);

    expect(bytes?.toString()).toBe('[{"symbol":"€"}]');
    expect(reply.headers).toEqual({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'private, no-cache',
      etag: expect.stringMatching(/^"[A-Za-z0-9_-]{22}"$/),
    });
  });

  it('When several want one at once, Then it is asked for once', async () => {
    const answers = new ReferenceAnswers();
    const ask = jest.fn(async () => [1]);

    await Promise.all([1, 2, 3].map(() => answers.send(replyTo(), 'one', ask)));
    await answers.send(replyTo(), 'another', ask);

    expect(ask).toHaveBeenCalledTimes(2);
  });

  it('When several callers want one at once, Then none waits for the question of another, and what is answered first is for all', async () => {
    const answers = new ReferenceAnswers();
    const never = () => new Promise<unknown>(() => undefined);
    void answers.send(replyTo(undefined, 1), 'one', never);

    expect((await answers.send(replyTo(undefined, 2), 'one', async () => [2]))?.toString()).toBe('[2]');
    expect((await answers.send(replyTo(undefined, 3), 'one', never))?.toString()).toBe('[2]');
    expect((await answers.send(replyTo(undefined, 1), 'one', never))?.toString()).toBe('[2]');
  });

  it('When asking is refused, Then the refusal is not kept', async () => {
    const answers = new ReferenceAnswers();
    const refused = answers.send(replyTo(), 'one', () => Promise.reject(new Refusal('country_unknown')));
    await expect(refused).rejects.toMatchObject({ reason: 'country_unknown' });

    await expect(answers.send(replyTo(), 'one', async () => [])).resolves.toBeDefined();
  });

  it('When the answer changes, Then its validator does', async () => {
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
  ])('When a caller knows %s validator, Then the body comes or stays', async (_, known, status) => {
    const etag = await etagOf([1]);
    const reply = replyTo(known(etag));

    const bytes = await new ReferenceAnswers().send(reply, 'one', async () => [1]);

    expect([reply.status, bytes?.toString()]).toEqual([status, status === 304 ? undefined : '[1]']);
    expect(reply.headers['etag']).toBe(etag);
  });
});
