import { existsSync, lstatSync, mkdirSync, mkdtempSync, realpathSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { makeDataDir } from '@banking/process';
import { EmbeddedServerError } from './embedded-server-error.js';
import { ensurePrivateFolder, isOurs, readOwnNote, writeNote } from './private-folder.js';
import { canEnter, chooseServerUser, giveTo, type ServerUser } from './server-user.js';

/** Names the socket file only: the server has no TCP port. */
export const PORT = 5432;

/** sun_path holds 108 bytes on Linux, 104 on macOS, the last one a zero. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103;

/** The prefix of a socket folder outside DATA_DIR; mkdtemp adds a random suffix. */
const SHORT = 'banking-';

/** The folders of a server, all in DATA_DIR. */
export interface DataFolder {
  readonly dataDir: string;
  /** Undefined: the server runs as the user of this process. */
  readonly user: ServerUser | undefined;
  /** The attached processes, the lock and the server's identity: empty files and links only. */
  readonly run: string;
  /** PostgreSQL's own data directory. */
  readonly database: string;
  readonly log: string;
}

/**
 * Makes DATA_DIR and its run folder, which the lock needs.
 *
 * @throws EmbeddedServerError before it makes anything, where the user of the server could not enter it
 */
export function openRunFolder(dataDir: string): { dataDir: string; run: string } {
  const wanted = resolve(dataDir);
  const above = folderAbove(existsSync(wanted) ? realpathSync(wanted) : wanted);
  refuseUnreachable(serverUserOf(wanted), above);
  const real = makeDataDir(wanted);
  const run = join(real, 'run');
  ensurePrivateFolder(run, 0o700, ownerOf(real));
  return { dataDir: real, run };
}

/** Under the lock: decides the user of the server. @throws EmbeddedServerError where that user cannot enter DATA_DIR */
export function openDataFolder(dataDir: string, run: string): DataFolder {
  const user = serverUserOf(dataDir);
  refuseUnreachable(user, dataDir);
  return { dataDir, user, run, database: join(dataDir, 'database'), log: join(dataDir, 'server.log') };
}

const serverUserOf = (dataDir: string) => chooseServerUser([join(dataDir, 'database'), dataDir]);

/** The nearest folder above a path that exists. */
function folderAbove(path: string): string {
  const above = dirname(path);
  return existsSync(above) && statSync(above).isDirectory() ? above : folderAbove(above);
}

/**
 * Under the lock: a folder that only the server's user can enter, with a path short enough for a socket. It is the same at every run, so
 * that a restarted server has the same address.
 */
export function openSocketFolder(folder: DataFolder): string {
  const inside = join(folder.dataDir, 'socket');
  if (fits(inside)) {
    ensurePrivateFolder(inside, 0o700, folder.user);
    return inside;
  }
  const note = join(folder.dataDir, 'socket-folder');
  const parents = [tmpdir(), '/tmp'];
  const known = readOwnNote(note, folder.user);
  if (known !== undefined && isUsable(known, parents, folder.user)) return known;

  const parent = parents.find((one) => fits(join(one, `${SHORT}XXXXXX`)) && canEnter(folder.user, one));
  if (parent === undefined) {
    throw new EmbeddedServerError(
      `The path of DATA_DIR ${folder.dataDir} is too long for a socket, and so is ${tmpdir()}: ` +
        'set DATA_DIR to a folder with a path of less than 80 bytes.',
    );
  }
  const made = mkdtempSync(join(parent, SHORT));
  giveTo(folder.user, made);
  writeNote(note, made);
  return made;
}

function fits(socketFolder: string): boolean {
  return Buffer.byteLength(join(socketFolder, `.s.PGSQL.${PORT}`)) <= SOCKET_PATH_BYTES_MAX;
}

/**
 * Whether the recorded folder can be used; it is made again after a clean-up of /tmp. Never a folder that another user has made, nor
 * one with a name that this program does not choose.
 */
function isUsable(socketFolder: string, parents: readonly string[], user: ServerUser | undefined): boolean {
  const chosen = parents.includes(dirname(socketFolder)) && basename(socketFolder).startsWith(SHORT);
  if (!chosen || !fits(socketFolder)) return false;
  try {
    mkdirSync(socketFolder, { mode: 0o700 });
    giveTo(user, socketFolder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return false;
  }
  return isOurs(socketFolder, [user?.uid ?? process.geteuid?.() ?? -1], 0o077);
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

/** For root: the owner of the folder, who must be able to use what root makes in it. */
function ownerOf(path: string): ServerUser | undefined {
  const { uid, gid } = lstatSync(path);
  return process.geteuid?.() === 0 && uid !== 0 ? { name: String(uid), uid, gid } : undefined;
}
