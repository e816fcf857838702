import { readdirSync, readFileSync } from 'node:fs';
import type { Violation } from './check-orders.js';
import type { Cluster } from './cluster.js';

/** What a process holds at a time. */
export interface ResourceSample {
  readonly process: string;
  readonly pid: number;
  readonly atMs: number;
  readonly rssBytes: number;
  readonly handles: number;
}

const MIB = 1024 * 1024;
const WARM_UP_MS = 5 * 60_000;
/** A shorter time says little about growth. */
const MEASURED_LEAST_MS = 3 * 60_000;
const RSS_PER_MINUTE_MAX = 1;
const HANDLES_PER_MINUTE_MAX = 1;

/** The resources of the processes that run now. Empty where the system has no /proc. */
export function sampleResources({ members }: Pick<Cluster, 'members'>, atMs: number): ResourceSample[] {
  return members.flatMap(({ process: { name, pid } }) => {
    try {
      if (pid === undefined) return [];
      const rssKb = Number(/^VmRSS:\s+([0-9]+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]);
      return [{ process: name, pid, atMs, rssBytes: rssKb * 1024, handles: readdirSync(`/proc/${pid}/fd`).length }];
    } catch {
      // It has just ended.
      return [];
    }
  });
}

export interface Growth {
  /** Processes that ran long enough after their first five minutes. */
  readonly measured: number;
  readonly violations: readonly Violation[];
}

/** The growth of each process after its first five minutes, as the slope of the samples. A process that was started again is another. */
export function growthOf(samples: readonly ResourceSample[]): Growth {
  const lives = new Map<number, ResourceSample[]>();
  for (const sample of samples) lives.set(sample.pid, [...(lives.get(sample.pid) ?? []), sample]);
  const violations: Violation[] = [];
  let measured = 0;
  for (const [first, ...others] of lives.values()) {
    if (first === undefined) continue;
    const steady = others.filter(({ atMs }) => atMs >= first.atMs + WARM_UP_MS);
    if ((steady.at(-1)?.atMs ?? 0) - (steady[0]?.atMs ?? 0) < MEASURED_LEAST_MS) continue;
    measured += 1;
    const rss = perMinute(steady, ({ rssBytes }) => rssBytes / MIB);
    const handles = perMinute(steady, (sample) => sample.handles);
    if (rss >= RSS_PER_MINUTE_MAX) violations.push(grows(first, `${rss.toFixed(2)} MiB of memory`));
    if (handles >= HANDLES_PER_MINUTE_MAX) violations.push(grows(first, `${handles.toFixed(1)} open files`));
  }
  return { measured, violations };
}

const grows = ({ process }: ResourceSample, by: string): Violation => ({
  check: 'growth',
  detail: `${process} grew by ${by} a minute after its first five minutes`,
});

/** Least squares. */
function perMinute(samples: readonly ResourceSample[], valueOf: (sample: ResourceSample) => number): number {
  const minutes = samples.map(({ atMs }) => atMs / 60_000);
  const values = samples.map(valueOf);
  const mean = (all: readonly number[]) => all.reduce((sum, one) => sum + one, 0) / all.length;
  const [minute, value] = [mean(minutes), mean(values)];
  const covariance = minutes.reduce((sum, at, index) => sum + (at - minute) * ((values[index] ?? 0) - value), 0);
  const variance = minutes.reduce((sum, at) => sum + (at - minute) ** 2, 0);
  return variance === 0 ? 0 : covariance / variance;
}
