/* eslint-disable house/plain-words -- "nobody" is the name of a Unix user */
import { spawnSync } from 'node:child_process';
import { lchownSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import { EmbeddedServerError, SET_DATABASE_URL } from './embedded-server-error.js';

/** The user of the server where this process runs as root: PostgreSQL refuses to run as root. */
export interface ServerUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/**
 * Chooses the user of the server; undefined where this process is not root, which is then the user itself. Root's server runs as the
 * owner of the first folder that exists and is not root's, so that a database keeps its user, else as `postgres`, else as `nobody`.
 *
 * @throws EmbeddedServerError when there is no such user
 */
export function chooseServerUser(folders: readonly string[]): ServerUser | undefined {
  if (process.geteuid?.() !== 0) return undefined;
  const users = listUsers();
  return ownerOf(folders, users) ?? fallbackUser(users);
}

const NOBODY = 'nobody';

/**
 * Daemons of several packages run as `nobody`. A server that is started as the same user could be read and changed by them.
 *
 * @throws EmbeddedServerError naming the other program
 */
export function refuseSharedUser(user: ServerUser | undefined): void {
  const [other] = user?.name === NOBODY ? othersRunningAs(user.uid) : [];
  if (other === undefined) return;
  throw new EmbeddedServerError(
    `The database server would run as ${NOBODY}, and so does ${other.name} (process ${other.pid}), which could then read and change ` +
      `the database: start as an ordinary user, or make a user postgres (useradd --system postgres) and give it the folder of the ` +
      `database, if there is one, or ${SET_DATABASE_URL}.`,
  );
}

/** The programs of an embedded server, and the shell that they start. */
const OURS = ['postgres', 'pg_ctl', 'initdb', 'sh'];

/** A new process runs one of these programs after this time. */
const EXEC_MS = 100;

/** The programs that run as a user and do not belong to an embedded server. Other systems than Linux have a user of PostgreSQL's own. */
function othersRunningAs(uid: number): readonly { readonly pid: number; readonly name: string }[] {
  if (process.platform !== 'linux') return [];
  const first = listOthers(uid);
  if (first.length === 0) return [];
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, EXEC_MS);
  return listOthers(uid).filter(({ pid }) => first.some((one) => one.pid === pid));
}

/** proc_pid_status(5): the four user ids are the real, the effective, the saved and that of the file system. */
function listOthers(uid: number): { pid: number; name: string }[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    try {
      const status = readFileSync(`/proc/${entry}/status`, 'latin1');
      const [, name = ''] = /^Name:\t(.*)$/m.exec(status) ?? [];
      const [, uids = ''] = /^Uid:\t(.*)$/m.exec(status) ?? [];
      return uids.split('\t').includes(String(uid)) && !OURS.includes(name) ? [{ pid: Number(entry), name }] : [];
    } catch {
      return []; // The process has ended.
    }
  });
}

function ownerOf(folders: readonly string[], users: readonly ServerUser[]): ServerUser | undefined {
  for (const folder of folders) {
    const stat = lstatSync(folder, { throwIfNoEntry: false });
    if (stat === undefined || stat.uid === 0) continue;
    const { uid, gid } = stat;
    return { name: users.find((one) => one.uid === uid)?.name ?? lookUpName(uid), uid, gid };
  }
  return undefined;
}

function fallbackUser(users: readonly ServerUser[]): ServerUser {
  const user = ['postgres', '_postgres', NOBODY].flatMap((name) => users.find((one) => one.name === name) ?? [])[0];
  if (user !== undefined && user.uid !== 0) return user;
  throw new EmbeddedServerError(
    `PostgreSQL refuses to run as root, and there is no user postgres or nobody to run it as: ` +
      `start as an ordinary user, or ${SET_DATABASE_URL}.`,
  );
}

/** The name of a user who is not in /etc/passwd but in another directory, such as on macOS or by LDAP. */
function lookUpName(uid: number): string {
  const { status, stdout } = spawnSync('id', ['-nu', String(uid)], {
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  });
  return status === 0 ? stdout.trim() : String(uid);
}

/** The options of `spawn` for that user. libuv drops every supplementary group with them. */
export function asUser(user: ServerUser | undefined): { uid?: number; gid?: number } {
  return user === undefined ? {} : { uid: user.uid, gid: user.gid };
}

/** Hands a path to the server's user; a symbolic link is never followed. */
export function giveTo(user: ServerUser | undefined, path: string): void {
  if (user !== undefined) lchownSync(path, user.uid, user.gid);
}

/** Whether the user can enter the folder. The kernel decides, which also knows access lists and mounts. */
export function canEnter(user: ServerUser | undefined, folder: string): boolean {
  if (user === undefined) return true;
  const { status, error } = spawnSync('/bin/sh', ['-c', 'cd -- "$1"', 'sh', folder], {
    ...asUser(user),
    cwd: '/',
    env: {},
    stdio: 'ignore',
  });
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  if (code === 'ENOENT') return true; // no shell: initdb reports the error
  if (code === 'EPERM') {
    throw new EmbeddedServerError(
      `PostgreSQL refuses to run as root, and this root may not become ${user.name}: ` +
        `start as an ordinary user, or ${SET_DATABASE_URL}.`,
    );
  }
  return status === 0;
}

function listUsers(): ServerUser[] {
  let passwd: string;
  try {
    passwd = readFileSync('/etc/passwd', 'utf8');
  } catch {
    return [];
  }
  return passwd.split('\n').flatMap((line) => {
    const [name, , uid, gid] = line.split(':');
    return name === undefined || name.startsWith('#') || uid === undefined || gid === undefined
      ? []
      : [{ name, uid: Number(uid), gid: Number(gid) }];
  });
}
