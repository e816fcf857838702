import { setTimeout as sleep } from 'node:timers/promises';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { add, minorUnits } from '@banking/domain';
import type { SentOrder, Operation } from '../client-log.js';
import { call, orderBody, orderPath, parsedOf, sendOrder, sendUntilDone } from '../orders.js';
import { noteFault, type RunContext, type Scenario, violationsOf } from '../scenario.js';
import { PAYOUT_FEE, Preparation } from '../world.js';
import { watchMoney } from './load.js';
import { freePort, ServiceProcess } from '../processes.js';

const COMMIT_WAIT_MS = 10_000;
/** Every so many rounds the process is killed after its commit; in the others it loses its connection to PostgreSQL. */
const KILL_EVERY = 10;

/**
 * The process that commits an order never learns that it did, and its client has no response. The client sends the same key through
 * the other process, and then again through the first one.
 */
const lostReply: Scenario = {
  ...{ name: 'lost-reply', faults: ['kill-api', 'reset-at-commit'], phase: 'other', minutesMax: 3.4 },
  async run(context) {
    const { cluster, prefix, tally, signal, random } = context;
    const payment = await new Preparation(cluster.endpoint).pair();
    for (let round = 1; !signal.aborted; round += 1) {
      const order = { ...payment, key: `${prefix}-${round}`, amount: String(random.between(1, 500)) };
      const isComplete = await loseReply(context, order, round);
      tally.countOperation(isComplete);
      if (isComplete) tally.count('rounds');
    }
    return {};
  },
};

/** @returns whether the commit was interrupted and the order acknowledged by both processes afterwards */
async function loseReply(context: RunContext, order: SentOrder, round: number): Promise<boolean> {
  const { cluster, log, tally } = context;
  const sender = { endpoint: cluster.endpoint, log };
  const first = round % 2;
  const { process, proxy } = cluster.apis[first]!;
  const client = new AbortController();
  const withheld = proxy.withhold('commit', AbortSignal.timeout(COMMIT_WAIT_MS));
  const sent = sendOrder(sender, order, first, client.signal);
  const release = await withheld;
  client.abort();
  await sent;
  if (release === undefined) return false;
  const second = await sendUntilDone(sender, order, () => first + 1);
  const isKilled = round % KILL_EVERY === 0;
  if (isKilled) await process.kill();
  release();
  if (isKilled) await process.start();
  await noteFault(context, isKilled ? 'kill-api' : 'reset-at-commit', process.name);
  const third = await sendUntilDone(sender, order, () => first);
  const isOk = second.outcome === 'ok' && third.outcome === 'ok';
  if (!isOk) tally.violate('outcome', `${order.key} was committed, and its retries were not acknowledged`);
  return isOk;
}

const PARALLEL = 50;
/** Of each key, other bodies that are sent after it. */
const MUTATIONS = 5;
const RETRY_AFTER_MS = 1_000;

/** The order of one key is sent 50 times at once through both api processes. Then other bodies are sent with the same key. */
const sameKey: Scenario = {
  ...{ name: 'same-key', faults: [], phase: 'other', minutesMax: 1 },
  async run(context) {
    const { cluster, prefix, tally, signal, random } = context;
    const preparation = new Preparation(cluster.endpoint);
    const payment = await preparation.pair();
    const otherId = await preparation.addRecipient(payment.workspaceId, await preparation.openAccount());
    for (let number = 1; !signal.aborted; number += 1) {
      const order = { ...payment, key: `${prefix}-${number}`, amount: String(random.between(1, 500)) };
      await sendAtOnce(context, order);
      for (let mutation = 0; mutation < MUTATIONS; mutation += 1) await sendMutated(context, order, otherId);
      tally.count('keys');
    }
    return {};
  },
};

async function sendAtOnce({ cluster, log, tally }: RunContext, order: SentOrder): Promise<void> {
  const sender = { endpoint: cluster.endpoint, log };
  const responses = await Promise.all(Array.from({ length: PARALLEL }, (_, api) => sendOrder(sender, order, api)));
  const acknowledged = responses.filter(({ outcome }) => outcome === 'ok').length;
  const wrong = responses.filter(({ outcome, reason }) => outcome !== 'ok' && reason !== 'idempotency_in_progress');
  tally.countOperation(acknowledged > 0 && wrong.length === 0);
  tally.count('acknowledged', acknowledged);
  if (acknowledged === 0) tally.violate('outcome', `${order.key} was never acknowledged`);
  const detail = `${order.key} got a response that is neither a replay nor a 409:`;
  tally.violate('outcome', ...wrong.map(({ status, reason }) => `${detail} ${status ?? ''} ${reason}`));
}

/** Sends another body: one field differs from the order, or is added. */
async function sendMutated(
  { cluster, log, tally, random }: RunContext,
  order: SentOrder,
  otherId: number,
): Promise<void> {
  const { key, workspaceId } = order;
  const api = random.below(2);
  const mutation = random.pick([
    { amount: String(random.between(1_000, 9_999)) },
    { recipientID: otherId },
    { description: `${key}-mutated` },
    { purposeCode: 'IR001' },
    { metadata: { mutation: String(random.below(1_000_000)) } },
    { type: 'scheduled', startAt: '2099-01-31T09:00:00Z' },
  ]);
  const body = { ...orderBody(order), ...mutation };
  const attempt = () => call(cluster.endpoint, { api, method: 'POST', path: orderPath(order), workspaceId, key, body });
  let response = await attempt();
  // A service under load may refuse a request before it knows the key.
  for (let tries = 1; response.status === 503 && tries < 10; tries += 1) {
    await sleep(RETRY_AFTER_MS);
    response = await attempt();
  }
  const actual = `${response.status ?? ''} ${String(parsedOf(response.body)?.['reason'])}`;
  const expected = '422 idempotency_key_reused';
  await log.append({ event: 'read', check: 'outcome', subject: `${key} with another body`, api, expected, actual });
  tally.count('mutations');
}

const SPENDERS = 32;
/** 1,000.00 and 400.00 EUR: with the fee of a payout too, the third order finds less than it needs. */
const FUNDED = minorUnits(100_000n);
const AMOUNT = minorUnits(40_000n);
const SUCCESSES = 2;

/**
 * 32 clients spend one account at the same time. Every second round they pay abroad: that money is debited at once and on hold until
 * the network has it.
 */
const spend: Scenario = {
  ...{ name: 'spend', faults: [], phase: 'other', minutesMax: 4 },
  async run(context) {
    const { cluster, tally, signal } = context;
    const preparation = new Preparation(cluster.endpoint);
    const payer = await preparation.openAccount(1, 'EUR', FUNDED);
    const payee = await preparation.openAccount(1, 'EUR', FUNDED);
    const recipients = [await preparation.addRecipient(1, payee), await preparation.addPayoutRecipient(1)] as const;
    const watching = new AbortController();
    const watched = watchMoney({ cluster, tally, signal: watching.signal });
    for (let round = 1; !signal.aborted; round += 1) {
      const isPayout = round % 2 === 0;
      const recipientId = recipients[isPayout ? 1 : 0];
      await spendAtOnce(context, { accountId: payer.id, recipientId, isPayout }, round);
      const spent = add(AMOUNT, isPayout ? PAYOUT_FEE : minorUnits(0n));
      for (let success = 0; success < SUCCESSES; success += 1) await preparation.fund(payer, spent);
    }
    watching.abort();
    await watched;
    return {};
  },
};

async function spendAtOnce(
  { cluster, log, tally, prefix }: RunContext,
  payment: Pick<SentOrder, 'accountId' | 'recipientId' | 'isPayout'>,
  round: number,
): Promise<void> {
  const sender = { endpoint: cluster.endpoint, log };
  const responses = await Promise.all(
    Array.from({ length: SPENDERS }, (_, client) => {
      const key = `${prefix}-${round}-${client}`;
      return sendOrder(sender, { ...payment, key, workspaceId: 1, amount: String(AMOUNT) }, client);
    }),
  );
  const successes = responses.filter(({ outcome }) => outcome === 'ok').length;
  const others = responses.filter(({ outcome, reason }) => outcome !== 'ok' && reason !== 'insufficient_funds');
  const isExpected = successes === SUCCESSES && others.length === 0;
  tally.countOperation(isExpected);
  tally.count('rounds');
  tally.count('acknowledged', successes);
  if (isExpected) return;
  const reasons = others.map(({ status, reason }) => `${status ?? ''} ${reason}`).join(', ');
  tally.violate('outcome', `round ${round} had ${successes} successes and not ${SUCCESSES}; others: ${reasons}`);
}

export const KEY_SCENARIOS: readonly Scenario[] = [spend, lostReply, sameKey];

/** Fewer than the failures in a row that open the circuit of the gateway. */
const CLIENTS = 4;
const RESET_SHARE = 3;
const PAUSE_MS = 250;
/** The user of a gateway in the demo data. */
const GATEWAY = 'gateway@northwind.example';

/**
 * Clients place orders through a gateway, whose connection to the upstream is reset after the upstream has the request. The gateway must
 * send no request twice: one attempt of a client is at most one request to the upstream.
 */
export const gateway: Scenario = {
  ...{ name: 'gateway', faults: ['upstream-reset'], phase: 'other', minutesMax: 0.7 },
  async run(context) {
    const { cluster, tally, log, signal, prefix, random } = context;
    const payment = await new Preparation(cluster.endpoint).pair();
    const proxy = await UpstreamProxy.start(cluster.url(0));
    const environment = {
      DATA_DIR: join(cluster.folder, 'data'),
      SANDBOX: 'on',
      UPSTREAM_URL: proxy.url,
      UPSTREAM_TOKEN: await cluster.newToken({ caller: GATEWAY }),
    };
    const logFile = join(cluster.folder, 'gateway.log');
    const process = new ServiceProcess({ app: 'api', name: 'gateway', port: await freePort(), logFile, environment });
    const sender = { endpoint: { token: cluster.token, url: () => process.url }, log };
    let placed = 0;
    const client = async () => {
      while (!signal.aborted) {
        const number = (placed += 1);
        const order = { ...payment, key: `${prefix}-${number}`, amount: String(random.between(1, 500)) };
        const isReset = number % RESET_SHARE === 0;
        if (isReset) proxy.resets.add(order.key);
        const { outcome } = await sendUntilDone(sender, order, () => 0, { pauseMs: () => PAUSE_MS });
        tally.countOperation(outcome === 'ok');
        if (outcome !== 'ok') continue;
        for (const figure of ['acknowledged', 'keys'] as const) tally.count(figure);
        if (isReset) await noteFault(context, 'upstream-reset', order.key);
      }
    };
    try {
      await process.start();
      await Promise.all(Array.from({ length: CLIENTS }, client));
      tally.violate('processes', ...process.ownEnds);
    } finally {
      await process.stop();
      await proxy.close();
    }
    const repeatsOf = ({ key, attempts }: Operation) => {
      const posts = proxy.posts.get(key) ?? 0;
      return posts > attempts ? [`${key} was sent ${attempts} times to the gateway, and ${posts} times upstream`] : [];
    };
    return { check: async (operations) => violationsOf('upstream', operations.flatMap(repeatsOf)) };
  },
};

/** An HTTP proxy between a gateway and its upstream. It counts the creations of each key, and resets connections. */
class UpstreamProxy {
  readonly posts = new Map<string, number>();
  readonly resets = new Set<string>();

  private constructor(
    private readonly server: Server,
    private readonly upstream: string,
  ) {}

  static async start(upstream: string): Promise<UpstreamProxy> {
    const server = createServer();
    const proxy = new UpstreamProxy(server, upstream);
    server.on('request', (incoming, outgoing) => proxy.pass(incoming, outgoing));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private pass(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const { method = 'GET', url = '/', headers, socket } = incoming;
    const key = String(headers['idempotency-key'] ?? '');
    if (method === 'POST') this.posts.set(key, (this.posts.get(key) ?? 0) + 1);
    const isReset = method === 'POST' && this.resets.delete(key);
    const sent = request(`${this.upstream}${url}`, { method, headers }, (response) => {
      if (isReset) {
        response.resume();
        socket.resetAndDestroy();
        return;
      }
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    sent.on('error', () => socket.destroy());
    incoming.pipe(sent);
  }
}
