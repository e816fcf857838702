import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Linux counts the time of a process in hundredths of a second, whatever its kernel's own clock (proc(5), USER_HZ). */
const MICROS_PER_TICK = 10_000;

/** Processor time in microseconds, which depends less on other load than the time that passes. */
export interface ProcessorTime {
  /** Of a process of the service. */
  readonly service: number;
  /** Of all processes of the database server. */
  readonly database: number;
}

/** The processor time so far of a process and of the embedded server of a data folder. Linux only. */
export function processorTime(pid: number, dataDir: string): ProcessorTime {
  const postmaster = Number(readFileSync(join(dataDir, 'database/postmaster.pid'), 'utf8').split('\n')[0]);
  const running = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => statOf(name))
    .filter(({ parent }) => parent === postmaster);
  const [server] = statOf(postmaster);
  const children = running.reduce((sum, { ticks }) => sum + ticks, 0);
  return {
    service: (statOf(pid)[0]?.ticks ?? 0) * MICROS_PER_TICK,
    database: (children + (server ? server.ticks + server.ended : 0)) * MICROS_PER_TICK,
  };
}

/** The figures of a process; none if it has ended. `ended` is the time of its children that have ended. */
function statOf(pid: number | string): { parent: number; ticks: number; ended: number }[] {
  try {
    const fields = (readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1) ?? '').split(' ').map(Number);
    const [parent = 0, utime = 0, stime = 0, cutime = 0, cstime = 0] = [1, 11, 12, 13, 14].map((at) => fields[at]);
    return [{ parent, ticks: utime + stime, ended: cutime + cstime }];
  } catch {
    return [];
  }
}
