import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { makeFolders } from '@banking/process';

/**
 * Makes a folder, and the missing folders above it. `mkdir` with `recursive` would never end below /proc.
 *
 * @returns whether it was missing
 */
export async function ensureFolder(path: string): Promise<boolean> {
  if (await exists(path)) return false;
  makeFolders(resolve(path));
  return true;
}

export async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
