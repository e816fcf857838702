import { BankingClient } from '@banking/client';
import type { AccountId, RecipientId, TransferAmount } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { startGateway } from '../gateway/stacked-services.js';
import { launch } from '../launch.js';
import { CANARY, secretsIn } from '../log-lines.js';
import { demoDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { ADA, localToken } from '../service.js';
import { idOf, readDemoIds, type DemoIds } from '../world.js';

const METRICS = { METRICS_PORT: '0', BUILD_COMMIT: 'abc123' };
const AMOUNT = '987654' as TransferAmount;

let folder: TestDataDir;
let service: RunningService;
let gateway: RunningService;
let worker: ReturnType<typeof launch>;
let world: DemoIds;
let token: string;
const urls: Record<string, string> = {};

const addressOf = async (output: Promise<string>) => `http://127.0.0.1:${await output}/metrics`;

beforeAll(async () => {
  folder = await demoDataDir();
  service = await RunningService.start({ dataDir: folder.path, environment: { ...METRICS, WORKER: 'off' } });
  gateway = await startGateway({ dataDir: folder.path, upstream: service.url, environment: METRICS });
  worker = launch('worker', { dataDir: folder.path, environment: METRICS });
  urls['service'] = await addressOf(service.logged(/"metricsPort":(\d+)/));
  urls['gateway'] = await addressOf(gateway.logged(/"metricsPort":(\d+)/));
  urls['worker'] = await addressOf(worker.output.matched(/"metricsPort":(\d+)/));
  world = await readDemoIds(folder.path);
  token = await localToken(folder.path, ADA);
});
afterAll(async () => {
  worker.child.kill('SIGTERM');
  await worker.ended;
  await gateway.stop();
  await service.stop();
  await folder.remove();
});

const scrape = async (name: string) => (await fetch(urls[name]!)).text();

/** The value of a series; undefined without one. */
function valueIn(scraped: string, series: string): number | undefined {
  const line = scraped.split('\n').find((text) => text.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}
const valueOf = async (name: string, series: string) => valueIn(await scrape(name), series);

/** Polls a series of a process until it has at least this value. The error has the series of the same metric. */
async function untilCounted(name: string, series: string, atLeast = 1): Promise<number> {
  const [metric = ''] = series.split('{');
  const sameMetric = async () =>
    (await scrape(name))
      .split('\n')
      .filter((line) => line.startsWith(metric) && !/_bucket/.test(line))
      .join('\n');
  const scraped = await until(sameMetric, (text) => (valueIn(text, series) ?? 0) >= atLeast);
  return valueIn(scraped, series)!;
}

/** Requests whose every part has a canary: paths, query, headers, credentials, keys and bodies. */
async function sendCanaries(url: string): Promise<void> {
  const headers = {
    authorization: `Bearer ${token}`,
    'workspace-id': String(idOf(world, 'workspaces', 'Northwind Trading')),
    'x-request-id': CANARY,
    'user-agent': CANARY,
    'idempotency-key': `${CANARY}-key`,
    'content-type': 'application/json',
  };
  const account = idOf(world, 'accounts', 'Northwind Trading EUR');
  const order = { recipientID: CANARY, amount: CANARY, type: CANARY, purposeCode: CANARY, externalReference: CANARY };
  const requests: readonly [string, string, object?][] = [
    ['GET', `/${CANARY}`],
    ['GET', `/transfers/${CANARY}`],
    ['GET', `/transfers?search=${CANARY}`],
    ['GET', `/recipients/countries/${CANARY}/corridors`],
    ['POST', `/accounts/${account}/orders?x=${CANARY}`, order],
    ['POST', '/recipients/internal', { accountCode: CANARY, alias: CANARY, saved: true }],
    ['PROPFIND', `/${CANARY}`],
  ];
  for (const [method, path, body] of requests) {
    await fetch(`${url}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
  }
  await fetch(`${url}/apps`, { headers: { authorization: `Bearer ${CANARY}.${CANARY}.x` } });
}

describe('the metrics of running processes', () => {
  it('count an order through the gateway, its batch, its replay and its payout', async () => {
    const client = new BankingClient({ baseUrl: gateway.url, token });
    const northwind = client.workspace(idOf(world, 'workspaces', 'Northwind Trading'));
    const accountId = idOf(world, 'accounts', 'Northwind Trading EUR') as AccountId;
    await northwind.sandbox.fund({ accountId, amount: '10000000' as TransferAmount });
    const recipientID = idOf(world, 'recipients', 'international') as RecipientId;
    const input = { accountId, recipientID, amount: AMOUNT, type: 'instant', purposeCode: 'IR001' } as const;
    const placeOnce = () => northwind.orders.place(input, { idempotencyKey: 'metrics-of-an-order' });
    await placeOnce();
    await placeOnce();

    const route = 'route="/accounts/:accountId/orders",status="200"';
    const placed = `banking_http_request_duration_seconds_count{method="POST",${route}}`;
    expect(await untilCounted('gateway', placed, 2)).toBe(2);
    expect(await untilCounted('service', placed, 2)).toBe(2);
    expect(await valueOf('service', 'banking_idempotent_replays_total')).toBe(1);
    const upstream = 'banking_upstream_request_duration_seconds_count{operation="placeOrder",status="200"}';
    expect(await valueOf('gateway', upstream)).toBe(2);
    expect(await valueOf('service', 'banking_order_batch_size_count{strategy="common"}')).toBeGreaterThan(0);
    expect(await valueOf('service', 'banking_work_due{kind="payout"}')).toBeDefined();
    await untilCounted('worker', 'banking_work_duration_seconds_count{kind="payout",outcome="postponed"}');
    await untilCounted('worker', 'banking_network_request_duration_seconds_count{operation="submit",outcome="ok"}');
    await untilCounted('worker', 'banking_verification_last_success_timestamp_seconds{subject="new"}');
  });

  it('have no value of a request, and no path', async () => {
    for (const url of [service.url, gateway.url]) await sendCanaries(url);
    const unknown = 'banking_http_request_duration_seconds_count{method="other",route="none",status="404"}';
    await untilCounted('service', unknown);
    await untilCounted('gateway', 'banking_authentication_failures_total{fault="malformed"}');

    for (const name of Object.keys(urls)) {
      const text = await scrape(name);
      expect(text).toMatch(/^banking_ready 1$/m);
      expect(text.split('\n').filter((line) => line.includes(CANARY) || line.includes(AMOUNT))).toEqual([]);
      // The check of log lines reads lines that begin with a brace.
      expect(secretsIn(text.replace(/^/gm, '{'))).toEqual([]);
    }
  });

  it('are served on an address of their own', async () => {
    expect((await fetch(`${service.url}/metrics`)).status).toBe(404);
    expect((await fetch(urls['service']!, { method: 'POST' })).status).toBe(405);
  });
});

describe('a process without METRICS_PORT', () => {
  it('loads no library for metrics', async () => {
    const child = launch('worker', {
      dataDir: folder.path,
      environment: { NODE_OPTIONS: `--require=${require.resolve('./print-loaded.cjs')}` },
    });
    await child.output.matched(/"msg":"working"/);
    child.child.kill('SIGTERM');
    await child.ended;

    const loaded = await child.output.matched(/loaded: (.*)/);
    expect(loaded).toContain('libs/work-queue/dist/worker.js');
    expect(loaded).not.toMatch(/prom-client|libs\/telemetry\/dist\/metrics/);
  });
});
