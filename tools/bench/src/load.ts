import { readdirSync, readFileSync } from 'node:fs';
import autocannon from 'autocannon';
import type { BenchTarget } from './service.js';

/** Applies the maximum load for a number of seconds. */
export type LoadRun = (seconds: number) => Promise<Measured>;

export interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The sampled maximum of the target process. Linux only. */
  readonly residentMb?: number;
  /** CPU time of a response, user and system, in microseconds. Linux only. */
  readonly cpuUs?: CpuTimes;
}

/** The process under load, or the one that calls a database by itself, and all processes of the database server. */
interface CpuTimes {
  readonly node: number;
  readonly postgres: number;
}

const SAMPLE_EVERY_MS = 250;
/** Samples of autocannon, which ends a run at one. */
const SAMPLE_MS = 1_000;
/** On a busy machine, a short run may end before its first response. For how long it is repeated then. */
const EMPTY_MS = 10_000;

/**
 * An HTTP load of requests that each connection sends in turn, whose responses must all be successful.
 *
 * @throws Error when a response is missing or has another status, because the figure would be wrong
 */
export const httpLoad =
  (
    { url, pid, postmasterPid, headers }: BenchTarget,
    connections: number,
    requests: readonly autocannon.Request[],
  ): LoadRun =>
  async (seconds) => {
    let residentMb = residentMbOf(pid);
    const cpuSince = startCpu(pid, postmasterPid);
    const sampling = setInterval(() => (residentMb = Math.max(residentMb, residentMbOf(pid))), SAMPLE_EVERY_MS);
    try {
      const sampleInt = Math.min(SAMPLE_MS, seconds * 1_000);
      const run = () => autocannon({ url, connections, duration: seconds, sampleInt, headers, requests });
      let result = await run();
      for (const until = performance.now() + EMPTY_MS; isEmpty(result) && performance.now() < until;) {
        result = await run();
      }
      const { errors, timeouts, latency, statusCodeStats, duration } = result;
      const statuses = Object.entries(statusCodeStats);
      const expected = statuses.filter(([status]) => /^20[01]$/.test(status));
      if (errors + timeouts > 0 || expected.length === 0 || expected.length < statuses.length) {
        const others = statuses.map(([status, { count }]) => `${count} responses were ${status}`);
        throw new Error(`${url}: ${[...others, `${errors} failed`, `${timeouts} timed out`].join(', ')}`);
      }
      const responses = expected.reduce((sum, [, { count }]) => sum + count, 0);
      const measured = { perSecond: responses / duration, p50Ms: latency.p50, p99Ms: latency.p99, residentMb };
      return { ...measured, ...cpuSince(responses) };
    } finally {
      clearInterval(sampling);
    }
  };

/** Each path in turn. */
export const reading = (target: BenchTarget, connections: number, paths: readonly string[]): LoadRun =>
  httpLoad(
    target,
    connections,
    paths.map((path) => ({ path })),
  );

const isEmpty = ({ errors, timeouts, statusCodeStats }: autocannon.Result) =>
  errors + timeouts + Object.keys(statusCodeStats).length === 0;

/**
 * A number of callers in this process. Each sends its next request as soon as it has a response.
 *
 * @param send receives the index of the caller; an error ends the measurement
 */
export async function callConcurrently(
  callers: number,
  seconds: number,
  send: (caller: number) => Promise<unknown>,
): Promise<Measured> {
  const tookMs: number[] = [];
  const began = performance.now();
  const until = began + seconds * 1_000;
  const sendAgain = async (caller: number) => {
    for (let now = performance.now(); now < until;) {
      await send(caller);
      const received = performance.now();
      tookMs.push(received - now);
      now = received;
    }
  };
  await Promise.all(Array.from({ length: callers }, (_, caller) => sendAgain(caller)));
  const tookS = (performance.now() - began) / 1_000;
  tookMs.sort((one, other) => one - other);
  const percentile = (part: number) => tookMs[Math.min(tookMs.length - 1, Math.floor(part * tookMs.length))] ?? NaN;
  return { perSecond: tookMs.length / tookS, p50Ms: percentile(0.5), p99Ms: percentile(0.99) };
}

/** Measures CPU time from now on. What it returns divides that time by a number of responses. */
export function startCpu(
  pid: number,
  postmasterPid: number | undefined,
): (responses: number) => Pick<Measured, 'cpuUs'> {
  if (process.platform !== 'linux' || postmasterPid === undefined) return () => ({});
  const now = () => ({ node: ticksOf(pid).own, postgres: ticksOfServer(postmasterPid) });
  const before = now();
  return (responses) => {
    const after = now();
    const each = (name: keyof CpuTimes) => ((after[name] - before[name]) * TICK_US) / responses;
    return { cpuUs: { node: each('node'), postgres: each('postgres') } };
  };
}

/** USER_HZ, which is 100 on every architecture of Linux that Node runs on. */
const TICK_US = 10_000;

/** proc(5): utime and stime, and those of children that have ended. */
function ticksOf(pid: number): { readonly parent: number; readonly own: number; readonly ended: number } {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ').at(-1)!.split(' ').map(Number);
  return { parent: fields[1]!, own: fields[11]! + fields[12]!, ended: fields[13]! + fields[14]! };
}

function ticksOfServer(postmasterPid: number): number {
  const postmaster = ticksOf(postmasterPid);
  const running = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return running.reduce((sum, name) => {
    try {
      const { parent, own } = ticksOf(Number(name));
      return parent === postmasterPid ? sum + own : sum;
    } catch (error) {
      // It has ended meanwhile.
      if (['ENOENT', 'ESRCH'].includes((error as NodeJS.ErrnoException).code ?? '')) return sum;
      throw error;
    }
  }, postmaster.own + postmaster.ended);
}

/** The resident memory of a process; 0 elsewhere than on Linux. */
function residentMbOf(pid: number): number {
  if (process.platform !== 'linux') return 0;
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}
