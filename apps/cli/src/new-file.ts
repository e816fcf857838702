import { existsSync } from 'node:fs';
import { type FileHandle, link, open, unlink } from 'node:fs/promises';
import { Refused } from './refused.js';

/**
 * Makes a file that nobody but its owner can read: whole, or not at all. Until the work is done it has another name; a file that is
 * there already is never replaced, also when it came in between.
 *
 * @throws Refused when there is a file of that name, or it cannot be written
 */
export async function makeFile<T>(
  path: string,
  work: (write: (text: string) => Promise<void>) => Promise<T>,
): Promise<T> {
  if (existsSync(path)) throw alreadyThere(path);
  const part = `${path}.${process.pid}.part`;
  const file = await done(path, open(part, 'wx', 0o600));
  try {
    const result = await work((text) => done(path, file.appendFile(text)));
    await done(path, closed(file));
    // Unlike a rename, a link does not replace what is there.
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
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw alreadyThere(path);
    throw new Refused(`${path} cannot be written: ${(error as Error).message}.`);
  }
}

function alreadyThere(path: string): Refused {
  return new Refused(`There is a file ${path} already, which is not replaced. Name another one.`);
}
