import { BankingClient, type WorkspaceView } from '@banking/client';
import type { AccountId, Order, PlaceOrderInput, RecipientId, TransferAmount } from '@banking/domain';
import { bind, type Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { openDatabase, until } from '@banking/postgres/testing';
import { startGateway } from '../gateway/stacked-services.js';
import { CANARY, secretsIn } from '../log-lines.js';
import { banking, DemoDatabase, launch, type OwnService, type RunningService } from '../running-service.js';
import { ADA, idOf } from '../service.js';

const METRICS = { METRICS_PORT: '0', BUILD_COMMIT: 'abc123' };

/** A service without a worker, and the worker of all parts. */
let database: DemoDatabase;
let service: OwnService;
let worker: StartedWorker;
let token: string;
let northwind: WorkspaceView;
let from: AccountId;
let ordinary: RecipientId;

beforeAll(async () => {
  database = await DemoDatabase.open();
  service = await database.start({ ...METRICS, WORKER: 'off' });
  worker = await startWorker(METRICS);
  token = await service.tokenOf(ADA);
  northwind = workspaceAt(service.url);
  from = idOf(service.world, 'accounts', 'Northwind Trading EUR') as AccountId;
  ordinary = idOf(service.world, 'recipients', 'international') as RecipientId;
  await northwind.sandbox.fund({ accountId: from, amount: '20000000' as TransferAmount });
});
afterAll(async () => {
  await worker?.kill();
  await service?.running.stop();
  await database?.close();
});

const workspaceAt = (baseUrl: string): WorkspaceView =>
  new BankingClient({ baseUrl, token }).workspace(idOf(service.world, 'workspaces', 'Northwind Trading'));

async function startWorker(environment: Readonly<Record<string, string>> = {}) {
  const { child, ended, output } = launch('worker', { dataDir: database.dataDir, environment });
  await output.matched(/"msg":"working"/);
  const kill = (signal: NodeJS.Signals = 'SIGKILL') => {
    child.kill(signal);
    return ended;
  };
  /** @returns its errors */
  const stop = async () => {
    expect(await kill('SIGTERM')).toEqual({ code: 0, signal: null });
    return output.stderr;
  };
  return { output, kill, stop };
}
type StartedWorker = Awaited<ReturnType<typeof startWorker>>;

const AMOUNT = '987654' as TransferAmount;

// The first, because it counts all orders of the service.
describe('the metrics of running processes', () => {
  let gateway: RunningService;
  const urls: Record<string, string> = {};

  const addressOf = async (output: Promise<string>) => `http://127.0.0.1:${await output}/metrics`;

  beforeAll(async () => {
    gateway = await startGateway({ dataDir: database.dataDir, upstream: service.url, environment: METRICS });
    urls['service'] = await addressOf(service.running.logged(/"metricsPort":(\d+)/));
    urls['gateway'] = await addressOf(gateway.logged(/"metricsPort":(\d+)/));
    urls['worker'] = await addressOf(worker.output.matched(/"metricsPort":(\d+)/));
  });
  afterAll(() => gateway?.stop());

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
      'workspace-id': String(idOf(service.world, 'workspaces', 'Northwind Trading')),
      'x-request-id': CANARY,
      'user-agent': CANARY,
      'idempotency-key': `${CANARY}-key`,
      'content-type': 'application/json',
    };
    const account = idOf(service.world, 'accounts', 'Northwind Trading EUR');
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

  it('count an order through the gateway, its batch, its replay and its payout', async () => {
    const { orders } = workspaceAt(gateway.url);
    const order = { accountId: from, recipientID: ordinary, amount: AMOUNT, type: 'instant' } as const;
    const placeOnce = () => orders.place({ ...order, purposeCode: 'IR001' }, { idempotencyKey: 'metrics-of-an-order' });
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
    await untilCounted(
      'worker',
      'banking_network_request_duration_seconds_count{rail="sandbox",operation="submit",outcome="ok"}',
    );
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

describe('story on a terminal', () => {
  let played: string;

  beforeAll(async () => {
    played = await banking(database.dataDir, 'story', '--url', service.url);
  });

  it('shows one payment that arrives and one that is returned', async () => {
    const [arrives, isSentBack] = played.split('\nA payment that ').slice(1) as [string, string];
    expect(arrives).toMatch(/ACSP G000 on its way\n.+ACSP G001 on its way\n.+ACCC +credited\n.+is completed\n/);
    expect(isSentBack).toMatch(/ACSP G000 on its way\n.+RJCT AC04 rejected\n.+is failed\n.+come back/);
    expect(arrives).toMatch(/quote .+ is \d+\.\d\d INR, fee \d+\.\d\d EUR\n/);
  });

  it('shows the events of each step', async () => {
    const [arrives, isSentBack] = played.split('\nA payment that ').slice(1) as [string, string];
    const [before, after] = arrives.split(/is completed\n/) as [string, string];
    expect(eventsIn(before)).toEqual([
      'recipient.added 1',
      'quote.created 1',
      ...['execution.started 1', 'order.completed 2', 'order.placed 1', 'transaction.created 1'],
      ...['transfer.booked 1', 'transfer.booked 1'],
    ]);
    expect(eventsIn(after)).toEqual(['execution.completed 2', 'transaction.completed 2']);
    const returned = [
      ...['execution.failed 2', 'transaction.completed 1', 'transaction.failed 3', 'transaction.returned 2'],
      'transfer.booked 1',
    ];
    expect(eventsIn(isSentBack.split(/is failed\n/)[1]!)).toEqual(returned);
  });

  it('debits the payment and its fee, then only the fee of the returned payment', async () => {
    const fees = [...played.matchAll(/ fee (\d+\.\d\d) EUR$/gm)].map(([, fee = '']) => cents(fee));
    const [before, between, beforeSecond, after] = [...played.matchAll(/^ {2}balance +(\d+\.\d\d) EUR$/gm)].map(
      ([, money = '']) => cents(money),
    );
    expect(between).toBe(before! - 10_000n - fees[0]!);
    expect(beforeSecond).toBe(between);
    expect(after).toBe(between! - fees[1]!);
  });
});

const MAKE_DUE = sqlStatement(
  'e2e.make_due',
  `update banking.work set due_at = clock_timestamp() where kind = 'execution' and subject_id = $1`,
);
const LEASES_OVER = sqlStatement(
  'e2e.leases_over',
  `update banking.work set leased_until = clock_timestamp() where leased_until is not null`,
);
const SUBMISSIONS = sqlStatement<{ key: string; submissions: number }>(
  'e2e.handed_over',
  'select key, submissions from banking.sandbox_rail_payment order by key',
);
const PAYOUTS_LEFT = sqlStatement<{ subject_id: bigint }>(
  'e2e.payouts_left',
  `select subject_id from banking.work where kind = 'payout'`,
);

describe('workers', () => {
  let owner: Database;

  beforeAll(async () => {
    owner = await openDatabase({ connection: database.server.connection, role: OWNER_ROLE });
  });
  afterAll(() => owner?.end());

  const place = async (more: Partial<PlaceOrderInput> = {}): Promise<Order> => {
    const input = {
      accountId: from,
      recipientID: ordinary,
      amount: '10000' as TransferAmount,
      type: 'instant',
      purposeCode: 'IR001',
      ...more,
    } as const;
    return (await northwind.orders.place(input)).resource;
  };
  const transactionOf = ({ edges }: Order) => edges.executions?.[0]?.edges.transaction;
  /** Waits until the transaction of an order has a status. */
  const waitForStatus = (order: Order, status: string) =>
    until(
      () => northwind.orders.get(from, order.id),
      (read) => transactionOf(read)?.status === status,
    );
  const submissionsByKey = async () => (await owner.pipeline({}, [bind(SUBMISSIONS)] as const))[0];

  it('credits international payments and executes due orders', async () => {
    const [now, later] = [await place(), await place({ type: 'scheduled', startAt: '2099-01-01T00:00:00Z' })];
    await owner.pipeline({}, [bind(MAKE_DUE, later.edges.executions?.[0]?.id)]);

    const [credited, ran] = [await waitForStatus(now, 'completed'), await waitForStatus(later, 'completed')];

    const events = transactionOf(credited)?.edges.internationalRemittance?.edges.events ?? [];
    expect(events.map(({ status, reasonCode }) => [status, reasonCode])).toEqual([
      ['ACSP', 'G000'],
      ['ACSP', 'G001'],
      ['ACCC', undefined],
    ]);
    expect(ran).toMatchObject({ status: 'completed', edges: { executions: [{ sequence: 1, status: 'completed' }] } });
  });

  it('submits a payment once if a worker is killed between submitting and recording it', async () => {
    const data = {
      beneficiaryName: 'Ravi Kumar',
      beneficiaryAccountType: 'Individual',
      beneficiaryAccountNumber: '50100123459020',
      beneficiaryCountryCode: 'IN',
      destinationCountry: 'IN',
      routingCodeType1: 'IFSC',
      routingCodeValue1: 'HDFC0000001',
    };
    const corridor = { countryCode: 'IN', currencyCode: 'INR', payoutMethod: 'LOCAL' } as const;
    const { resource: silent } = await northwind.recipients.addInternational({ ...corridor, data });
    const before = new Set((await submissionsByKey()).map(({ key }) => key));
    const order = await place({ recipientID: silent.id });
    // The network has accepted the payout, and does not respond.
    await until(submissionsByKey, (rows) => rows.some(({ key }) => !before.has(key)));

    await worker.kill();
    await owner.pipeline({}, [bind(LEASES_OVER)]);
    worker = await startWorker();
    await waitForStatus(order, 'completed');

    expect((await submissionsByKey()).filter(({ key }) => !before.has(key))).toMatchObject([{ submissions: 1 }]);
  });

  it('submit each payment once, leave nothing to do, and load no library for metrics without METRICS_PORT', async () => {
    const before = (await submissionsByKey()).length;
    const second = await startWorker({ NODE_OPTIONS: `--require=${require.resolve('./print-loaded.cjs')}` });

    const orders = await Promise.all(Array.from({ length: 16 }, () => place()));
    await Promise.all(orders.map((order) => waitForStatus(order, 'completed')));

    const all = await submissionsByKey();
    expect(all.slice(before)).toHaveLength(16);
    expect(all.filter(({ submissions }) => submissions !== 1)).toEqual([]);
    expect((await owner.pipeline({}, [bind(PAYOUTS_LEFT)] as const))[0]).toEqual([]);
    const [errors, printed] = await Promise.all([worker.stop(), second.stop()]);
    expect(errors).toBe('');
    expect(printed).toMatch(/^loaded: \S*.*libs\/work-queue\/dist\/worker\.js.*\n$/);
    expect(printed).not.toMatch(/prom-client|libs\/telemetry\/dist\/metrics/);
  });

  it('leave books that verify', async () => {
    // Ends with an error for any finding.
    await banking(database.dataDir, 'verify');
  });
});

/** The printed events with their sequence: those of the recipient and the quote first, the others by name. */
function eventsIn(part: string): string[] {
  const events = [...part.matchAll(/^ {2}event {7}(\S+) +\S+ \d+, sequence (\d+)$/gm)].map(
    ([, type, sequence]) => `${type} ${sequence}`,
  );
  const isOfPayment = (event: string) => !/^(recipient|quote)/.test(event);
  return [...events.filter((event) => !isOfPayment(event)), ...events.filter(isOfPayment).sort()];
}

const cents = (money: string) => BigInt(money.replace('.', ''));
