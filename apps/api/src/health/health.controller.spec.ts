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

  it('reports that the service is ready, with the work of a worker', async () => {
    const work = { parked: { payout: 2 }, oldestDueSeconds: 0 };
    readiness.work.mockResolvedValueOnce(work);

    expect(await app.send('GET /health/ready')).toMatchObject({ status: 200, body: { status: 'ok', work } });
  });

  it('is not ready while the database is unreachable', async () => {
    readiness.check.mockRejectedValueOnce(new Refusal('unavailable'));

    expect(await app.send('GET /health/ready')).toMatchObject({ status: 503, body: { reason: 'unavailable' } });
  });

  it('is not ready once the service is stopping', async () => {
    draining.begun = true;

    const { status, body } = await app.send('GET /health/ready');

    expect({ status, body }).toMatchObject({ status: 503, body: { message: 'The service is stopping.' } });
  });
});
