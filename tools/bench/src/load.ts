import { readFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import autocannon from 'autocannon';

/** What is asked, of whom, for how long. */
export interface Load {
  readonly url: string;
  readonly pid: number;
  readonly connections: number;
  readonly seconds: number;
  /** Asked for in turn. */
  readonly paths: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

export interface Measured {
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Of the answering process alone, without the database. Linux only. */
  readonly cpuMicrosPerRequest: number | undefined;
  /** The most that was seen while the load ran. */
  readonly residentMb: number;
}

const SAMPLE_EVERY_MS = 250;

/** @throws Error when an answer was not a 2xx, or did not come: then the figure would be one of something else */
export async function measure({ url, pid, connections, seconds, paths, headers = {} }: Load): Promise<Measured> {
  let residentMb = residentMbOf(pid);
  const sampling = setInterval(() => (residentMb = Math.max(residentMb, residentMbOf(pid))), SAMPLE_EVERY_MS);
  const cpuBefore = cpuMicrosOf(pid);
  try {
    const requests = paths.map((path) => ({ path }));
    const result = await autocannon({ url, connections, duration: seconds, headers, requests });
    const { errors, timeouts, non2xx, latency } = result;
    if (errors + timeouts + non2xx > 0) {
      throw new Error(`${url}${paths[0]}: ${non2xx} answers were not 2xx, ${errors} failed, ${timeouts} timed out`);
    }
    const cpuAfter = cpuMicrosOf(pid);
    const answered = result['2xx'];
    return {
      perSecond: answered / result.duration,
      p50Ms: latency.p50,
      p99Ms: latency.p99,
      cpuMicrosPerRequest: cpuAfter && cpuBefore ? (cpuAfter - cpuBefore) / answered : undefined,
      residentMb,
    };
  } finally {
    clearInterval(sampling);
  }
}

const IS_LINUX = process.platform === 'linux';

function residentMbOf(pid: number): number {
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
