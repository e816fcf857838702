import type { Event } from '@banking/domain';
import { newDataDir, RunningService } from '../running-service.js';
import { ADA, localToken } from '../service.js';

/** The address in a `Link` to the next page. */
const nextOf = (headers: Headers) => /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '')?.[1] ?? '';

describe('a service with requests that are held', () => {
  let folder: Awaited<ReturnType<typeof newDataDir>>;
  let service: RunningService;
  let headers: Record<string, string>;
  beforeAll(async () => {
    folder = await newDataDir();
    // No worker: no event is recorded, so requests are held for their whole time.
    service = await RunningService.start({ dataDir: folder.path, environment: { WORKER: 'off' } });
    headers = { authorization: `Bearer ${await localToken(folder.path, ADA)}`, 'workspace-id': '1' };
  });
  afterAll(async () => {
    await service?.stop();
    await folder?.remove();
  });
  const get = (path: string) => fetch(`${service.url}${path}`, { headers });

  it('serves more other requests than it has connections to the database', async () => {
    const end = nextOf((await get('/events?limit=500')).headers);
    // As many as a user may have, and more than the 8 connections.
    const held = Array.from({ length: 10 }, () => get(`${end}&wait=2`));
    const others = await Promise.all(Array.from({ length: 20 }, () => get('/accounts')));

    expect(others.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    for (const response of await Promise.all(held)) expect(await response.json()).toEqual([]);
  });

  it('responds to them at once when it stops, with the position to continue from', async () => {
    const end = nextOf((await get('/events?limit=500')).headers);
    const held = [get(`${end}&wait=20`), get(`${end}&wait=20`)];
    // The requests are held when a later one on the same route was served.
    await get('/events?limit=1');
    service.signal('SIGTERM');

    for (const response of await Promise.all(held)) {
      expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
      expect((await response.json()) as Event[]).toEqual([]);
      expect(nextOf(response.headers)).toContain(end);
    }
    expect((await service.ended).code).toBe(0);
  });
});
