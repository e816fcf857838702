import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Latencies {
  readonly requests: number;
  /** Requests without a response of 200. */
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const PAUSE_MS = 20;
const RESPONSE_MS = 20_000;

/** Reads with a new connection for each request, one after the other, for a time. */
export async function readFor(url: string, authorization: string, ms: number): Promise<Latencies> {
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
