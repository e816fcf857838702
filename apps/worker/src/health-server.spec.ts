import { verificationChannel } from '@banking/operations';
import type { OperatorServer } from '@banking/process';
import { LastVerification, openMetrics, serveHealth } from './health-server.js';
import type { Workers } from './open-workers.js';

describe('the health server of a worker', () => {
  const status = { parked: { payout: 2 }, unserved: {}, oldestDueSeconds: 7 };
  let unserved: Readonly<Record<string, number>> | undefined;
  let isStopping = false;
  let isDown = false;
  let stop:
    { readonly stoppedAt: string; readonly findings: number; readonly workspaceIds: readonly number[] } | undefined;
  let verification: { readonly ageSeconds: number } | undefined;
  let server: OperatorServer;
  let metrics: OperatorServer;
  let base: string;

  beforeAll(async () => {
    const readStatus = () =>
      isDown ? Promise.reject(new Error('no database')) : Promise.resolve(unserved ? { ...status, unserved } : status);
    const readPayoutStop = () => (isDown ? Promise.reject(new Error('no database')) : Promise.resolve(stop));
    const lastVerification = () => verification;
    const source = { isStopping: () => isStopping, readStatus, readPayoutStop, lastVerification };
    server = await serveHealth({ host: '127.0.0.1', port: 0 }, source);
    base = `http://127.0.0.1:${server.port}`;
    metrics = await openMetrics({ host: '127.0.0.1', port: 0, commit: undefined }, {} as Workers, source);
  });
  beforeEach(() => {
    isStopping = isDown = false;
    stop = verification = unserved = undefined;
  });
  afterAll(() => Promise.all([server.close(), metrics.close()]));

  async function request(path: string, method = 'GET') {
    const response = await fetch(`${base}${path}`, { method });
    const text = await response.text();
    return {
      status: response.status,
      body: text === '' ? undefined : (JSON.parse(text) as unknown),
      headers: response.headers,
    };
  }

  it('is ready with the state of the queue while the database is reachable', async () => {
    const { headers, ...response } = await request('/health/ready');

    expect(response).toEqual({ status: 200, body: { status: 'ok', work: status } });
    expect(headers.get('cache-control')).toBe('no-store');
  });

  it('reports the age of the last verification once there was one', async () => {
    verification = { ageSeconds: 12 };

    expect((await request('/health/ready')).body).toEqual({ status: 'ok', work: status, verification });
  });

  it('is live but not ready without a database, and omits the cause', async () => {
    isDown = true;

    expect(await request('/health/ready')).toMatchObject({ status: 503, body: { status: 'unavailable' } });
    expect(await request('/health/live')).toMatchObject({ status: 200, body: { status: 'ok' } });
  });

  it('is live but not ready while payouts are stopped, with a reason and without accounts', async () => {
    stop = { stoppedAt: '2026-11-22T09:00:04.118204Z', findings: 3, workspaceIds: [1] };

    expect(await request('/health/ready')).toMatchObject({
      status: 503,
      body: {
        status: 'payouts_stopped',
        reason: 'A verification of the books has findings. Run banking verify.',
        stoppedAt: '2026-11-22T09:00:04.118204Z',
        findings: 3,
        work: status,
      },
    });
    expect((await request('/health/live')).status).toBe(200);
  });

  it('is live but not ready while payouts are due that it has no network for', async () => {
    unserved = { payout: 3 };

    expect(await request('/health/ready')).toMatchObject({
      status: 503,
      body: {
        status: 'payouts_waiting',
        reason: 'No payment network serves payouts that are due. Connect one, or run banking payout return.',
        work: { unserved: { payout: 3 } },
      },
    });
    expect((await request('/health/live')).status).toBe(200);
  });

  it.each([
    ['ready', 200, () => undefined],
    ['waiting for a network', 503, () => (unserved = { payout: 3 })],
    ['stopping', 503, () => (isStopping = true)],
  ])('says the same beside the metrics while the worker is %s', async (_, expected, begin) => {
    begin();
    const { status, body } = await request('/health/ready');

    const beside = await fetch(`http://127.0.0.1:${metrics.port}/health/ready`);

    expect(status).toBe(expected);
    expect({ status: beside.status, body: await beside.json() }).toEqual({ status, body });
    const text = await (await fetch(`http://127.0.0.1:${metrics.port}/metrics`)).text();
    expect(text).toContain(`\nbanking_ready ${expected === 200 ? 1 : 0}\n`);
  });

  it('stays ready with due work of another kind that it does not do', async () => {
    unserved = { crossing: 1 };

    expect(await request('/health/ready')).toMatchObject({ status: 200, body: { work: { unserved } } });
  });

  it('is not ready while the worker stops', async () => {
    isStopping = true;

    expect(await request('/health/ready?verbose')).toMatchObject({ status: 503, body: { status: 'stopping' } });
  });

  it.each([
    ['/', 'GET', 404],
    ['/health', 'GET', 404],
    ['/health/ready', 'POST', 405],
    ['/health/live', 'HEAD', 200],
  ])('responds to %s %s with status %i', async (path, method, expected) => {
    expect((await request(path, method)).status).toBe(expected);
  });

  it('rejects a port in use', async () => {
    const source = {
      isStopping: () => false,
      readStatus: async () => status,
      readPayoutStop: async () => undefined,
    };

    await expect(serveHealth({ host: '127.0.0.1', port: server.port }, source)).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
  });
});

describe('the age of the last verification', () => {
  let last: LastVerification;
  let now: jest.SpyInstance<number, []>;

  beforeEach(() => {
    now = jest.spyOn(performance, 'now').mockReturnValue(0);
    last = new LastVerification();
  });
  afterEach(() => {
    last.close();
    now.mockRestore();
  });

  const proven = (cell?: string) => verificationChannel.publish({ subject: 'new', outcome: 'proven', rows: 1, cell });

  it('is missing before new transactions were proven', () => {
    verificationChannel.publish({ subject: 'account', outcome: 'proven', rows: 1 });
    verificationChannel.publish({ subject: 'new', outcome: 'findings', rows: 1 });

    expect(last.read()).toBeUndefined();
  });

  it('is that of the only database', () => {
    proven();
    now.mockReturnValue(12_500);

    expect(last.read()).toEqual({ ageSeconds: 12 });
  });

  it('is that of the oldest of several databases, with that of each', () => {
    proven('home');
    now.mockReturnValue(30_000);
    proven('b');
    now.mockReturnValue(40_000);

    expect(last.read()).toEqual({ ageSeconds: 40, cells: { home: 40, b: 10 } });
  });
});
