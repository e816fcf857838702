import { open } from 'node:fs/promises';

/** Makes the content of a file survive a power failure. */
export const syncFile = (path: string): Promise<void> => sync(path, 'r+');

/** Makes the names in a folder survive a power failure, after a file was made or renamed there. */
export const syncFolder = (path: string): Promise<void> => sync(path, 'r');

async function sync(path: string, flags: string): Promise<void> {
  const file = await open(path, flags);
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
