import type { Answer } from '../answers.js';
import { BOB } from '../service.js';
import { BesiegedGateway } from './besieged-gateway.js';
import { json, reset, wire } from './hostile-upstream.js';

const OPENS = /the upstream fails[^"]*"\}\n/;
const CLOSES = /the upstream answers again"\}\n/;

describe('Given a gateway whose upstream goes and comes', () => {
  let besieged: BesiegedGateway;
  beforeAll(async () => {
    // Whoever waits here is not to be given up.
    besieged = await BesiegedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
  }, 60_000);
  afterAll(() => besieged?.stop());
  beforeEach(() => {
    besieged.upstream.asked.length = 0;
  });
  afterEach(() => {
    expect(besieged.wrongLines()).toEqual([]);
  });

  const read = () => besieged.ask('/transfers/1');
  const ready = () => besieged.ask('/health/ready');
  const isNo = (answer: Answer, status: number) =>
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([status, status === 503 ? expect.stringMatching(/^[1-5]$/) : null]); // prettier-ignore

  /** Asks again and again until it is so; every answer on the way is one of these. */
  async function until(question: () => Promise<Answer>, status: number, meanwhile: readonly number[]): Promise<Answer> {
    for (;;) {
      const answer = await question();
      if (answer.status === status) return answer;
      expect(meanwhile).toContain(answer.status);
    }
  }

  it('When it refuses its callers however often Then that is no failure', async () => {
    besieged.upstream.trick = json({ errorCode: 'x', message: 'No.' }, 404);
    for (let refusals = 0; refusals < 12; refusals += 1) expect((await read()).status).toBe(404);
    besieged.upstream.trick = json({ id: 1, amount: 1 });
    for (let lies = 0; lies < 12; lies += 1) expect((await read()).status).toBe(502);

    expect(besieged.upstream.asked).toHaveLength(24);
    expect(besieged.gateway.log).not.toMatch(OPENS);
  });

  it('When one caller sends more than their share Then the rest waits or is refused, and the others are served', async () => {
    const held: (() => void)[] = [];
    besieged.upstream.trick = (response, asked) => held.push(() => json({ id: 1, amount: '1' })(response, asked));

    const asking = Array.from({ length: 400 }, read);
    await besieged.upstream.until(() => held.length >= 32);
    const tooMany = await Promise.race(asking);
    expect(held).toHaveLength(32);
    const other = besieged.ask('/transfers/1', { as: BOB });
    await besieged.upstream.until(() => held.length >= 33);
    besieged.upstream.trick = json({ id: 1, amount: '1' });
    held.forEach((answer) => answer());

    expect((await other).status).toBe(200);
    expect(tooMany).toMatchObject({ status: 429, body: { reason: 'rate_limited' } });
    expect(tooMany.headers.get('retry-after')).toBe('1');
    const statuses = (await Promise.all(asking)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(32);
    statuses.forEach((status) => expect([200, 429, 503, 504]).toContain(status));
    expect((await besieged.ask('/health/live')).status).toBe(200);
  });

  it('When it fails again and again Then it is left alone, tried by one request, and served again once that succeeds', async () => {
    besieged.upstream.trick = wire('', reset);
    for (let failures = 0; failures < 5; failures += 1) isNo(await read(), 502);
    await besieged.gateway.said(OPENS);
    expect(besieged.upstream.asked).toHaveLength(5);

    const [refused, notReady, alive] = [await read(), await ready(), await besieged.ask('/health/live')];
    isNo(refused, 503);
    isNo(notReady, 503);
    expect(alive.status).toBe(200);
    expect(besieged.upstream.asked).toHaveLength(5);

    // The one that tries hangs until we have seen that nobody else gets through.
    const held: (() => void)[] = [];
    besieged.upstream.trick = (response, asked) => held.push(() => json({ id: 1, amount: '1' })(response, asked));
    besieged.upstream.listsTrick = besieged.upstream.trick;
    const many = Array.from({ length: 20 }, () => until(read, 200, [502, 503, 504]));
    await besieged.upstream.until(() => held.length > 0);
    isNo(await until(ready, 503, []), 503);
    expect(held).toHaveLength(1);
    besieged.upstream.listsTrick = undefined;
    besieged.upstream.trick = json({ id: 1, amount: '1' });
    held.forEach((answer) => answer());

    await Promise.all(many);
    await besieged.gateway.said(CLOSES);
    expect((await until(ready, 200, [503])).body).toEqual({ status: 'ok' });
  }, 60_000);

  it('When it is away Then 150 at once each get an answer, and when it is back all are served', async () => {
    const all = () => Promise.all(Array.from({ length: 150 }, read));
    besieged.upstream.trick = json({ id: 1, amount: '1' });
    expect(new Set((await all()).map(({ status }) => status))).toEqual(new Set([200]));

    const [answers] = await Promise.all([all(), besieged.upstream.until(() => besieged.upstream.asked.length > 165).then(() => besieged.upstream.goAway())]); // prettier-ignore
    const gone = await all();

    const statuses = new Set(answers.map(({ status }) => status));
    statuses.forEach((status) => expect([200, 502, 503, 504]).toContain(status));
    gone.forEach(({ status }) => expect([502, 503]).toContain(status));
    expect((await until(ready, 503, [200])).body).toMatchObject({ errorCode: 'unavailable' });

    await besieged.upstream.comeBack();
    await until(read, 200, [502, 503]);
    expect((await until(ready, 200, [503])).body).toEqual({ status: 'ok' });
    expect(new Set((await all()).map(({ status }) => status))).toEqual(new Set([200]));
  }, 60_000);
});
