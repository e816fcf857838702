import { Refusal } from '@banking/domain';
import { openTestApp, type TestApp } from '../testing/test-app.js';
import { HealthModule } from './health.controller.js';
import { Draining, SharedReadiness } from './readiness.js';

describe('HealthController', () => {
  const readiness = { check: jest.fn(async () => undefined), work: jest.fn() };
  const draining = new Draining();
  let app: TestApp;
  beforeEach(async () => {
    app = await openTestApp(HealthModule.of(readiness, draining), {});
  });
  afterEach(async () => {
    draining.begun = false;
    await app.close();
  });

  it('reports that the process is alive', async () => {
    const response = await app.send('GET /health/live');

    expect(response).toMatchObject({ status: 200, body: { status: 'ok' }, headers: { 'cache-control': 'no-store' } });
    expect(readiness.check).not.toHaveBeenCalled();
  });

  it('reports that the service is ready, and no more', async () => {
    readiness.work.mockResolvedValueOnce({ parked: { payout: 2 }, unserved: {}, oldestDueSeconds: 0 });

    const { status, body } = await app.send('GET /health/ready');

    expect([status, body]).toEqual([200, { status: 'ok' }]);
  });

  it('is not ready while the database is unreachable and once the service is stopping, and does not say why', async () => {
    readiness.check.mockRejectedValueOnce(new Refusal('unavailable', 'The database db-1 is away.'));
    const away = await app.send('GET /health/ready');
    draining.begun = true;
    const stopping = await app.send('GET /health/ready');

    for (const { status, body } of [away, stopping]) {
      expect({ status, body }).toMatchObject({
        status: 503,
        body: { reason: 'unavailable', message: 'The service is not ready.' },
      });
    }
  });
});

describe('SharedReadiness', () => {
  const STATUS = { parked: { payout: 2 }, unserved: {}, oldestDueSeconds: 0 };

  /** An implementation with mocked results, and a clock that the test sets. */
  function world() {
    const time = { nowMs: 0 };
    const implementation = { check: jest.fn(async () => undefined), work: jest.fn(async () => STATUS) };
    const readiness = new SharedReadiness(implementation, () => time.nowMs);
    const calls = () => [implementation.check.mock.calls.length, implementation.work.mock.calls.length];
    return { time, implementation, readiness, calls };
  }

  it('checks once for all calls within a second', async () => {
    const { readiness, time, calls } = world();

    const together = await Promise.all([readiness.read(), readiness.read(), readiness.read()]);
    time.nowMs = 999;
    const within = await readiness.read();

    expect([...together, within]).toEqual([STATUS, STATUS, STATUS, STATUS]);
    expect(calls()).toEqual([1, 1]);
    time.nowMs = 1_000;
    await readiness.read();
    expect(calls()).toEqual([2, 2]);
  });

  it('shares a check that takes longer than a second', async () => {
    const { readiness, implementation, time } = world();
    let finish: () => void = () => undefined;
    implementation.check.mockImplementationOnce(() => new Promise((resolve) => (finish = () => resolve(undefined))));

    const first = readiness.read();
    time.nowMs = 30_000;
    const second = readiness.read();
    finish();

    expect(await Promise.all([first, second])).toEqual([STATUS, STATUS]);
    expect(implementation.check).toHaveBeenCalledTimes(1);
    await readiness.read();
    expect(implementation.check).toHaveBeenCalledTimes(2);
  });

  it('returns a failure for one second', async () => {
    const { readiness, implementation, time, calls } = world();
    implementation.check.mockRejectedValueOnce(new Refusal('unavailable'));

    await expect(readiness.read()).rejects.toThrow(Refusal);
    time.nowMs = 999;
    await expect(readiness.read()).rejects.toThrow(Refusal);
    expect(calls()).toEqual([1, 0]);

    time.nowMs = 1_000;
    expect(await readiness.read()).toEqual(STATUS);
  });
});
