import { unlinkSync } from 'node:fs';

/**
 * Removes a symbolic link if it exists. `rmSync` of Node 23, and of Node 24 before it was fixed, leaves a link whose target does not
 * exist, without an error (nodejs/node#61020).
 */
export function removeLink(path: string): void {
  try {
    unlinkSync(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
}
