import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { EmbeddedServerError } from './embedded-server-error.js';
import { ensurePrivateFolder, isOurs, makeFolders, readOwnNote, writeNote } from './private-folder.js';
import { canEnter, chooseServerUser, giveTo, type ServerUser } from './server-user.js';

/** Names the socket file only: the server has no TCP port. */
export const PORT = 5432;

/** sun_path holds 108 bytes on Linux, 104 on macOS, the last one a zero. */
const SOCKET_PATH_BYTES_MAX = process.platform === 'linux' ? 107 : 103;

/** The prefix of our folders outside DATA_DIR; mkdtemp adds a random suffix. */
const SHORT = 'banking-';

/** Where root may keep a database that its server's user cannot reach in DATA_DIR; no folder that the system cleans up. */
const SYSTEM_FOLDERS = ['/var/lib', '/var/db'];

/**
 * The folders of a server. `run` is always in DATA_DIR; the rest is in `home`, which is DATA_DIR too unless the server runs as another
 * user who cannot enter it.
 */
export interface DataFolder {
  readonly dataDir: string;
  /** Undefined: the server runs as the user of this process. */
  readonly user: ServerUser | undefined;
  /** The attached processes, the lock and the server's identity: empty files and links only. */
  readonly run: string;
  readonly home: string;
  /** PostgreSQL's own data directory. */
  readonly database: string;
  readonly log: string;
}

/**
 * Makes DATA_DIR and its run folder, which the lock needs.
 *
 * Root's server runs as another user, who must be able to pass through DATA_DIR: a new or empty DATA_DIR gets the mode 711. Every
 * folder inside is private.
 */
export function openRunFolder(dataDir: string): { dataDir: string; run: string } {
  const root = process.geteuid?.() === 0;
  const wanted = resolve(dataDir);
  makeFolders(wanted, root ? 0o711 : 0o700);
  const real = realpathSync(wanted);
  const { uid, mode } = lstatSync(real);
  if (root && uid === 0 && readdirSync(real).length === 0) chmodSync(real, (mode & 0o7777) | 0o711);
  const run = join(real, 'run');
  ensurePrivateFolder(run, 0o700, ownerOf(real));
  return { dataDir: real, run };
}

/** Under the lock: decides the user of the server and the folder of its files, and records that in DATA_DIR. */
export function openDataFolder(dataDir: string, run: string, log: (line: string) => void): DataFolder {
  const pointer = join(dataDir, 'database-folder');
  const pointed = readOwnNote(pointer);
  const inside = join(dataDir, 'database');
  const user = chooseServerUser(pointed === undefined ? [inside, dataDir] : [join(pointed, 'database')]);

  let home = dataDir;
  if (pointed !== undefined) home = checkSystemFolder(pointed, pointer, dataDir);
  else if (!canEnter(user, dataDir)) {
    if (lstatSync(inside, { throwIfNoEntry: false }) !== undefined) throw unreachable(user, dataDir);
    home = makeSystemFolder(user, dataDir);
    writeNote(pointer, home);
    log(`user ${user?.name} cannot enter ${dataDir}: the database is kept in ${home} instead (${pointer} says so)`);
  }
  return { dataDir, user, run, home, database: join(home, 'database'), log: join(home, 'server.log') };
}

/**
 * Under the lock: a folder that only the server's user can enter, with a path short enough for a socket. It is the same at every run, so
 * that a restarted server has the same address.
 */
export function openSocketFolder(folder: DataFolder): string {
  const inside = join(folder.home, 'socket');
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

/** The system folders where root may keep the files that the server's user must reach; none for other users. */
export function systemFolders(user: ServerUser | undefined): readonly string[] {
  if (user === undefined) return [];
  return SYSTEM_FOLDERS.filter((folder) => isOurs(folder, [0], 0o002) && canEnter(user, folder));
}

function makeSystemFolder(user: ServerUser | undefined, dataDir: string): string {
  for (const parent of systemFolders(user)) {
    const home = mkdtempSync(join(parent, SHORT));
    try {
      chmodSync(home, 0o711);
      writeNote(join(home, 'data-dir'), dataDir);
      return home;
    } catch (error) {
      rmSync(home, { recursive: true, force: true });
      throw error;
    }
  }
  throw unreachable(user, dataDir);
}

function checkSystemFolder(home: string, pointer: string, dataDir: string): string {
  if (lstatSync(home, { throwIfNoEntry: false }) === undefined) {
    throw new EmbeddedServerError(
      `The database of DATA_DIR ${dataDir} was kept in ${home}, which is gone: bring it back, ` +
        `or remove ${pointer} to begin with an empty database.`,
    );
  }
  if (!isOurs(home, [0, process.geteuid?.() ?? -1], 0o022)) {
    throw new EmbeddedServerError(
      `${home}, where the database of DATA_DIR ${dataDir} is kept, belongs to another user or is open to others: ` +
        'give it back to root (chown root, chmod 711), or run as the user it belongs to.',
    );
  }
  const back = readOwnNote(join(home, 'data-dir'));
  if (back !== dataDir && back !== undefined && lstatSync(join(back, 'database-folder'), { throwIfNoEntry: false })) {
    throw new EmbeddedServerError(
      `${pointer} points to ${home}, which is the database of ${back}: DATA_DIR ${dataDir} seems to be a copy of it. ` +
        `Remove ${pointer} to begin with an empty database.`,
    );
  }
  return home;
}

function unreachable(user: ServerUser | undefined, dataDir: string): EmbeddedServerError {
  return new EmbeddedServerError(
    `User ${user?.name}, whom the database server runs as, cannot enter DATA_DIR ${dataDir}: ` +
      'let everyone pass through the folders above it (chmod o+x), or set DATA_DIR to a folder such as /var/lib/banking.',
  );
}

/** For root: the owner of the folder, who must be able to use what root makes in it. */
function ownerOf(path: string): ServerUser | undefined {
  const { uid, gid } = lstatSync(path);
  return process.geteuid?.() === 0 && uid !== 0 ? { name: String(uid), uid, gid } : undefined;
}
