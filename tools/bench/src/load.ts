import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import autocannon from 'autocannon';
import type { BenchTarget } from './service.js';

/** Applies the maximum load for a number of seconds. */
export type LoadRun = (seconds: number) => Promise<Measured>;

/** An HTTP load and the expected status. */
export interface Load {
  readonly answering: BenchTarget;
  readonly connections: number;
  /** Sent in turn by each connection. */
  readonly requests: readonly autocannon.Request[];
  /** The status of every response. */
  readonly expects: 200 | 201;
}

export interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the target process without the database (Linux only), or of this process for the client. */
  readonly cpuMicrosPerRequest?: number | undefined;
  /** The sampled maximum of the target process. */
  readonly residentMb?: number;
}

const SAMPLE_EVERY_MS = 250;
/** Samples of autocannon, which ends a run at one. */
const SAMPLE_MS = 1_000;
/** On a busy machine, a short run may end before its first response. For how long it is repeated then. */
const EMPTY_MS = 10_000;

/** @throws Error when a response is missing or has another status, because the figure would be wrong */
export const httpLoad =
  ({ answering: { url, pid, headers }, connections, requests, expects }: Load): LoadRun =>
  async (seconds) => {
    let residentMb = residentMbOf(pid);
    const sampling = setInterval(() => (residentMb = Math.max(residentMb, residentMbOf(pid))), SAMPLE_EVERY_MS);
    const cpuBefore = cpuMicrosOf(pid);
    try {
      const sampleInt = Math.min(SAMPLE_MS, seconds * 1_000);
      const run = () => autocannon({ url, connections, duration: seconds, sampleInt, headers, requests });
      let result = await run();
      for (const until = performance.now() + EMPTY_MS; isEmpty(result) && performance.now() < until;) {
        result = await run();
      }
      const { errors, timeouts, latency, statusCodeStats } = result;
      const { [expects]: expected, ...others } = statusCodeStats;
      if (errors + timeouts + Object.keys(others).length > 0 || !expected) {
        const answers = Object.entries(others).map(([status, { count }]) => `${count} answers were ${status}, `);
        throw new Error(
          `${url}: ${answers.join('')}${errors} failed, ${timeouts} timed out, ${expected?.count ?? 0} were ${expects}`,
        );
      }
      const cpuAfter = cpuMicrosOf(pid);
      return {
        perSecond: expected.count / result.duration,
        p50Ms: latency.p50,
        p99Ms: latency.p99,
        cpuMicrosPerRequest: cpuAfter && cpuBefore ? (cpuAfter - cpuBefore) / expected.count : undefined,
        residentMb,
      };
    } finally {
      clearInterval(sampling);
    }
  };

const isEmpty = ({ errors, timeouts, statusCodeStats }: autocannon.Result) =>
  errors + timeouts + Object.keys(statusCodeStats).length === 0;

/**
 * A number of callers in this process. Each sends its next request as soon as it has a response.
 *
 * @param ask receives the index of the caller; an error ends the measurement
 */
export async function callConcurrently(
  callers: number,
  seconds: number,
  ask: (caller: number) => Promise<void>,
): Promise<Measured> {
  const tookMs: number[] = [];
  const cpuBefore = process.cpuUsage();
  const began = performance.now();
  const until = began + seconds * 1_000;
  const askAgain = async (caller: number) => {
    for (let now = performance.now(); now < until;) {
      await ask(caller);
      const answered = performance.now();
      tookMs.push(answered - now);
      now = answered;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => askAgain(caller)));
  const tookS = (performance.now() - began) / 1_000;
  const cpu = process.cpuUsage(cpuBefore);

  tookMs.sort((one, other) => one - other);
  const percentile = (part: number) => tookMs[Math.min(tookMs.length - 1, Math.floor(part * tookMs.length))] ?? NaN;
  return {
    perSecond: tookMs.length / tookS,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    cpuMicrosPerRequest: (cpu.user + cpu.system) / tookMs.length,
  };
}

const IS_LINUX = process.platform === 'linux';

/** The resident memory of a process. */
export function residentMbOf(pid: number): number {
  if (!IS_LINUX) return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' })) / 1024;
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1024;
}

/** Linux counts the time of a process in hundredths of a second, whatever its kernel's own clock (proc(5), USER_HZ). */
const MICROS_PER_TICK = 10_000;

function cpuMicrosOf(pid: number): number | undefined {
  if (!IS_LINUX) return undefined;
  const afterName = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '';
  const [utime, stime] = afterName.split(' ').slice(11, 13);
  return (Number(utime) + Number(stime)) * MICROS_PER_TICK;
}
