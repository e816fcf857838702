import { Refusal } from '@banking/domain';
import { openTestApp, type TestApp } from '../testing/test-app.js';
import { HealthModule } from './health.module.js';
import { Draining } from './readiness.js';

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
