import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * A process: its number and the time of its start. A reused number has another start, and so has the same number after a reboot.
 */
export interface ProcessIdentity {
  readonly pid: number;
  /** Letters, digits and dots only, for file names. */
  readonly started: string;
}

/** Writes the identity for file names and links. */
export function writeIdentity({ pid, started }: ProcessIdentity): string {
  return `${pid}-${started}`;
}

/** Reads an identity at the start of a name; undefined when there is none. */
export function parseIdentity(text: string): ProcessIdentity | undefined {
  const [, pid, started] = /^([1-9]\d*)-([A-Za-z0-9.]+)(?:-|$)/.exec(text) ?? [];
  return pid === undefined || started === undefined ? undefined : { pid: Number(pid), started };
}

type Sighting = ProcessIdentity | 'gone' | 'hidden';

let bootId: string | undefined;
let own: ProcessIdentity | undefined;

/** The identity of a running process; undefined for no process, a zombie, or a process that is not visible. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  const sighting = sight(pid);
  return typeof sighting === 'string' ? undefined : sighting;
}

/** The identity of this process. */
export function ownIdentity(): ProcessIdentity {
  own ??= identityOf(process.pid) ?? { pid: process.pid, started: 'unknown' };
  return own;
}

/** False only when it is proven that the process has ended: a hidden process counts as alive. */
export function isAlive(identity: ProcessIdentity): boolean {
  const sighting = sight(identity.pid);
  if (sighting === 'gone') return false;
  return sighting === 'hidden' || identity.started === 'unknown' || sighting.started === identity.started;
}

function sight(pid: number): Sighting {
  if (process.platform === 'linux') return sightLinux(pid);
  return exists(pid) ? sightElsewhere(pid) : 'gone';
}

/** proc_pid_stat(5): field 3 is the state, field 22 the start in ticks since boot; the name in field 2 may hold anything. */
function sightLinux(pid: number): Sighting {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return exists(pid) ? 'hidden' : 'gone';
  }
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, ticks] = [fields[0], fields[19]];
  if (state === 'Z' || state === 'X') return 'gone';
  bootId ??= readBootId();
  return { pid, started: `${ticks}.${bootId}` };
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').slice(0, 8);
  } catch {
    return '0';
  }
}

function sightElsewhere(pid: number): Sighting {
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C', TZ: 'UTC' };
  const { status, stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8', env });
  const line = status === 0 ? stdout.trim() : '';
  if (line === '') return exists(pid) ? 'hidden' : 'gone';
  if (line.startsWith('Z')) return 'gone';
  return { pid, started: line.replace(/^\S+/, '').replace(/[^A-Za-z0-9]/g, '') };
}

/** EPERM: a process of another user. */
function exists(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
