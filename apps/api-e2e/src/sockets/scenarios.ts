import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '@banking/postgres/testing';
import { requestBytes } from '../hostile/raw-request.js';
import { type Latencies, readFor } from './healthy-client.js';
import { type CrowdOptions, SocketCrowd } from './socket-crowd.js';

export interface Target {
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
