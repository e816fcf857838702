import { BankingClient } from '@banking/client';
import type { AccountId, Order, RecipientId, TransferAmount, TransferId } from '@banking/domain';
import { until } from '@banking/postgres/testing';
import { CANARY, secretsIn } from '../log-lines.js';
import { sendRequest } from '../responses.js';
import { ADA, idOf } from '../service.js';
import { type ReceivedSpan, TracedServices } from './otlp-receiver.js';

/** Found in no id and no duration. */
const AMOUNT = '1349127' as TransferAmount;
const [SERVER, CLIENT, CONSUMER] = [2, 3, 5];
const GATEWAY = 'banking-gateway';
const API = 'banking-api';

/** Every attribute that a span may have. None of them holds a value of a request. */
const ATTRIBUTES = new Set([
  'banking.batch.size',
  'banking.batch.strategy',
  'banking.batch.wait_ms',
  'banking.network.operation',
  'banking.operation',
  'banking.order.kind',
  'banking.refusal',
  'banking.request.id',
  'banking.work.kind',
  'banking.work.outcome',
  'banking.work.reason',
  'banking.work.tries',
  'banking.workspace.id',
  'db.operation.batch.size',
  'db.query.summary',
  'db.response.status_code',
  'db.system.name',
  'error.type',
  'http.request.method',
  'http.response.status_code',
  'http.route',
  'url.scheme',
]);

/** The trace of a caller, in which its span is `CALLER`. */
const traceOf = (digit: string) => digit.repeat(32);
const CALLER = 'ca11e40000000000';

describe('traces of a gateway, its upstream and a worker', () => {
  let services: TracedServices;
  let spans: readonly ReceivedSpan[];
  let logs: Awaited<ReturnType<TracedServices['stop']>> | undefined;
  const stray: string[] = [];

  /** Places orders and makes requests, and then stops all processes: what was received by then is complete. */
  beforeAll(async () => {
    services = await TracedServices.start();
    const { service } = services;
    const token = await service.tokenOf(ADA);
    const workspace = idOf(service.world, 'workspaces', 'Northwind Trading');
    const within = (digit: string) => {
      const traceContext = () => ({ traceparent: `00-${traceOf(digit)}-${CALLER}-01`, tracestate: 'vendor=1' });
      return new BankingClient({ baseUrl: service.url, token, traceContext }).workspace(workspace);
    };
    await within('a').transfers.get(idOf(service.world, 'transfers', 'international') as TransferId);

    const accountId = idOf(service.world, 'accounts', 'Northwind Trading EUR') as AccountId;
    await within('b').sandbox.fund({ accountId, amount: '100000000' as TransferAmount });
    const recipientID = idOf(service.world, 'recipients', 'international') as RecipientId;
    const input = { accountId, recipientID, amount: AMOUNT, type: 'instant', purposeCode: 'IR001' } as const;
    const placed = await Promise.all(['c', 'd', 'e'].map((digit) => within(digit).orders.place(input)));
    for (const { resource } of placed) await until(() => isPaidOut(resource));

    async function isPaidOut({ id }: Order): Promise<boolean> {
      const read = await within('f').orders.get(accountId, id);
      return read.edges.executions?.[0]?.edges.transaction?.status === 'completed';
    }
    const malformed = [`00-${traceOf('0')}-${CALLER}-01`, `00-${traceOf('9')}-${CALLER}-01, 00`, `${CANARY}`];
    for (const traceparent of malformed) {
      const headers = { traceparent, cookie: CANARY, 'user-agent': CANARY, referer: `http://${CANARY}.example/` };
      const { status } = await sendRequest(service, `/transfers?type=${CANARY}`, { as: ADA, workspace, headers });
      stray.push(String(status));
    }
    await sendRequest(service, `/${CANARY}/${ADA}`, { headers: { authorization: `Bearer ${CANARY}.x.y` } });
    await sendRequest(service, '/health/ready');
    logs = await services.stop();
    spans = services.receiver.spans;
  });
  afterAll(async () => {
    if (logs === undefined) await services?.stop();
    await services?.remove();
  });

  /** The only span with these fields. */
  function only(fields: Partial<ReceivedSpan>): ReceivedSpan {
    const found = spans.filter((span) =>
      Object.entries(fields).every(([name, value]) => span[name as keyof ReceivedSpan] === value),
    );
    expect(found).toHaveLength(1);
    return found[0]!;
  }
  const childrenOf = ({ traceId, spanId }: ReceivedSpan) =>
    spans.filter((span) => span.traceId === traceId && span.parentSpanId === spanId);
  const bySpan = () => new Map(spans.map((span) => [span.spanId, span]));
  const linked = ({ links }: ReceivedSpan) => links.map(({ spanId }) => bySpan().get(spanId));

  it('continue from a caller through the gateway to the SQL statement', () => {
    const traceId = traceOf('a');
    const front = only({ traceId, service: GATEWAY, kind: SERVER });
    const call = only({ traceId, service: GATEWAY, kind: CLIENT, name: 'GET getTransfer' });
    const upstream = only({ traceId, service: API, kind: SERVER, name: 'GET /transfers/:transferId' });
    const read = only({ traceId, service: API, name: 'get_transfer' });

    expect(front).toMatchObject({ name: 'GET /transfers/:transferId', parentSpanId: CALLER, isError: false });
    expect(call.parentSpanId).toBe(front.spanId);
    expect(upstream.parentSpanId).toBe(call.spanId);
    expect(read).toMatchObject({ parentSpanId: upstream.spanId, kind: CLIENT });
    expect(read.attributes).toEqual({
      'db.system.name': 'postgresql',
      'db.query.summary': 'get_transfer',
      'db.operation.batch.size': 2,
    });
    expect(upstream.attributes).toEqual({
      'http.request.method': 'GET',
      'http.route': '/transfers/:transferId',
      'url.scheme': 'http',
      'http.response.status_code': 200,
      'banking.request.id': expect.any(String),
      'banking.workspace.id': 1,
    });
  });

  it('link a batch of orders, which ends with COMMIT, to each of its orders and back', () => {
    for (const digit of ['c', 'd', 'e']) {
      const traceId = traceOf(digit);
      // The gateway may have read its user lists for this request, too.
      const request = only({ traceId, service: API, name: 'POST /accounts/:accountId/orders' });
      const order = only({ traceId, name: 'order placement' });
      const [batch] = linked(order);

      expect(order.parentSpanId).toBe(request.spanId);
      expect(batch).toMatchObject({ name: 'order batch', service: API, parentSpanId: '' });
      expect(linked(batch!)).toContain(order);
      expect(childrenOf(batch!).filter(({ name }) => / commit$/.test(name))).toHaveLength(1);
      expect(batch!.attributes['banking.batch.size']).toBe(batch!.links.length);
    }
  });

  it('begin with the work of a worker, and reach the payment network', () => {
    const payouts = spans.filter(({ name, service }) => name === 'work payout' && service === 'banking-worker');
    const submitted = payouts.filter((payout) => childrenOf(payout).some(({ name }) => name === 'network submit'));

    expect(submitted).toHaveLength(3);
    expect(submitted[0]).toMatchObject({ kind: CONSUMER, parentSpanId: '', isError: false });
    expect(submitted[0]!.attributes).toEqual({
      'banking.work.kind': 'payout',
      'banking.work.tries': 1,
      'banking.work.outcome': expect.stringMatching(/^(postponed|done)$/),
      'banking.workspace.id': 1,
    });
  });

  it('have one span for each request, whose ids are in its log line', () => {
    for (const [service, log] of [
      [GATEWAY, logs?.front],
      [API, logs?.books],
    ] as const) {
      const lines = (log ?? '')
        .split('\n')
        .filter((line) => line.includes('"msg":"request"') && !line.includes('"/health/'));
      const logged = lines.map((line) => JSON.parse(line) as ReceivedSpan);
      const requests = spans.filter((span) => span.service === service && span.kind === SERVER);

      expect(logged.length).toBeGreaterThan(5);
      expect(new Set(logged.map(({ traceId, spanId }) => `${traceId} ${spanId}`))).toEqual(
        new Set(requests.map(({ traceId, spanId }) => `${traceId} ${spanId}`)),
      );
      expect(requests).toHaveLength(logged.length);
    }
  });

  it('have no parent that was not received, besides the spans of callers', () => {
    const known = new Set([...spans.map(({ spanId }) => spanId), CALLER, '']);

    expect(spans.filter(({ parentSpanId }) => !known.has(parentSpanId))).toEqual([]);
  });

  it('ignore a malformed traceparent', () => {
    expect(stray).toHaveLength(3);
    const strays = spans.filter(({ traceId }) => [traceOf('0'), traceOf('9')].includes(traceId));

    expect(strays).toEqual([]);
  });

  it('hold no secret, name, account code, amount, path or query', () => {
    const names = new Set(spans.flatMap(({ attributes }) => Object.keys(attributes)));

    expect([...names].filter((name) => !ATTRIBUTES.has(name))).toEqual([]);
    expect(secretsIn(services.receiver.text)).toEqual([]);
    expect(spans.filter(({ name, attributes }) => JSON.stringify([name, attributes]).includes(AMOUNT))).toEqual([]);
  });

  it('are sent without a warning', () => {
    expect(Object.values(logs ?? {}).join('\n')).not.toMatch(/trace exporter warning|traces not sent/);
  });
});
