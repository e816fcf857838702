import { setTimeout as pause } from 'node:timers/promises';
import type { HttpResponse } from '../responses.js';
import { BOB } from '../service.js';
import { AttackedGateway, json, reset, wire } from './attacked-gateway.js';

/** Without a pause, the polls use all of the processor. */
const POLL_MS = 100;
const OPENS = /circuit open: the upstream fails[^"]*"\}\n/;
const CLOSES = /circuit closed: the upstream responds again"\}\n/;

describe('gateway with an unstable upstream', () => {
  let attacked: AttackedGateway;
  beforeAll(async () => {
    // The queue timeout must not end a request that this spec keeps waiting.
    attacked = await AttackedGateway.start({ UPSTREAM_TIMEOUT_MS: '10000' });
  });
  afterAll(() => attacked?.stop());
  beforeEach(() => {
    attacked.upstream.received.length = 0;
  });
  afterEach(() => {
    expect(attacked.wrongLines()).toEqual([]);
  });

  const read = () => attacked.sendRequest('/transfers/1');
  const ready = () => attacked.sendRequest('/health/ready');
  const isFailure = (response: HttpResponse, status: number) =>
    expect([response.status, response.headers.get('retry-after')]).toEqual([
      status,
      status === 503 ? expect.stringMatching(/^[1-5]$/) : null,
    ]);

  /** Sends the request until it has this status. Until then, each response has one of the other statuses. */
  async function until(
    send: () => Promise<HttpResponse>,
    status: number,
    others: readonly number[],
  ): Promise<HttpResponse> {
    for (;;) {
      const response = await send();
      if (response.status === status) return response;
      expect(others).toContain(response.status);
      await pause(POLL_MS);
    }
  }

  it('keeps the circuit closed after any number of refusals', async () => {
    attacked.upstream.behaviour = json({ errorCode: 'x', message: 'No.' }, 404);
    for (let refusals = 0; refusals < 12; refusals += 1) expect((await read()).status).toBe(404);
    attacked.upstream.behaviour = json({ id: 1, amount: 1 });
    for (let invalid = 0; invalid < 12; invalid += 1) expect((await read()).status).toBe(502);

    expect(attacked.upstream.received).toHaveLength(24);
    expect(attacked.gateway.log).not.toMatch(OPENS);
  });

  it('queues or refuses the excess requests of one caller and serves the others', async () => {
    const pending: (() => void)[] = [];
    attacked.upstream.behaviour = (response, request) =>
      pending.push(() => json({ id: 1, amount: '1' })(response, request));

    const requests = Array.from({ length: 200 }, read);
    await attacked.upstream.until(() => pending.length >= 32);
    expect(pending).toHaveLength(32);
    const other = attacked.sendRequest('/transfers/1', { as: BOB });
    await attacked.upstream.until(() => pending.length >= 33);
    attacked.upstream.behaviour = json({ id: 1, amount: '1' });
    pending.forEach((respond) => respond());

    expect((await other).status).toBe(200);
    // A busy machine sends so slowly that the first have waited their two seconds before the queue is full.
    const responses = await Promise.all(requests);
    const refused = responses.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    expect(responses.length - refused.length).toBeGreaterThanOrEqual(32);
    for (const { status, body, headers } of refused) {
      expect([429, 503, 504]).toContain(status);
      expect(body).toMatchObject({ errorCode: status === 429 ? 'rate_limited' : 'unavailable' });
      if (status !== 504) expect(headers.get('retry-after')).toMatch(/^[1-5]$/);
    }
    expect((await attacked.sendRequest('/health/live')).status).toBe(200);
  });

  it('opens the circuit after repeated failures, probes with one request and closes it on success', async () => {
    attacked.upstream.behaviour = wire('', reset);
    for (let failures = 0; failures < 5; failures += 1) isFailure(await read(), 502);
    await attacked.gateway.logged(OPENS);
    expect(attacked.upstream.received).toHaveLength(5);

    const [refused, notReady, alive] = [await read(), await ready(), await attacked.sendRequest('/health/live')];
    isFailure(refused, 503);
    isFailure(notReady, 503);
    expect(alive.status).toBe(200);
    expect(attacked.upstream.received).toHaveLength(5);

    // The probe request hangs until the spec has seen that no other request is sent.
    const pending: (() => void)[] = [];
    attacked.upstream.behaviour = (response, request) =>
      pending.push(() => json({ id: 1, amount: '1' })(response, request));
    attacked.upstream.listsBehaviour = attacked.upstream.behaviour;
    const many = Array.from({ length: 8 }, () => until(read, 200, [502, 503, 504]));
    await attacked.upstream.until(() => pending.length > 0);
    isFailure(await until(ready, 503, []), 503);
    expect(pending).toHaveLength(1);
    attacked.upstream.listsBehaviour = undefined;
    attacked.upstream.behaviour = json({ id: 1, amount: '1' });
    pending.forEach((respond) => respond());

    await Promise.all(many);
    await attacked.gateway.logged(CLOSES);
    expect((await until(ready, 200, [503])).body).toEqual({ status: 'ok' });
  });

  it('responds to 150 concurrent requests during an outage and serves all of them afterwards', async () => {
    const all = () => Promise.all(Array.from({ length: 150 }, read));
    // A request that waits for two seconds gets 503, as on a busy machine.
    const allServed = () => Promise.all(Array.from({ length: 150 }, () => until(read, 200, [502, 503, 504])));
    attacked.upstream.behaviour = json({ id: 1, amount: '1' });
    await allServed();
    const served = attacked.upstream.received.length;

    const [responses] = await Promise.all([
      all(),
      attacked.upstream
        .until(() => attacked.upstream.received.length > served + 15)
        .then(() => attacked.upstream.stop()),
    ]);
    const gone = await all();

    const statuses = new Set(responses.map(({ status }) => status));
    statuses.forEach((status) => expect([200, 502, 503, 504]).toContain(status));
    gone.forEach(({ status }) => expect([502, 503]).toContain(status));
    expect((await until(ready, 503, [200])).body).toMatchObject({ errorCode: 'unavailable' });

    await attacked.upstream.restart();
    await until(read, 200, [502, 503]);
    expect((await until(ready, 200, [503])).body).toEqual({ status: 'ok' });
    await allServed();
  });
});
