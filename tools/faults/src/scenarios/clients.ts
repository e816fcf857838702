import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Member } from '../cluster.js';
import { call, type Received, sendOrder, sendUntilDone } from '../orders.js';
import { noteFault, type RunContext, type Scenario } from '../scenario.js';
import { type Payment, Preparation, together } from '../world.js';
import { wait } from '../wait.js';

const MEASURED_MS = 60_000;
const SLOWER_MAX = 2;
/** A machine on which a request alone takes longer is too busy to measure times. */
const ALONE_MAX_MS = 300;

/** The value that a part of the values does not exceed. */
export function percentile(values: readonly number[], part = 0.99): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

/** Whether others were slowed down. @param isWhole whether it was measured for long enough */
function judgeTimes(
  { tally }: RunContext,
  alone: readonly number[],
  beside: readonly number[],
  { what, isWhole, isBusy = false }: { readonly what: string; readonly isWhole: boolean; readonly isBusy?: boolean },
): void {
  const [before, after] = [percentile(alone), percentile(beside)];
  const figures = `p99 ${Math.round(before)} ms alone and ${Math.round(after)} ms beside ${what}`;
  tally.notes.push(figures);
  if (!isWhole) tally.doubt('measured for less than a minute');
  else if (isBusy || before > ALONE_MAX_MS) tally.doubt('the machine is too busy to measure times');
  else if (after > SLOWER_MAX * before) tally.violate('starvation', figures);
}

const HOT_CLIENTS = 12;
const OTHER_CLIENTS = 4;
const OTHERS = 1_000;
const OTHERS_LEAST = 50;
const HOT_PER_SECOND = 200;

/** A client of a measurement goes on to the next order after this time. */
const GIVE_UP_MS = 1_000;

/**
 * Twelve clients pay from one account, and four from a thousand others. The others must not wait for the hot account: their slowest
 * hundredth takes at most twice as long as without it.
 */
const hotAccount: Scenario = {
  ...{ name: 'hot-account', faults: [], phase: 'alone', minutesMax: 2.2 },
  async run(context) {
    const { cluster, limitMs, tally, onProgress } = context;
    const preparation = new Preparation(cluster.endpoint);
    const payment = await preparation.pair();
    const isWhole = limitMs >= 2 * MEASURED_MS;
    const count = isWhole ? OTHERS : OTHERS_LEAST;
    onProgress(`opening ${count} accounts`);
    const others = await together(Array.from({ length: count }), () => preparation.openAccount());
    const ids = others.map(({ id }) => id);
    const measuredMs = isWhole ? MEASURED_MS : limitMs / 3;
    onProgress(
      `${OTHER_CLIENTS} clients on ${count} accounts alone, then ${HOT_CLIENTS} clients on one account beside them`,
    );
    const alone = await payFor(context, payment, ids, OTHER_CLIENTS, measuredMs / 3);
    const [beside, hotTimes] = await Promise.all([
      payFor(context, payment, ids, OTHER_CLIENTS, measuredMs),
      payFor(context, payment, [payment.accountId], HOT_CLIENTS, measuredMs),
    ]);
    const perSecond = Math.round(hotTimes.length / (measuredMs / 1_000));
    if (isWhole) tally.count('minutes');
    if (perSecond < HOT_PER_SECOND) tally.doubt(`fewer than ${HOT_PER_SECOND} orders a second`);
    judgeTimes(context, alone, beside, { what: `${perSecond} orders a second`, isWhole });
    return {};
  },
};

/** @returns the time of each order, in milliseconds */
async function payFor(
  { cluster, log, prefix, tally }: RunContext,
  payment: Payment,
  payers: readonly number[],
  clients: number,
  forMs: number,
): Promise<number[]> {
  const until = Date.now() + forMs;
  const times: number[] = [];
  const client = async (_: unknown, index: number) => {
    for (let turn = index; Date.now() < until; turn += clients) {
      const key = `${prefix}-${payers.length}-${Math.round(until)}-${turn}`;
      const order = { ...payment, key, accountId: payers[turn % payers.length]! };
      const beganAt = performance.now();
      const sender = { endpoint: cluster.endpoint, log };
      const { outcome } = await sendUntilDone(sender, order, (attempt) => turn + attempt, { patienceMs: GIVE_UP_MS });
      tally.countOperation(outcome === 'ok');
      if (outcome !== 'ok') continue;
      tally.count('acknowledged');
      times.push(performance.now() - beganAt);
    }
  };
  await Promise.all(Array.from({ length: clients }).map(client));
  return times;
}

const PER_SECOND = 100;
const TICK_MS = 20;
const EXIT_WITHIN_MS = 10_000;
/** Of ten requests, so many are orders; the others are reads. */
const ORDERS = 3;
const BETWEEN_MS = 500;
const CHECK_MS = 250;

/**
 * The api processes are stopped in turn with SIGTERM, while a load balancer sends 100 requests a second over connections that stay open:
 * each to the next process whose health check succeeds. Every request that was sent to a process must get its response, and the process
 * must end by itself with exit code 0.
 */
const stops: Scenario = {
  ...{ name: 'stops', faults: ['sigterm-api'], phase: 'alone', minutesMax: 2.2 },
  async run(context) {
    const { cluster, signal } = context;
    const payment = await new Preparation(cluster.endpoint).pair();
    const ready = new Set(cluster.apis.keys());
    const ended = new AbortController();
    const watch = async (_: Member, api: number) => {
      while (!ended.signal.aborted) {
        if ((await cluster.apis[api]!.process.health('ready')) === 200) ready.add(api);
        else ready.delete(api);
        await wait(CHECK_MS, ended.signal);
      }
    };
    const sending = [...cluster.apis.map(watch), sendEvenly(context, ready, payment, ended.signal)];
    for (let round = 0; !signal.aborted; round += 1) await stopOne(context, cluster.apis[round % 2]!);
    ended.abort();
    await Promise.all(sending);
    return {};
  },
};

async function stopOne(context: RunContext, { process }: Member): Promise<void> {
  const { tally, signal } = context;
  await wait(BETWEEN_MS, signal);
  if (signal.aborted) return;
  const { code, ms } = await process.stop('SIGTERM');
  await noteFault(context, 'sigterm-api', process.name);
  tally.count('stops');
  if (code !== 0) tally.violate('stops', `${process.name} ended with ${code} after SIGTERM`);
  if (ms > EXIT_WITHIN_MS) tally.violate('stops', `${process.name} took ${ms} ms to stop`);
  await process.start();
}

/** Sends at an even rate, whatever the responses take. */
async function sendEvenly(context: RunContext, ready: ReadonlySet<number>, payment: Payment, signal: AbortSignal) {
  const open = new Set<Promise<void>>();
  const beganAt = Date.now();
  let sent = 0;
  while (!signal.aborted) {
    const due = Math.floor(((Date.now() - beganAt) * PER_SECOND) / 1_000);
    // After a pause of this process, the requests are not sent all at once.
    for (sent = Math.max(sent, due - PER_SECOND); sent < due; sent += 1) {
      const apis = [...ready];
      if (apis.length === 0) continue;
      const one = sendOne(context, apis[sent % apis.length]!, payment, sent + 1).finally(() => open.delete(one));
      open.add(one);
    }
    await wait(TICK_MS, signal);
  }
  await Promise.all(open);
}

async function sendOne(context: RunContext, api: number, payment: Payment, number: number): Promise<void> {
  const { cluster, log, prefix, tally } = context;
  const { workspaceId, accountId } = payment;
  let received: Received = { body: '', ms: 0 };
  const endpoint = { ...cluster.endpoint, onReceived: (one: Received) => void (received = one) };
  const isOrder = number % 10 < ORDERS;
  if (isOrder) await sendOrder({ endpoint, log }, { ...payment, key: `${prefix}-${number}` }, api);
  else await call(endpoint, { api, method: 'GET', path: `/accounts/${accountId}`, workspaceId });
  const { status, headers, error } = received;
  const isDone = status !== undefined && status < 300;
  tally.countOperation(isDone);
  tally.count('requests');
  if (isDone && isOrder) tally.count('acknowledged');
  // A process under load responds with 503 and a time after which to retry. That is a response, and nothing was done.
  if (isDone || (status === 503 && headers?.['retry-after'] !== undefined)) return;
  const what = `${isOrder ? 'an order' : 'a read'} through api-${api}`;
  tally.violate('stops', `${what} got ${status ?? error}, while processes were stopped`);
}

const SOCKETS = 500;
const HEALTHY = 4;
/** When the service must have closed a slow reader. A write before that would count as traffic. */
const PROBE_MS = 39_000;
const PAUSE_MS = 20;
/** Opened in each tick at most, as a burst would measure the opening. */
const OPENED_AT_ONCE = 25;
const OPEN_TICK_MS = 100;
/** This process itself was then kept from running, so that the service was too. */
const LATE_MAX_MS = 500;
/** By kind, the limits of the service, two of the intervals at which it checks them, and a second for this process. */
const CLOSED_WITHIN_MS = { 'slow-head': 15_000, 'slow-body': 20_000, 'slow-read': 41_000 } as const;
type SlowKind = keyof typeof CLOSED_WITHIN_MS;
const BYTE_MS = 1_000;
/** More responses than the buffers of both ends hold. */
const UNREAD = 200;

/** 500 connections send or read a byte a second. They must be closed in time, and must not slow other clients down. */
const slowClients: Scenario = {
  ...{ name: 'slow-clients', faults: Object.keys(CLOSED_WITHIN_MS), phase: 'alone', minutesMax: 1.6 },
  async run(context) {
    const { cluster, limitMs, tally, onProgress } = context;
    const { id } = await new Preparation(cluster.endpoint).openAccount();
    const isWhole = limitMs >= 1.4 * MEASURED_MS;
    const measuredMs = isWhole ? MEASURED_MS : Math.max(limitMs, CLOSED_WITHIN_MS['slow-read'] + 2_000);
    // The first request of a process builds the document.
    for (const api of [0, 1]) {
      await call(cluster.endpoint, { api, method: 'GET', path: '/openapi.json', workspaceId: 1 });
    }
    onProgress(`${HEALTHY} clients alone, then beside ${SOCKETS} slow connections`);
    const alone = await readFor(context, id, measuredMs / 4);
    const sockets: SlowSocket[] = [];
    const [beside, latestMs] = await Promise.all([
      readFor(context, id, measuredMs),
      keepOpen(context, sockets, measuredMs),
    ]);
    const isBusy = percentile(alone) > ALONE_MAX_MS || latestMs > LATE_MAX_MS;
    judgeTimes(context, alone, beside, { what: 'the slow connections', isWhole, isBusy });
    for (const [kind, limit] of Object.entries(CLOSED_WITHIN_MS)) {
      const late = sockets.filter((one) => one.kind === kind && one.openMs > limit);
      await noteFault(context, kind, 'api');
      const detail = `${late.length} connections of the kind ${kind} were open for longer than ${limit} ms`;
      if (late.length > 0 && !isBusy) tally.violate('response-time', detail);
    }
    return {};
  },
};

/** Opens as many as were closed. @returns how late this process was at most */
async function keepOpen({ cluster, tally }: RunContext, sockets: SlowSocket[], forMs: number): Promise<number> {
  const until = Date.now() + forMs;
  let latestMs = 0;
  while (Date.now() < until) {
    const open = sockets.filter(({ isOpen }) => isOpen);
    for (let missing = Math.min(OPENED_AT_ONCE, SOCKETS - open.length); missing > 0; missing -= 1) {
      const turn = sockets.length;
      // Of ten connections one is a slow reader, which makes the service write megabytes.
      const kind: SlowKind = turn % 10 === 0 ? 'slow-read' : turn % 2 === 0 ? 'slow-head' : 'slow-body';
      sockets.push(new SlowSocket(kind, Number(new URL(cluster.url(turn >> 1)).port), cluster.token));
      tally.count('sockets');
    }
    for (const one of open) one.probe();
    const beganAt = Date.now();
    await sleep(OPEN_TICK_MS);
    latestMs = Math.max(latestMs, Date.now() - beganAt - OPEN_TICK_MS);
  }
  for (const socket of sockets) socket.end();
  return latestMs;
}

/** A connection that sends or reads so slowly that the service must close it. */
class SlowSocket {
  private readonly openedAt = Date.now();
  private closedAt: number | undefined;
  private readonly socket: Socket;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    readonly kind: SlowKind,
    port: number,
    private readonly token: string,
  ) {
    this.socket = connect(port, '127.0.0.1', () => this.begin());
    this.socket.on('error', () => undefined);
    this.socket.once('close', () => this.end());
    // A response of 408 is read, so that the end of the connection is seen. Only the slow reader reads nothing.
    if (kind !== 'slow-read') this.socket.resume();
  }

  get isOpen(): boolean {
    return this.closedAt === undefined;
  }

  get openMs(): number {
    return (this.closedAt ?? Date.now()) - this.openedAt;
  }

  end(): void {
    clearInterval(this.timer);
    this.closedAt ??= Date.now();
    this.socket.destroy();
  }

  /** Writes, because a connection that is not read from learns of its end only so. Earlier writes would keep it open. */
  probe(): void {
    if (this.kind === 'slow-read' && this.openMs > PROBE_MS) this.socket.write('\r\n');
  }

  private begin(): void {
    const { kind, socket } = this;
    const authorization = `Authorization: Bearer ${this.token}\r\nWorkspace-ID: 1\r\n`;
    if (kind === 'slow-read') {
      socket.pause();
      socket.write(`GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n${authorization}\r\n`.repeat(UNREAD));
      return;
    }
    const body = `${authorization}Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`;
    if (kind === 'slow-head') socket.write('GET /accounts HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
    else socket.write(`POST /accounts HTTP/1.1\r\nHost: localhost\r\n${body}`);
    this.timer = setInterval(() => socket.write(' '), BYTE_MS);
  }
}

async function readFor({ cluster, tally }: RunContext, accountId: number, forMs: number): Promise<number[]> {
  const until = Date.now() + forMs;
  const times: number[] = [];
  const client = async (_: unknown, index: number) => {
    for (let api = index; Date.now() < until; api += 1) {
      const options = { api, method: 'GET', path: `/accounts/${accountId}`, workspaceId: 1 } as const;
      const { status, ms } = await call(cluster.endpoint, options);
      tally.countOperation(status === 200);
      if (status === 200) times.push(ms);
      await sleep(PAUSE_MS);
    }
  };
  await Promise.all(Array.from({ length: HEALTHY }).map(client));
  return times;
}

export const CLIENT_SCENARIOS: readonly Scenario[] = [hotAccount, stops, slowClients];
