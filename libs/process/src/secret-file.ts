import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

const MAX_BYTES = 16_384;
/** The bits that let the group or other users write. */
const OTHERS_WRITE = 0o022;

/** A file that holds no usable secret. The message continues a sentence that names the file, and never quotes its content. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/**
 * The secret in a file, without the newline at its end.
 *
 * Other users may read the file, because Kubernetes and Docker mount secrets with the modes 0644 and 0444, and only the
 * container sees them. Other users may not write it, because its content decides which server gets the money.
 *
 * @throws SecretFileError
 */
export function readSecretFile(path: string): string {
  const text = contentOf(path).replace(/\r?\n$/, '');
  if (text.trim() === '') throw new SecretFileError('is empty');
  if (/\p{Cc}/u.test(text)) throw new SecretFileError('has more than one line, or a control character');
  return text;
}

function contentOf(path: string): string {
  try {
    // Does not wait for a writer if the file is a pipe.
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      checkFile(file);
      const buffer = Buffer.alloc(MAX_BYTES);
      return buffer.toString('utf8', 0, readSync(file, buffer));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof SecretFileError) throw error;
    throw new SecretFileError(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function checkFile(file: number): void {
  const about = fstatSync(file);
  if (!about.isFile()) throw new SecretFileError('is no regular file');
  if (about.size > MAX_BYTES) throw new SecretFileError(`is longer than ${MAX_BYTES} bytes`);
  if ((about.mode & OTHERS_WRITE) !== 0) {
    throw new SecretFileError('can be written by other users (run chmod go-w on it)');
  }
}
