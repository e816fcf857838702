import { sendRequest } from '../responses.js';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { ADA, BOB, localToken, type Service } from '../service.js';
import { idOf, readDemoIds } from '../world.js';

describe('order rate limit of six a minute and a burst of two', () => {
  let folder: TestDataDir;
  let running: RunningService;
  let service: Service;

  beforeAll(async () => {
    folder = await demoDataDir();
    running = await RunningService.start({ dataDir: folder.path, environment: { ORDER_LIMIT_PER_MINUTE: '6' } });
    const world = await readDemoIds(folder.path);
    service = { url: running.url, world, tokenOf: (email) => localToken(folder.path, email) };
  });

  afterAll(async () => {
    await running.stop();
    await folder.remove();
  });

  const place = (as: string, key: string) =>
    sendRequest(service, `/accounts/${idOf(service.world, 'accounts', 'Northwind Trading USD')}/orders`, {
      as,
      workspace: idOf(service.world, 'workspaces', 'Northwind Trading'),
      headers: { 'Idempotency-Key': key },
      body: { amount: '100', recipientID: idOf(service.world, 'recipients', 'internal'), type: 'instant' },
    });

  it('refuses further orders with Retry-After, and still replays a lost response', async () => {
    const [first, second] = [await place(ADA, 'one'), await place(BOB, 'two')];
    const [third, again] = [await place(ADA, 'three'), await place(ADA, 'one')];

    expect([first.status, second.status, third.status, again.status]).toEqual([200, 200, 429, 200]);
    expect(first.headers.get('ratelimit-policy')).toBe('"orders";q=2;w=20');
    expect(third.body).toMatchObject({ errorCode: 'rate_limited', reason: 'rate_limited' });
    expect(Number(third.headers.get('retry-after'))).toBeGreaterThan(0);
    expect([again.text, again.headers.get('idempotent-replayed')]).toEqual([first.text, 'true']);
    expect((await sendRequest(service, '/apps', { as: ADA })).status).toBe(200);
  });
});
