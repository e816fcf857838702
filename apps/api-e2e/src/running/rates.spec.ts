import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { ADA, localToken } from '../service.js';
import { type LiveData, makeLiveData } from './live-service.js';

describe('source of rates', () => {
  let folder: TestDataDir;
  let live: LiveData;
  let source: Server;
  let url: string;
  let requests: number;
  let isDown: boolean;

  beforeAll(async () => {
    folder = await demoDataDir();
    live = await makeLiveData();
    [requests, isDown] = [0, false];
    source = createServer((_, response) => {
      requests += 1;
      if (isDown) response.writeHead(503).end();
      else
        response.end(
          JSON.stringify({
            base: 'EUR',
            asOf: new Date().toISOString(),
            rates: { USD: 1.25, INR: '100' },
            spreadBasisPoints: { 'INR/USD': 25 },
          }),
        );
    });
    await once(source.listen(0, '127.0.0.1'), 'listening');
    url = `http://reader:hunter2@127.0.0.1:${(source.address() as AddressInfo).port}/rates`;
  });
  afterAll(async () => {
    await once(source.close(), 'close');
    await folder.remove();
    await live.remove();
  });

  /** The service with the demo data or of a live deployment, and an account in USD. */
  const placeOf = (sandbox: string) =>
    sandbox === 'on'
      ? {
          start: (environment: Readonly<Record<string, string>>) =>
            RunningService.start({ dataDir: folder.path, environment: { SANDBOX: 'on', ...environment } }),
          token: () => localToken(folder.path, ADA),
          accountID: 1,
        }
      : { start: live.start, token: live.token, accountID: live.accountId };
  type Place = ReturnType<typeof placeOf>;
  const quote = async (
    service: RunningService,
    { token, accountID }: Place,
    targetCurrency: string,
    headers: Record<string, string> = {},
  ) => {
    const response = await fetch(`${service.url}/quotes`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${await token()}`,
        'workspace-id': '1',
        'content-type': 'application/json',
        ...headers,
      },
      body: JSON.stringify({ accountID, targetCurrency, amount: '10000' }),
    });
    return { status: response.status, body: await response.json() };
  };

  it('warns at the start and converts nothing in a live deployment without a source', async () => {
    const place = placeOf('off');
    const service = await place.start({});

    expect(await quote(service, place, 'USD')).toMatchObject({
      status: 201,
      body: { rate: '1', targetAmount: '10000' },
    });
    expect(await quote(service, place, 'INR')).toMatchObject({
      status: 422,
      body: {
        reason: 'rate_unavailable',
        message: expect.stringContaining('this deployment has no source of rates') as string,
      },
    });
    expect(await service.logged(/"msg":"(There is no RATES_URL[^"]*)"/)).toContain('docs/books.md');
    await service.stop();
  });

  it.each(['on', 'off'])('uses only the configured source with SANDBOX %s', async (sandbox) => {
    [requests, isDown] = [0, false];
    const place = placeOf(sandbox);
    const service = await place.start({ RATES_URL: url, QUOTE_VALID_S: '60' });
    const key = { 'idempotency-key': `rates-${sandbox}` };

    const first = await quote(service, place, 'INR', key);
    isDown = true;
    const again = await quote(service, place, 'INR', key);

    expect(first).toMatchObject({ status: 201, body: { rate: '79.8', targetAmount: '798000' } });
    const { createdAt, expiresAt } = first.body as { readonly createdAt: string; readonly expiresAt: string };
    expect(Date.parse(expiresAt) - Date.parse(createdAt)).toBe(60_000);
    expect(again).toEqual(first);
    expect(await quote(service, place, 'GEL')).toMatchObject({ status: 422, body: { reason: 'rate_unavailable' } });
    expect(requests).toBe(1);
    await service.stop();
    expect(service.log).not.toMatch(/hunter2|RATES_URL/);
  });
});
