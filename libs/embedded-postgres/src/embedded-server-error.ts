import { existsSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';

/** The reason why the embedded server cannot run. The message states what to do. */
export class EmbeddedServerError extends Error {
  override readonly name = 'EmbeddedServerError';
}

/** The advice that always works: another server. */
export const SET_DATABASE_URL = 'set DATABASE_URL to a PostgreSQL 15 or later';

/** The error for a full disk. */
export function diskFull(folder: string, cause?: unknown): EmbeddedServerError {
  return new EmbeddedServerError(
    `The disk under ${folder} is full: free at least 200 MB and start again, or set DATA_DIR to a folder on another disk.`,
    { cause },
  );
}

/** Whether so little space is free that it is the likely reason why a server does not start. */
export function isDiskFull(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize < 1_000_000;
  } catch {
    return false;
  }
}

/** Explains an error of the file system about `folder`; any other error is returned unchanged. */
export function explainFileError(error: unknown, folder: string): unknown {
  if (error instanceof EmbeddedServerError) return error;
  const { code, path, syscall } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'EACCES':
    case 'EPERM':
    case 'EROFS':
      return new EmbeddedServerError(
        `DATA_DIR ${folder} cannot be written (${code}${path === undefined ? '' : ` at ${path}`}): ` +
          'run as the user it belongs to, or set DATA_DIR to a folder this user may write.',
        { cause: error },
      );
    case 'ENOTDIR':
    case 'EEXIST':
      return new EmbeddedServerError(
        `DATA_DIR ${folder} cannot be a folder, because ${existingPartOf(path ?? folder)} is a file: ` +
          'set DATA_DIR to a folder, or move the file away.',
        { cause: error },
      );
    case 'ENOENT':
      // Such as below /proc, where no folder can be made.
      if (syscall === 'mkdir' && path !== undefined && existsSync(dirname(path))) {
        return new EmbeddedServerError(
          `DATA_DIR ${folder} cannot be made (${code} at ${path}): set DATA_DIR to a folder elsewhere.`,
          { cause: error },
        );
      }
      return new EmbeddedServerError(
        `DATA_DIR ${folder} is not there any more, or leads nowhere (${path ?? code}): bring it back and start again, ` +
          'or set DATA_DIR to another folder.',
        { cause: error },
      );
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(folder, error);
    default:
      return error;
  }
}

/** The end of a path that exists: for a path below a file, that file. */
function existingPartOf(path: string): string {
  return existsSync(path) ? path : existingPartOf(dirname(path));
}
