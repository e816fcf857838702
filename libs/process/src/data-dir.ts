import { chmodSync, existsSync, lstatSync, mkdirSync, readdirSync, realpathSync } from 'node:fs';
import { link, open, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';

/**
 * Makes DATA_DIR, and the missing folders above it. Everything that writes to DATA_DIR calls this first, so that it is the same no matter
 * what writes first.
 *
 * The database server of root runs as another user, who must be able to pass through DATA_DIR: a new or empty DATA_DIR of root gets the
 * mode 711. All that is inside is private.
 *
 * @returns its path without links
 */
export function makeDataDir(dataDir: string): string {
  const isRoot = process.geteuid?.() === 0;
  const wanted = resolve(dataDir);
  makeFolders(wanted, isRoot ? 0o711 : 0o700);
  const real = realpathSync(wanted);
  const { uid, mode } = lstatSync(real);
  if (isRoot && uid === 0 && readdirSync(real).length === 0) chmodSync(real, (mode & 0o7777) | 0o711);
  return real;
}

/**
 * Creates a file in DATA_DIR that only its owner can read: as a draft that is linked to its place, so that of several processes the first
 * one wins. A file that root creates belongs to the owner of DATA_DIR, who must be able to use it.
 *
 * @returns false if the file exists
 */
export async function createPrivateFile(dataDir: string, name: string, text: string): Promise<boolean> {
  const folder = makeDataDir(dataDir);
  const draft = join(folder, `${name}.${process.pid}.${crypto.randomUUID()}`);
  try {
    const file = await open(draft, 'wx', 0o600);
    try {
      await file.writeFile(text);
      const { uid, gid } = await stat(folder);
      if (process.geteuid?.() === 0) await file.chown(uid, gid);
    } finally {
      await file.close();
    }
    await link(draft, join(folder, name));
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await rm(draft, { force: true });
  }
}

/**
 * Makes the folder and the missing folders above it.
 *
 * @param mode independent of the umask. Default: what the umask allows
 */
export function makeFolders(path: string, mode?: number): void {
  if (existsSync(path)) {
    // Fails when it is no folder.
    mkdirSync(path, { recursive: true });
    return;
  }
  makeFolders(dirname(path), mode);
  try {
    // One at a time: below /proc, `mkdirSync` with `recursive` never ends.
    mkdirSync(path, mode === undefined ? {} : { mode: 0o700 });
  } catch (error) {
    // Another process has made it.
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return;
    throw error;
  }
  if (mode !== undefined) chmodSync(path, mode);
}
