import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, ownIdentity, parseIdentity, writeIdentity } from './process-identity.js';

/**
 * Who uses the server: one empty file per joining in the run folder, named after the process and
 * the moment it started. Names need no space, so this works on a full disk too.
 * Read and change holders only under the lock.
 */
export interface Holder {
  readonly file: string;
}

const PREFIX = 'holder-';

/** Registers this process as a user of the server. */
export function addHolder(run: string): Holder {
  const file = join(run, `${PREFIX}${writeIdentity(ownIdentity())}-${randomBytes(6).toString('hex')}`);
  closeSync(openSync(file, 'wx', 0o644));
  return { file };
}

/** Takes the registration back; one that somebody swept away is as good. */
export function removeHolder(holder: Holder): void {
  rmSync(holder.file, { force: true });
}

/** Removes the holders that are dead and counts the living. A name that is no holder's is left alone. */
export function sweepHolders(run: string): number {
  let living = 0;
  for (const name of readdirSync(run)) {
    const owner = name.startsWith(PREFIX) ? parseIdentity(name.slice(PREFIX.length)) : undefined;
    if (owner === undefined) continue;
    if (isAlive(owner)) living += 1;
    else rmSync(join(run, name), { force: true });
  }
  return living;
}
