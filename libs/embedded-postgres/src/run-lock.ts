import { randomBytes } from 'node:crypto';
import { readlinkSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedServerError } from './embedded-server-error.js';
import { isAlive, ownIdentity, parseIdentity, writeIdentity } from './process-identity.js';
import { removeLink } from './remove-link.js';

export interface LockOptions {
  readonly log: (line: string) => void;
  /** Longer than another process may take to start or stop a server. */
  readonly waitMs?: number;
}

/**
 * Runs `work` while no other process, and no other call in this one, works on the same run folder.
 *
 * The lock is a symbolic link that names its owner: making a link is atomic and needs no space on a full disk. A lock whose owner is
 * proven dead is removed.
 *
 * @throws EmbeddedServerError when the lock is not free within `waitMs`.
 */
export async function underLock<T>(run: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const { log, waitMs = 180_000 } = options;
  const path = join(run, 'lock');
  const claim = `${writeIdentity(ownIdentity())}-${randomBytes(6).toString('hex')}`;
  const since = Date.now();
  let isLogged = false;
  while (!take(path, claim)) {
    removeDeadLock(path, claim);
    const waitedMs = Date.now() - since;
    if (waitedMs > waitMs) throw lockTimeout(path, waitMs);
    if (waitedMs > 2_000 && !isLogged) {
      isLogged = true;
      log(`waiting for ${ownerOf(path)}, which is starting or stopping the database server`);
    }
    await sleep(20);
  }
  try {
    return await work();
  } finally {
    removeLink(path);
  }
}

function take(path: string, claim: string): boolean {
  try {
    symlinkSync(claim, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes the lock of a dead owner. Of two processes that see the same dead lock, the second could remove the lock that the first has
 * taken since. A lock is therefore removed under a second lock, and read again there.
 */
function removeDeadLock(path: string, claim: string): void {
  if (!isDead(read(path))) return;
  const breaking = `${path}-breaking`;
  if (!take(breaking, claim)) {
    if (isDead(read(breaking))) removeLink(breaking);
    return;
  }
  try {
    if (isDead(read(path))) removeLink(path);
  } finally {
    removeLink(breaking);
  }
}

/** A claim that names no process has no living owner. */
function isDead(claim: string | undefined): boolean {
  if (claim === undefined) return false;
  const owner = parseIdentity(claim);
  return owner === undefined || !isAlive(owner);
}

/** Undefined when there is no lock. */
function read(path: string): string | undefined {
  try {
    return readlinkSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    if (code === 'EINVAL') return ''; // a file where a link belongs
    throw error;
  }
}

function ownerOf(path: string): string {
  const pid = parseIdentity(read(path) ?? '')?.pid;
  return pid === undefined ? 'another process' : `process ${pid}`;
}

function lockTimeout(path: string, waitMs: number): EmbeddedServerError {
  return new EmbeddedServerError(
    `The database server has been started or stopped by ${ownerOf(path)} for more than ${Math.round(waitMs / 1000)} seconds ` +
      `(${path}): check whether that process still works, end it if it does not, and start again.`,
  );
}
