import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { EmbeddedServerError } from './embedded-server-error.js';
import { ownFileName } from './holders.js';
import { isAlive, ownIdentity, type ProcessIdentity } from './process-identity.js';

export interface LockOptions {
  readonly log: (line: string) => void;
  /** Longer than the holder may take to start or stop a server. */
  readonly waitMs?: number;
}

interface Claim extends ProcessIdentity {
  readonly token: string;
}

/**
 * Does `work` while no other process, and no one else in this one, does work on the same run folder.
 *
 * The lock is a hard link to a file that already says whose it is, so nobody ever reads a lock half
 * written. A lock whose owner is proven dead is broken; one that is held for too long is an error.
 *
 * @throws EmbeddedServerError when the lock is not free within `waitMs`.
 */
export async function underLock<T>(runFolder: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  const { log, waitMs = 150_000 } = options;
  const path = join(runFolder, 'lock');
  const token = ownFileName();
  const claim = join(runFolder, `lock.${token}`);
  writeFileSync(claim, JSON.stringify({ ...ownIdentity(), token } satisfies Claim), { flag: 'wx', mode: 0o644 });
  try {
    const since = Date.now();
    let told = false;
    while (!take(claim, path)) {
      const owner = breakWhenDead(path, claim);
      const waitedMs = Date.now() - since;
      if (waitedMs > waitMs) throw heldTooLong(path, owner, waitMs);
      if (waitedMs > 2_000 && !told) {
        told = true;
        log(`waiting for process ${owner?.pid ?? '?'}, which is starting or stopping the database server`);
      }
      await sleep(20);
    }
    try {
      return await work();
    } finally {
      rmSync(path, { force: true });
    }
  } finally {
    rmSync(claim, { force: true });
  }
}

function take(claim: string, path: string): boolean {
  try {
    linkSync(claim, path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Removes a dead owner's lock. Two that see the same dead lock must not both remove "it": the second
 * would remove the lock the first has taken since. So a lock is broken under a second lock, and
 * looked at again there.
 */
function breakWhenDead(path: string, claim: string): Claim | undefined {
  const owner = read(path);
  if (owner === 'absent') return undefined;
  if (owner !== 'unreadable' && isAlive(owner)) return owner;

  const breaking = `${path}.breaking`;
  if (!take(claim, breaking)) {
    const breaker = read(breaking);
    if (breaker === 'unreadable' || (breaker !== 'absent' && !isAlive(breaker))) rmSync(breaking, { force: true });
    return undefined;
  }
  try {
    const now = read(path);
    const same = now === owner || (typeof now === 'object' && typeof owner === 'object' && now.token === owner.token);
    if (same) rmSync(path, { force: true });
  } finally {
    rmSync(breaking, { force: true });
  }
  return undefined;
}

/** Unreadable is what a power cut leaves of a lock: nobody alive has one. */
function read(path: string): Claim | 'absent' | 'unreadable' {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'absent';
    throw error;
  }
  try {
    const claim = JSON.parse(text) as Claim;
    return typeof claim.pid === 'number' && typeof claim.token === 'string' ? claim : 'unreadable';
  } catch {
    return 'unreadable';
  }
}

function heldTooLong(path: string, owner: Claim | undefined, waitMs: number): EmbeddedServerError {
  const who = owner === undefined ? 'Other processes have' : `Process ${owner.pid} has`;
  return new EmbeddedServerError(
    `${who} been starting or stopping the database server for more than ${Math.round(waitMs / 1000)} seconds (${path}): ` +
      'look whether that process still works, end it if it does not, and start again.',
  );
}
