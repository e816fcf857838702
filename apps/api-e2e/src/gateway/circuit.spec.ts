import { setTimeout as pause } from 'node:timers/promises';
import type { HttpResponse } from '../responses.js';
import { AttackedGateway, json, reset, wire } from './attacked-gateway.js';

/** Without a pause, the polls use all of the processor. */
const POLL_MS = 100;
/** More than the 32 of one caller that are sent to the upstream at a time. */
const REQUESTS = 40;
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

  it(`responds to ${REQUESTS} concurrent requests during an outage and serves all of them afterwards`, async () => {
    const all = () => Promise.all(Array.from({ length: REQUESTS }, read));
    // A request that waits for two seconds gets 503, as on a busy machine.
    const allServed = () => Promise.all(Array.from({ length: REQUESTS }, () => until(read, 200, [502, 503, 504])));
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
