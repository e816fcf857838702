import { existsSync } from 'node:fs';
import { type FileHandle, link, open, unlink } from 'node:fs/promises';
import { Refused } from './refused.js';

/**
 * Creates a file that only its owner can read. It has a temporary name until the work is done, so that it is complete or absent.
 * An existing file is never replaced, also if it was created meanwhile.
 *
 * @throws Refused if a file of that name exists, or the file cannot be written
 */
export async function createFile<T>(
  path: string,
  work: (write: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  if (existsSync(path)) throw alreadyExists(path);
  const part = `${path}.${process.pid}.part`;
  const file = await done(path, open(part, 'wx', 0o600));
  try {
    const result = await work((text) => done(path, file.appendFile(text)));
    await done(path, closed(file));
    // Unlike a rename, a link does not replace an existing file.
    await done(path, link(part, path));
    return result;
  } finally {
    await file.close().catch(() => undefined);
    await unlink(part);
  }
}

async function closed(file: FileHandle): Promise<void> {
  await file.sync();
  await file.close();
}

async function done<T>(path: string, step: Promise<T>): Promise<T> {
  try {
    return await step;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw alreadyExists(path);
    throw new Refused(`The file ${path} cannot be written: ${(error as Error).message}.`);
  }
}

function alreadyExists(path: string): Refused {
  return new Refused(`The file ${path} exists already and is not replaced. Choose another name.`);
}
