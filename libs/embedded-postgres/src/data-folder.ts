import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { makeDataDir } from '@banking/process';
import { EmbeddedServerError } from './embedded-server-error.js';
import { canEnter, chooseServerUser, giveTo, type ServerUser } from './server-user.js';

/** Names the socket file only: the server has no TCP port. */
export const PORT = 5432;

/** sun_path holds 108 bytes on Linux, 104 on macOS, the last one a zero. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103;

/** The folders of a server, in DATA_DIR. */
export interface DataFolder {
  readonly dataDir: string;
  /** Undefined: the server runs as the user of this process. */
  readonly user: ServerUser | undefined;
  /** PostgreSQL's own data directory. */
  readonly database: string;
  /** Outside of DATA_DIR where its path is too long. */
  readonly socket: string;
  readonly log: string;
}

/**
 * Makes DATA_DIR and the folder of the socket.
 *
 * @throws EmbeddedServerError before it makes anything, where the user of the server could not enter DATA_DIR
 */
export function openDataFolder(wanted: string): DataFolder {
  const path = resolve(wanted);
  refuseUnreachable(serverUserOf(path), folderAbove(existsSync(path) ? realpathSync(path) : path));
  const dataDir = makeDataDir(path);
  const user = serverUserOf(dataDir);
  refuseUnreachable(user, dataDir);
  const socket = openSocketFolder(dataDir, user);
  return { dataDir, user, database: join(dataDir, 'database'), socket, log: join(dataDir, 'server.log') };
}

const serverUserOf = (dataDir: string) => chooseServerUser([join(dataDir, 'database'), dataDir]);

/** The nearest folder above a path that exists. */
function folderAbove(path: string): string {
  const above = dirname(path);
  return existsSync(above) && statSync(above).isDirectory() ? above : folderAbove(above);
}

/**
 * A folder that only the server's user can enter, with a path short enough for a socket. It is the same at every run, so that a
 * restarted server has the same address.
 */
function openSocketFolder(dataDir: string, user: ServerUser | undefined): string {
  const short = `banking-${createHash('sha256').update(dataDir).digest('hex').slice(0, 16)}`;
  const folders = [join(dataDir, 'socket'), join(tmpdir(), short), join('/tmp', short)];
  const fits = (folder: string) => Buffer.byteLength(join(folder, `.s.PGSQL.${PORT}`)) <= SOCKET_PATH_BYTES_MAX;
  const folder = folders.find((one) => fits(one) && canEnter(user, dirname(one)));
  if (folder === undefined) {
    throw new EmbeddedServerError(
      `The path of DATA_DIR ${dataDir} is too long for a socket, and so is ${tmpdir()}: ` +
        'set DATA_DIR to a folder with a path of less than 80 bytes.',
    );
  }
  ensurePrivateFolder(folder, user);
  return folder;
}

/** Whether it is a folder, no link, of one of these owners, and has none of the modes forbidden. */
export function isOurs(path: string, owners: readonly number[], forbiddenMode: number): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && stat.isDirectory() && owners.includes(stat.uid) && (stat.mode & forbiddenMode) === 0;
}

/**
 * Makes a folder that only its owner can enter, or checks that the existing one is such a folder: no link, and not another user's.
 *
 * @throws EmbeddedServerError when it belongs to another user, is open to others, or is a file.
 */
function ensurePrivateFolder(path: string, owner: ServerUser | undefined): void {
  try {
    mkdirSync(path, { mode: 0o700 });
    chmodSync(path, 0o700);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const stat = lstatSync(path);
  if (stat.isFile()) {
    throw new EmbeddedServerError(`${path} is a file where a folder has to be: move it away and start again.`);
  }
  const self = process.geteuid?.() ?? -1;
  // Also a folder of a process that was killed before this step.
  if (stat.isDirectory() && stat.uid === self) giveTo(owner, path);
  if (isOurs(path, [owner?.uid ?? self], 0o077)) return;
  throw new EmbeddedServerError(
    `${path} belongs to another user or is open to others, and is not used for that reason: ` +
      'run as the user it belongs to, give it to this user alone (chown, chmod go-rwx), or set DATA_DIR to another folder.',
  );
}

/** Makes a folder for what is renamed once it is complete, and removes those of processes that have ended. */
export function makeDraft(folder: string, prefix: string): string {
  for (const name of readdirSync(folder).filter((one) => one.startsWith(prefix))) {
    const pid = Number.parseInt(name.slice(prefix.length), 10);
    // An initdb whose parent was killed may still write there: it ends when its folder is removed.
    const options = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 };
    if (!exists(pid)) rmSync(join(folder, name), options);
  }
  return mkdtempSync(join(folder, `${prefix}${process.pid}-`));
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // a process of another user
  }
}

/** @throws EmbeddedServerError naming the first folder on the path that the user of root's server cannot enter */
function refuseUnreachable(user: ServerUser | undefined, folder: string): void {
  if (canEnter(user, folder)) return;
  let closed = folder;
  while (dirname(closed) !== closed && !canEnter(user, dirname(closed))) closed = dirname(closed);
  throw new EmbeddedServerError(
    `PostgreSQL refuses to run as root, so the database server runs as the user ${user?.name}, who cannot enter ${closed}: ` +
      `let other users pass through it (chmod o+x ${closed}), start as an ordinary user, ` +
      'or set DATA_DIR to a folder that every user can enter, such as /srv/banking.',
  );
}
