import { tracingChannel } from 'node:diagnostics_channel';
import { orderBatchChannel, verificationChannel } from '@banking/operations';
import { networkChannel } from '@banking/payouts';
import { connectionChannel, pipelineChannel, retryChannel } from '@banking/postgres';
import { ConfigError, type OperatorServer } from '@banking/process';
import { ratesChannel } from '@banking/reference';
import { choreChannel, workChannel } from '@banking/work-queue';
import { circuitChannel, keyFetchChannel, responseChannel, upstreamChannel } from './index.js';
import { serveMetrics, type MeasuredProcess } from './metrics.js';
import { METRICS } from './metrics/metric-list.js';

const ROWS = [
  [{ kind: 'payout', rail: 'bank', due: 3, seconds: 61 }],
  [{ kind: 'execution', parked: 2 }],
  [],
  [{ rail: 'bank', status: 'submitted', payouts: 5, seconds: 90 }],
  [{ finding_count: 4 }],
];

let pipeline: jest.Mock;
let server: OperatorServer | undefined;
let isReady: boolean;

beforeEach(() => {
  pipeline = jest.fn(async () => ROWS);
  isReady = true;
});
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(changes: Partial<MeasuredProcess> = {}): Promise<void> {
  const database = { stats: () => ({ total: 8, idle: 5, waiting: 2 }), pipeline } as unknown as NonNullable<
    MeasuredProcess['database']
  >;
  server = await serveMetrics(
    { host: '127.0.0.1', port: 0 },
    {
      ...{ app: 'api', version: '1.2.3', commit: 'abc', isHttp: true, isGateway: true, isWorker: true },
      ...{ database, isReady: async () => isReady, ...changes },
    },
  );
}

/** The values of the series that a scrape returns, those of buckets left out. */
async function scrape(): Promise<Readonly<Record<string, number>>> {
  const response = await fetch(`http://127.0.0.1:${server!.port}/metrics`);
  expect([response.status, response.headers.get('content-type')]).toEqual([
    200,
    'text/plain; version=0.0.4; charset=utf-8',
  ]);
  const lines = (await response.text()).split('\n').filter((line) => line !== '' && !/^#|_bucket\{/.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ') + 1))]),
  );
}

/** The series of `scraped` that begin with a name. */
const of = (scraped: Readonly<Record<string, number>>, name: string) =>
  Object.fromEntries(Object.entries(scraped).filter(([series]) => series.startsWith(name)));

describe('the metrics of a process', () => {
  it('are those of the list, and no other', async () => {
    await serve();
    const text = await (await fetch(`http://127.0.0.1:${server!.port}/metrics`)).text();

    const names = [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name, type]);
    expect(names.sort()).toEqual(
      Object.entries(METRICS)
        .map(([name, { type }]) => [name, type])
        .sort(),
    );
  });

  it('are only those of its parts', async () => {
    await serve({ isGateway: false, isHttp: false, isWorker: false, database: undefined, commit: undefined });
    const scraped = await scrape();

    expect(Object.keys(of(scraped, 'banking_'))).toEqual([
      expect.stringMatching(/^banking_build_info\{app="api",version="1.2.3",commit="unknown",node="\d+\.\d+\.\d+"\}$/),
      'banking_event_loop_utilization_ratio',
      'banking_ready',
    ]);
  });

  it('count responses, refusals, refused credentials and replays', async () => {
    await serve();
    const route = '/transfers/:transferId';
    responseChannel.publish({ method: 'GET', route, status: 200, ms: 30, isReplay: false });
    responseChannel.publish({ method: 'GET', route, status: 200, ms: 50, isReplay: true });
    const refused = { route: 'none', status: 404, isReplay: false, credentialFault: 'expired' };
    responseChannel.publish({ ...refused, method: 'PROPFIND', reason: 'route_not_found' });
    responseChannel.publish({ ...refused, method: 'GET', reason: 'a text of an upstream' });
    keyFetchChannel.publish({ isFailing: true });

    const scraped = await scrape();
    expect(of(scraped, 'banking_issuer_keys_up')).toEqual({ banking_issuer_keys_up: 0 });
    const name = 'banking_http_request_duration_seconds';
    expect(of(scraped, name)).toEqual({
      [`${name}_sum{method="GET",route="${route}",status="200"}`]: 0.08,
      [`${name}_count{method="GET",route="${route}",status="200"}`]: 2,
      [`${name}_sum{method="other",route="none",status="404"}`]: 0,
      [`${name}_count{method="other",route="none",status="404"}`]: 1,
      [`${name}_sum{method="GET",route="none",status="404"}`]: 0,
      [`${name}_count{method="GET",route="none",status="404"}`]: 1,
    });
    expect(of(scraped, 'banking_http_refusals_total')).toEqual({
      'banking_http_refusals_total{reason="route_not_found"}': 1,
      'banking_http_refusals_total{reason="other"}': 1,
    });
    expect(scraped).toMatchObject({
      'banking_authentication_failures_total{fault="expired"}': 2,
      banking_idempotent_replays_total: 1,
    });
  });

  it('measure what the libraries publish', async () => {
    await serve();
    const fail = () => Promise.reject(new Error('the cause'));
    await pipelineChannel.tracePromise(async () => undefined, { statements: ['ping'] });
    await pipelineChannel.tracePromise(fail, { statements: ['ping'] }).catch(() => undefined);
    connectionChannel.publish({ waitMs: 20, isRefused: true });
    retryChannel.publish({ sqlstate: '40P01', tries: 1 });
    const orders = [{ kind: 'placement', submittedAtMs: 0 }] as const;
    const batch = { orders: [...orders, ...orders], waitMs: 500, strategy: 'common' } as const;
    await orderBatchChannel.tracePromise(async () => [{ kind: 'locked' }, { kind: 'run' }], batch);
    const claim = { kind: 'payout', workspaceId: 1, tries: 1 };
    await workChannel.tracePromise(async () => undefined, { ...claim, outcome: 'postponed' });
    await choreChannel.tracePromise(fail, { name: 'statistics' }).catch(() => undefined);
    const aborted = AbortSignal.abort();
    await networkChannel
      .tracePromise(fail, { rail: 'bank', operation: 'submit', signal: aborted })
      .catch(() => undefined);
    await networkChannel.tracePromise(fail, { rail: 'bank', operation: 'find' }).catch(() => undefined);
    await networkChannel.tracePromise(async () => [], { rail: 'bank', operation: 'receive' });
    verificationChannel.publish({ subject: 'new', outcome: 'proven', rows: 7 });
    verificationChannel.publish({ subject: 'account', outcome: 'findings', rows: 9 });
    ratesChannel.publish({ asOf: '2026-11-20T00:00:00Z' });
    ratesChannel.publish({});
    const call = { operation: 'placeOrder', method: 'POST', isOfCaller: true };
    await upstreamChannel.tracePromise(async () => ({ status: 201 }), { ...call });
    await upstreamChannel.tracePromise(fail, { ...call }).catch(() => undefined);
    circuitChannel.publish({ state: 'open' });

    expect(await scrape()).toMatchObject({
      banking_database_pipeline_duration_seconds_count: 2,
      'banking_database_errors_total{sqlstate="lost"}': 1,
      banking_database_connection_wait_seconds_sum: 0.02,
      banking_database_connection_refusals_total: 1,
      'banking_database_retries_total{sqlstate="40P01"}': 1,
      'banking_database_connections{state="idle"}': 5,
      'banking_database_connections{state="used"}': 3,
      banking_database_callers_waiting: 2,
      'banking_order_batch_size_sum{strategy="common"}': 2,
      'banking_order_batch_wait_seconds_sum{strategy="common"}': 0.5,
      'banking_order_batch_duration_seconds_count{strategy="common"}': 1,
      banking_orders_locked_total: 1,
      'banking_work_duration_seconds_count{kind="payout",outcome="postponed"}': 1,
      'banking_chore_failures_total{chore="statistics"}': 1,
      'banking_network_request_duration_seconds_count{rail="bank",operation="submit",outcome="timeout"}': 1,
      'banking_network_request_duration_seconds_count{rail="bank",operation="find",outcome="failed"}': 1,
      'banking_network_request_duration_seconds_count{rail="bank",operation="receive",outcome="ok"}': 1,
      'banking_verification_runs_total{subject="new",outcome="proven"}': 1,
      'banking_verification_runs_total{subject="account",outcome="findings"}': 1,
      'banking_verification_rows_total{subject="new"}': 7,
      'banking_verification_last_success_timestamp_seconds{subject="new"}': expect.any(Number),
      'banking_rates_requests_total{outcome="ok"}': 1,
      'banking_rates_requests_total{outcome="failed"}': 1,
      banking_rates_as_of_timestamp_seconds: Date.parse('2026-11-20T00:00:00Z') / 1000,
      'banking_upstream_request_duration_seconds_count{operation="placeOrder",status="201"}': 1,
      'banking_upstream_request_duration_seconds_count{operation="placeOrder",status="failed"}': 1,
      banking_upstream_circuit_open: 1,
    });
    circuitChannel.publish({ state: 'closed' });
    expect(await scrape()).toMatchObject({ banking_upstream_circuit_open: 0 });
  });

  it('report whether the process is ready', async () => {
    await serve();
    expect((await scrape())['banking_ready']).toBe(1);
    isReady = false;
    expect((await scrape())['banking_ready']).toBe(0);
  });

  it('are collected until the server is closed', async () => {
    const channels = [pipelineChannel, orderBatchChannel, workChannel, networkChannel, upstreamChannel];
    const plain = [responseChannel, connectionChannel, retryChannel, verificationChannel, ratesChannel, circuitChannel];
    const observed = () => [...channels, ...plain, choreChannel].map(({ hasSubscribers }) => hasSubscribers);
    await serve();
    expect(new Set(observed())).toEqual(new Set([true]));

    await server!.close();
    expect(new Set(observed())).toEqual(new Set([false]));
  });

  it('leave no subscription behind if the port is in use', async () => {
    await serve();
    const first = server!;
    await expect(
      serveMetrics({ host: '127.0.0.1', port: first.port }, { ...MEASURED, isReady: async () => true }),
    ).rejects.toThrow(
      new ConfigError(['METRICS_HOST and METRICS_PORT cannot be listened on (EADDRINUSE). Choose others.']),
    );

    await first.close();
    expect(responseChannel.hasSubscribers).toBe(false);
  });
});

const MEASURED = { app: 'api', version: '1', isHttp: true, isGateway: false, isWorker: false };

describe('a subscription', () => {
  it('ignores what began before it', async () => {
    let finish: () => void = () => undefined;
    const early = tracingChannel<unknown, { readonly statements: readonly string[] }>('banking:postgres:pipeline');
    const listen = () => undefined;
    early.start.subscribe(listen);
    const traced = early.tracePromise(() => new Promise<void>((resolve) => (finish = resolve)), { statements: [] });
    await serve();
    finish();
    await traced;
    early.start.unsubscribe(listen);

    expect((await scrape())['banking_database_pipeline_duration_seconds_count']).toBe(0);
  });
});
