import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import { bind, Database, OWNER_ROLE, sqlStatement } from '@banking/postgres';
import { until } from '@banking/postgres/testing';
import { HttpSender } from '../hostile/raw-request.js';
import type { FreshService } from '../running-service.js';
import { requestBytes } from '../hostile/raw-request.js';

const REQUESTS = 500;
/** One address may hold a quarter of the connections. */
const ADDRESSES = ['127.0.0.1', '127.0.0.2', '127.0.0.3', '127.0.0.4'];
const RESPONSE_MS_MAX = 2_000;
const RECOVERY_MS_MAX = 2_000;
const GROWTH_MIB_MAX = 64;

const LOCK = sqlStatement<Record<string, never>>(
  'lock_accounts',
  'lock table banking.account in access exclusive mode',
);

/** Holds every database connection of the service by a lock on a table that each request reads. */
export async function exhaustPool(service: FreshService, authorization: string, pid: number): Promise<Measured[]> {
  const server = await attachEmbeddedServer({ dataDir: service.dataDir });
  const owner = await Database.open({ connection: server.connection, role: OWNER_ROLE });
  const senders = ADDRESSES.map((address) => new HttpSender(service.url, REQUESTS, address));
  const read = async (at = 0) => {
    const startedAt = performance.now();
    const headers = { Authorization: authorization, 'Workspace-ID': '1' };
    const sent = senders[at % senders.length]?.send({ method: 'GET', path: '/accounts/1', headers });
    if (sent === undefined) throw new Error('there is no address');
    const { status, headers: received } = await sent;
    return { status, ms: performance.now() - startedAt, hasRetryAfter: received.has('retry-after') };
  };
  try {
    await read();
    const before = await residentMib(pid);
    let largest = before;
    const responses = await owner.transaction({ workspaces: [1] }, async (tx) => {
      await tx.pipeline([bind(LOCK)] as const);
      const pending = Promise.all(Array.from({ length: REQUESTS }, (_, at) => read(at)));
      let isDone = false;
      void pending.finally(() => (isDone = true)).catch(() => undefined);
      while (!isDone) {
        largest = Math.max(largest, await residentMib(pid));
        await sleep(20);
      }
      return pending;
    });
    const releasedAt = performance.now();
    await until(read, ({ status }) => status === 200);
    const recoveredMs = performance.now() - releasedAt;
    const orderly = responses.filter(({ status, hasRetryAfter }) => status === 503 && hasRetryAfter).length;
    const slowest = Math.max(...responses.map(({ ms }) => ms));
    return [
      {
        what: 'exhausted pool: 503 with Retry-After',
        figure: `${orderly} of ${REQUESTS}`,
        limit: 'all',
        isMet: orderly === REQUESTS,
      },
      {
        what: 'exhausted pool: slowest response',
        figure: `${(slowest / 1000).toFixed(2)} s`,
        limit: '2 s',
        isMet: slowest <= RESPONSE_MS_MAX,
      },
      {
        what: 'exhausted pool: growth of memory',
        figure: `${(largest - before).toFixed(0)} MiB`,
        limit: '64 MiB',
        isMet: largest - before <= GROWTH_MIB_MAX,
      },
      {
        what: 'exhausted pool: time to recover',
        figure: `${(recoveredMs / 1000).toFixed(2)} s`,
        limit: '2 s',
        isMet: recoveredMs <= RECOVERY_MS_MAX,
      },
    ];
  } finally {
    for (const sender of senders) sender.close();
    await owner.end();
    await server.detach();
  }
}

/** The resident memory of a process, an upper bound for the growth of its heap. Linux only. */
async function residentMib(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+([0-9]+) kB/m.exec(status)?.[1] ?? 0) / 1024;
}

interface Latencies {
  readonly requests: number;
  /** Requests without a response of 200. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const PAUSE_MS = 20;
const RESPONSE_MS = 20_000;

/** Reads with a new connection for each request, one after the other, for a time. */
async function readFor(url: string, authorization: string, ms: number): Promise<Latencies> {
  const latencies: number[] = [];
  let failed = 0;
  for (const end = performance.now() + ms; performance.now() < end; await sleep(PAUSE_MS)) {
    const startedAt = performance.now();
    if ((await statusOf(url, authorization)) !== 200) failed += 1;
    latencies.push(performance.now() - startedAt);
  }
  latencies.sort((one, other) => one - other);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  return { requests: latencies.length, failed, p50Ms: at(0.5), p99Ms: at(0.99) };
}

/** The status of a read, undefined if the connection failed. */
function statusOf(url: string, authorization: string): Promise<number | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const headers = { Authorization: authorization, 'Workspace-ID': '1', Connection: 'close' };
    const path = '/accounts/1';
    const sent = request({ hostname, port, path, headers, agent: false, timeout: RESPONSE_MS }, (response) => {
      response.resume().on('close', () => resolve(response.statusCode));
    });
    sent.on('timeout', () => sent.destroy());
    sent.on('error', () => resolve(undefined));
    sent.end();
  });
}

interface Target {
  readonly url: string;
  readonly authorization: string;
  /** How long each scenario lasts. */
  readonly ms: number;
}

/** One line of the report. */
export interface Measured {
  readonly what: string;
  readonly figure: string;
  readonly limit: string;
  readonly isMet: boolean;
}

interface Scenario {
  readonly name: string;
  readonly crowd: (target: Target) => Omit<CrowdOptions, 'url'>;
  /** The longest that a socket may stay open. */
  readonly cutWithinMs: number;
}

/** A limit of time is checked every two seconds, and a busy machine is late. */
const CHECKED_LATE_MS = 4_000;

const host = (url: string) => `Host: ${new URL(url).host}`;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: '500 slow heads',
    crowd: ({ url }) => ({
      count: 500,
      bytes: `GET /apps HTTP/1.1\r\n${host(url)}\r\nX-Slow: `,
      dripEveryMs: 5_000,
      isReading: true,
      reopenAfterMs: 20,
    }),
    cutWithinMs: 10_000 + CHECKED_LATE_MS,
  },
  {
    name: '500 slow bodies',
    crowd: ({ url, authorization }) => ({
      count: 500,
      bytes: requestBytes({
        method: 'POST',
        path: '/accounts',
        headers: [
          host(url),
          `Authorization: ${authorization}`,
          'Workspace-ID: 1',
          'Content-Type: application/json',
          'Content-Length: 1000',
        ],
        body: '{',
      }),
      dripEveryMs: 5_000,
      isReading: true,
      reopenAfterMs: 20,
    }),
    cutWithinMs: 15_000 + CHECKED_LATE_MS,
  },
  {
    name: '500 slow readers',
    crowd: ({ url }) => ({
      count: 500,
      bytes: requestBytes({ path: '/openapi.json', headers: [host(url)] }).repeat(8),
      isReading: false,
      reopenAfterMs: 20,
    }),
    cutWithinMs: 32_000 + CHECKED_LATE_MS,
  },
  {
    name: '10,000 idle sockets',
    // Opening them again at once would measure how fast connections are opened.
    crowd: () => ({ count: 10_000, bytes: '', isReading: true, reopenAfterMs: 30_000 }),
    cutWithinMs: 10_000 + CHECKED_LATE_MS,
  },
];

/** Measures a healthy client beside a crowd, compared with the same client alone before. */
export async function measure(scenario: Scenario, target: Target): Promise<readonly Measured[]> {
  const base = await readFor(target.url, target.authorization, Math.min(10_000, target.ms));
  const crowd = new SocketCrowd({ url: target.url, ...scenario.crowd(target) });
  let beside: Latencies;
  let longestMs: number;
  try {
    const closed = crowd.isReading ? undefined : untilClosed(target.url, scenario.cutWithinMs);
    beside = await readFor(target.url, target.authorization, target.ms);
    longestMs = (await closed) ?? crowd.longestMs;
  } finally {
    crowd.stop();
  }
  await until(() => crowd.open === 0);
  const { name, cutWithinMs } = scenario;
  return [
    {
      what: `${name}: healthy requests that failed`,
      figure: `${beside.failed} of ${beside.requests}`,
      limit: '0',
      isMet: beside.failed === 0,
    },
    {
      what: `${name}: healthy p99`,
      figure: `${beside.p99Ms.toFixed(1)} ms, ${(beside.p99Ms / base.p99Ms).toFixed(2)} × alone`,
      limit: '2 × alone',
      isMet: beside.p99Ms <= 2 * base.p99Ms,
    },
    {
      what: `${name}: longest time until cut`,
      figure: `${(longestMs / 1000).toFixed(1)} s (${crowd.opened} sockets opened)`,
      limit: `${cutWithinMs / 1000} s`,
      isMet: longestMs > 0 && longestMs <= cutWithinMs,
    },
  ];
}

/**
 * The time until the service has closed all connections of a crowd. A socket that does not read is not told that it is closed, so the
 * connections of the kernel are counted.
 */
async function untilClosed(url: string, cutWithinMs: number): Promise<number> {
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  let isConnected = false;
  while (elapsedMs() < 2 * cutWithinMs) {
    const count = await crowdConnections(Number(new URL(url).port));
    if (count > 0) isConnected = true;
    else if (isConnected) return elapsedMs();
    await sleep(200);
  }
  return elapsedMs();
}

const ESTABLISHED = '01';
/** The end of an address 127.1.x.y in /proc/net/tcp, which lists the bytes from the last to the first. */
const CROWD_ADDRESS = /^[0-9A-F]{4}017F:/;

async function crowdConnections(port: number): Promise<number> {
  const lines = (await readFile('/proc/net/tcp', 'utf8')).split('\n').slice(1);
  const local = port.toString(16).toUpperCase().padStart(4, '0');
  return lines.filter((line) => {
    const [, own = '', remote = '', state] = line.trim().split(/\s+/);
    return own.endsWith(`:${local}`) && CROWD_ADDRESS.test(remote) && state === ESTABLISHED;
  }).length;
}

interface CrowdOptions {
  readonly url: string;
  readonly count: number;
  /** The bytes that each socket sends when it is connected. */
  readonly bytes: string;
  /** A byte that each socket sends in this interval. */
  readonly dripEveryMs?: number;
  /** Whether the sockets read what they receive. */
  readonly isReading: boolean;
  /** A closed socket is opened again after this time. */
  readonly reopenAfterMs: number;
}

/** Each group of so many sockets has a loopback address of its own, below the limit of an address. */
const PER_ADDRESS = 100;

/** Many sockets that misuse their connections, from many addresses. A socket that is closed is opened again. */
class SocketCrowd {
  /** The longest time until the service closed a socket. */
  longestMs = 0;
  opened = 0;
  open = 0;

  private readonly sockets = new Set<Socket>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private isStopped = false;

  constructor(private readonly options: CrowdOptions) {
    for (let at = 0; at < options.count; at += 1) this.start(at);
  }

  get isReading(): boolean {
    return this.options.isReading;
  }

  /** Closes all sockets. */
  stop(): void {
    this.isStopped = true;
    for (const timer of this.timers) clearInterval(timer);
    for (const socket of this.sockets) socket.destroy();
  }

  private start(at: number): void {
    const { url, bytes, dripEveryMs, isReading } = this.options;
    const { hostname, port } = new URL(url);
    let openedAt = performance.now();
    const socket = connect({ host: hostname, port: Number(port), localAddress: addressOf(at) }, () => {
      openedAt = performance.now();
      this.opened += 1;
      this.open += 1;
      socket.once('close', () => (this.open -= 1));
      socket.write(bytes);
    });
    this.sockets.add(socket);
    // Without a listener, a reset would end the process.
    socket.on('error', () => undefined);
    if (isReading) socket.resume();
    else socket.pause();
    const drip =
      dripEveryMs === undefined ? undefined : setInterval(() => socket.writable && socket.write('a'), dripEveryMs);
    if (drip) this.timers.add(drip);
    socket.once('close', () => {
      if (drip) this.timers.delete(drip);
      clearInterval(drip);
      this.sockets.delete(socket);
      if (this.isStopped) return;
      this.longestMs = Math.max(this.longestMs, performance.now() - openedAt);
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        this.start(at);
      }, this.options.reopenAfterMs);
      this.timers.add(timer);
    });
  }
}

/** 127.1.0.1, 127.1.0.2 and so on: Linux has all of 127.0.0.0/8. */
const addressOf = (at: number): string => {
  const group = Math.floor(at / PER_ADDRESS);
  return `127.1.${Math.floor(group / 250)}.${(group % 250) + 1}`;
};
