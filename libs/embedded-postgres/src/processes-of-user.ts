import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

interface RunningProcess {
  readonly pid: number;
  readonly name: string;
}

/** The programs of an embedded server: PostgreSQL, initdb, and the shell that both start. */
const OURS = ['postgres', 'initdb', 'sh'];

/** A new process runs one of these programs after this time. */
const EXEC_MS = 100;

/** The programs that run as a user and do not belong to an embedded server. */
export function othersRunningAs(uid: number): readonly RunningProcess[] {
  const first = listOthers(uid);
  if (first.length === 0) return [];
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXEC_MS);
  return listOthers(uid).filter(({ pid }) => first.some((one) => one.pid === pid));
}

function listOthers(uid: number): RunningProcess[] {
  const all = process.platform === 'linux' ? listLinux(uid) : listElsewhere(uid);
  return all.filter(({ name }) => !OURS.includes(name));
}

/** proc_pid_status(5): the four user ids are the real, the effective, the saved and that of the file system. */
function listLinux(uid: number): RunningProcess[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const status = readFileSync(`/proc/${entry}/status`, 'latin1');
      const [, name = ''] = /^Name:\t(.*)$/m.exec(status) ?? [];
      const [, uids = ''] = /^Uid:\t(.*)$/m.exec(status) ?? [];
      return uids.split('\t').includes(String(uid)) ? [{ pid: Number(entry), name }] : [];
    } catch {
      return []; // The process has ended.
    }
  });
}

function listElsewhere(uid: number): RunningProcess[] {
  const env = { PATH: '/bin:/usr/bin', LC_ALL: 'C' };
  const { stdout } = spawnSync('ps', ['-axo', 'pid=,uid=,comm='], { encoding: 'utf8', env });
  return (stdout ?? '').split('\n').flatMap((line) => {
    const [, pid, owner, path = ''] = /^\s*(\d+)\s+(-?\d+)\s+(.*)$/.exec(line) ?? [];
    return pid !== undefined && Number(owner) >>> 0 === uid >>> 0
      ? [{ pid: Number(pid), name: path.split('/').at(-1) ?? '' }]
      : [];
  });
}
