import fc from 'fast-check';
import { verifyWebhook } from '@banking/client/webhooks';
import { HttpDecisionHook } from './decision-hook.js';
import { type Respond, startReceiver, status } from './testing/receiver.js';

const SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const OLD = `whsec_${Buffer.alloc(32, 9).toString('base64')}`;
const QUESTION = { id: 'decision-1', timestamp: '2026-11-28T08:00:00.000000Z', data: { transactionID: 26 } };

let receiver: Awaited<ReturnType<typeof startReceiver>>;

beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const hookWith = (options: { readonly timeoutMs?: number } = {}) =>
  new HttpDecisionHook({ url: receiver.url, secrets: [SECRET, OLD], ...options });
const answer = (text: string, code = 200) => receiver.respondWith(status(code, text));

describe('the decision hook', () => {
  it('is sent a signed question, by each secret', async () => {
    answer('{"decision":"approve"}');

    expect(await hookWith().ask(QUESTION)).toEqual({ decision: 'approve' });

    const [{ headers, body }] = receiver.received as [(typeof receiver.received)[number]];
    expect(headers['webhook-id']).toBe(QUESTION.id);
    expect(headers['content-type']).toBe('application/json');
    expect(JSON.parse(body)).toEqual({
      type: 'payout.decision',
      timestamp: QUESTION.timestamp,
      data: QUESTION.data,
    });
    for (const secret of [SECRET, OLD]) {
      await expect(verifyWebhook(headers as Record<string, string>, body, secret)).resolves.toMatchObject({
        type: 'payout.decision',
      });
    }
  });

  it.each([
    ['{"decision":"hold","reason":"a new payee"}', { decision: 'hold', reason: 'a new payee' }],
    ['{"decision":"reject","reason":"two\\nlines\\u0000"}', { decision: 'reject', reason: 'two lines' }],
    ['{"decision":"approve","reason":"  "}', { decision: 'approve' }],
    ['{"decision":"approve","reason":null,"score":7}', { decision: 'approve' }],
    [`{"decision":"hold","reason":"${'x'.repeat(600)}"}`, { decision: 'hold', reason: 'x'.repeat(500) }],
  ])('answers %s', async (text, expected) => {
    answer(text);

    expect(await hookWith().ask(QUESTION)).toEqual(expected);
  });

  const NO_DECISION = 'its answer has no decision approve, hold or reject';
  const TWICE = 'its answer gives a member twice';

  it.each([
    ['', 'its answer is not JSON'],
    ['approve', 'its answer is not JSON'],
    ['"approve"', NO_DECISION],
    ['null', NO_DECISION],
    ['[]', NO_DECISION],
    ['{}', NO_DECISION],
    ['{"decision":"Approve"}', NO_DECISION],
    ['{"decision":"approve","reason":7}', 'the reason in its answer is not a text'],
    ['{"decision":"reject","decision":"approve"}', TWICE],
    [String.raw`{"decision":"reject","\u0064ecision":"approve"}`, TWICE],
    ['{"decision":"approve","more":{"a":1,"a":2}}', TWICE],
  ])('has not decided with %j', async (text, failure) => {
    answer(text);

    expect(await hookWith().ask(QUESTION)).toEqual({ failure });
  });

  it.each([201, 204, 400, 401, 404, 409, 429, 500, 503])('has not decided with the status %d', async (code) => {
    answer(code === 204 ? '' : '{"decision":"approve"}', code);

    expect(await hookWith().ask(QUESTION)).toEqual({ failure: `it answered ${code}` });
  });

  it.each([301, 307])('is not asked elsewhere after a redirect: %d', async (code) => {
    receiver.respondWith((response) => response.writeHead(code, { location: `${receiver.url}/other` }).end());

    expect(await hookWith().ask(QUESTION)).toEqual({
      failure: 'it redirects, which is refused: correct DECISION_URL',
    });
    expect(receiver.received).toHaveLength(1);
  });

  it('has not decided with a response that is larger than 16 KiB, or that has no end in time', async () => {
    answer(`{"decision":"approve","more":"${'x'.repeat(17_000)}"}`);
    expect(await hookWith().ask(QUESTION)).toEqual({ failure: 'it answered more than 16384 bytes' });

    receiver.respondWith((response) => void response.writeHead(200).write('{"decision":"approve"'));
    expect(await hookWith({ timeoutMs: 50 }).ask(QUESTION)).toEqual({ failure: 'it did not answer in time' });
  });

  it('is asked one question at a time while it does not answer, and all again after an answer', async () => {
    const held: (() => void)[] = [];
    const holds: Respond = (response) => void held.push(() => response.writeHead(200).end('{"decision":"approve"}'));
    const hook = hookWith();
    await receiver.close();
    expect(await hook.ask(QUESTION)).toEqual({ failure: 'ECONNREFUSED' });

    receiver = await startReceiver();
    const again = new HttpDecisionHook({ url: receiver.url, secrets: [SECRET] });
    receiver.respondWith(status(503));
    const away = { failure: 'it answered 503' };
    expect(await again.ask(QUESTION)).toEqual(away);
    receiver.respondWith(holds);
    const probe = again.ask(QUESTION);
    await receiver.until(2);
    expect(await Promise.all([again.ask(QUESTION), again.ask(QUESTION)])).toEqual([away, away]);
    expect(receiver.received).toHaveLength(2);
    held[0]!();
    expect(await probe).toEqual({ decision: 'approve' });

    const all = [again.ask(QUESTION), again.ask(QUESTION)];
    await receiver.until(4);
    for (const end of held.slice(1)) end();
    expect(await Promise.all(all)).toHaveLength(2);
  });

  it('stops with its signal, which says nothing of the hook', async () => {
    const hook = hookWith();
    const control = new AbortController();
    receiver.respondWith(() => control.abort());
    expect(await hook.ask(QUESTION, control.signal)).toEqual({ failure: 'AbortError' });

    answer('{"decision":"approve"}');
    expect(await Promise.all([hook.ask(QUESTION), hook.ask(QUESTION)])).toEqual([
      { decision: 'approve' },
      { decision: 'approve' },
    ]);
  });

  it('approves nothing unless the response says so: a law over random responses', async () => {
    await fc.assert(
      fc.asyncProperty(fc.json(), fc.constantFrom(200, 200, 202, 400, 500), async (text, code) => {
        answer(text, code);
        const result = await new HttpDecisionHook({ url: receiver.url, secrets: [SECRET] }).ask(QUESTION);
        expect(result).toEqual({ failure: expect.any(String) as string });
      }),
      { numRuns: 100 },
    );
  });
});
