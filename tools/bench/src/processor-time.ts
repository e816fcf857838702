import { readdirSync, readFileSync } from 'node:fs';
import { bind, sqlStatement, type Database } from '@banking/postgres';

/** Linux counts the time of a process in hundredths of a second, whatever its kernel's own clock (proc(5), USER_HZ). */
const MICROS_PER_TICK = 10_000;

/** Processor time in microseconds, which depends less on other load than the time that passes. */
export interface ProcessorTime {
  /** Of a process of the service. */
  readonly service: number;
  /** Of all processes of the database server. */
  readonly database: number;
}

const BACKEND = sqlStatement<{ pid: number }>('bench_backend', 'select pg_backend_pid() as pid');

/** The process of a database server on this machine, of which every session is a child. Linux only. */
export async function postmasterOf(database: Database): Promise<number> {
  const backend = await database.read({}, bind(BACKEND));
  const [stat] = statOf(backend?.pid ?? 0);
  if (!stat) throw new Error('the database server runs on another machine, or this is not Linux');
  return stat.parent;
}

/** The processor time so far of a process and of a database server. */
export function processorTime(pid: number, postmaster: number): ProcessorTime {
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
