import { accessSync, closeSync, constants, fstatSync, openSync, readSync, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const MAX_BYTES = 16_384;
/** A file that names many databases, or the reference data of a deployment. */
const DOCUMENT_MAX_BYTES = 4 * 1024 * 1024;
/** The bits that let the group or other users write. */
const OTHERS_WRITE = 0o022;
/** The bit of a folder by which only the owner of a file may replace it. */
const STICKY = 0o1000;

/** A file that holds no usable secret. The message continues a sentence that names the file, and never quotes its content. */
export class SecretFileError extends Error {
  override readonly name = 'SecretFileError';
}

/**
 * The secret in a file, without the newline at its end.
 *
 * Other users may read the file, because Kubernetes and Docker mount secrets with the modes 0644 and 0444, and only the
 * container sees them. Other users may not write it or replace it in its folder, because its content decides which server gets the
 * money, or who may sign in.
 *
 * @throws SecretFileError
 */
export function readSecretFile(path: string): string {
  const text = contentOf(path, MAX_BYTES).replace(/\r?\n$/, '');
  if (text.trim() === '') throw new SecretFileError('is empty');
  if (/\p{Cc}/u.test(text)) throw new SecretFileError('has more than one line, or a control character');
  return text;
}

/** A document of several lines. The same users may read and write it. @throws SecretFileError */
export function readDocument(path: string): string {
  return contentOf(path, DOCUMENT_MAX_BYTES);
}

function contentOf(path: string, maxBytes: number): string {
  try {
    // Does not wait for a writer if the file is a pipe.
    for (const folder of new Set([path, realpathSync(path)].map(dirname))) checkFolder(folder);
    const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    try {
      checkFile(file, maxBytes);
      const buffer = Buffer.alloc(Math.min(maxBytes, fstatSync(file).size));
      return textOf(buffer.subarray(0, readSync(file, buffer)));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if (error instanceof SecretFileError) throw error;
    throw new SecretFileError(`cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new SecretFileError('is not UTF-8');
  }
}

function checkFile(file: number, maxBytes: number): void {
  const about = fstatSync(file);
  if (!about.isFile()) throw new SecretFileError('is no regular file');
  if (about.size > maxBytes) throw new SecretFileError(`is longer than ${maxBytes} bytes`);
  if ((about.mode & OTHERS_WRITE) !== 0) {
    throw new SecretFileError('can be written by other users (run chmod go-w on it)');
  }
}

/** Kubernetes mounts folders that all users may write, on a file system that is read-only. */
function checkFolder(folder: string): void {
  const { mode } = statSync(folder);
  if ((mode & OTHERS_WRITE) === 0 || (mode & STICKY) !== 0 || isReadOnly(folder)) return;
  throw new SecretFileError('is in a folder that other users can write (run chmod go-w on the folder)');
}

function isReadOnly(folder: string): boolean {
  try {
    accessSync(folder, constants.W_OK);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EROFS';
  }
}
