import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { EmbeddedServerError } from './embedded-server-error.js';
import { giveTo, type ServerUser } from './server-user.js';

/** Whether it is a folder, no link, of one of these owners, and has none of the modes forbidden. */
export function isOurs(path: string, owners: readonly number[], forbiddenMode: number): boolean {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat !== undefined && stat.isDirectory() && owners.includes(stat.uid) && (stat.mode & forbiddenMode) === 0;
}

/**
 * Makes a folder that only its owner can write to, or checks that the existing one is such a folder: no link, and not another user's.
 *
 * @throws EmbeddedServerError when it belongs to another user, is open to others, or is a file.
 */
export function ensurePrivateFolder(path: string, mode: number, owner?: ServerUser): void {
  try {
    mkdirSync(path, { mode: 0o700 });
    chmodSync(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  const stat = lstatSync(path);
  if (stat.isFile()) {
    throw new EmbeddedServerError(`${path} is a file where a folder has to be: move it away and start again.`);
  }
  // Also a folder of a process that was killed before this step.
  if (stat.isDirectory() && stat.uid === process.geteuid?.()) giveTo(owner, path);
  const owners = [process.geteuid?.() ?? -1, owner?.uid ?? -1];
  if (!isOurs(path, owners, ~mode & 0o077)) {
    throw new EmbeddedServerError(
      `${path} belongs to another user or is open to others, and is not used for that reason: ` +
        'run as the user it belongs to, give it to this user alone (chown, chmod go-rwx), or set DATA_DIR to another folder.',
    );
  }
}

/** Reads a small file that we, root or the server's user wrote; a link or another user's file is refused. */
export function readOwnNote(path: string, user?: ServerUser): string | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    if (![0, process.geteuid?.(), user?.uid].includes(fstatSync(descriptor).uid)) {
      throw new EmbeddedServerError(
        `${path} was written by another user and is not used: check it, and remove it or run as that user.`,
      );
    }
    return readFileSync(descriptor, 'utf8').trim();
  } finally {
    closeSync(descriptor);
  }
}

/** Writes a small file as a whole: a reader sees the old note or the new one. */
export function writeNote(path: string, text: string): void {
  const half = `${path}.${randomBytes(6).toString('hex')}`;
  writeFileSync(half, `${text}\n`, { flag: 'wx', mode: 0o644 });
  renameSync(half, path);
}
