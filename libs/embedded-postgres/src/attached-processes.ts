import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, ownIdentity, parseIdentity, writeIdentity } from './process-identity.js';

/**
 * A process that uses the server: an empty file in the run folder, named after the process and the time of its start. Empty files need
 * no space, so this works on a full disk too. Read and change them only under the lock.
 */
export interface AttachedProcess {
  readonly file: string;
}

/** Earlier versions use the same server, so the prefix stays as they know it. */
const PREFIX = 'holder-';

/** Records that this process uses the server. */
export function addAttachedProcess(run: string): AttachedProcess {
  const file = join(run, `${PREFIX}${writeIdentity(ownIdentity())}-${randomBytes(6).toString('hex')}`);
  closeSync(openSync(file, 'wx', 0o644));
  return { file };
}

/** Removes the record, if it still exists. */
export function removeAttachedProcess({ file }: AttachedProcess): void {
  rmSync(file, { force: true });
}

/** Counts the living processes and removes the records of dead ones. Other files are left alone. */
export function countAttachedProcesses(run: string): number {
  let living = 0;
  for (const name of readdirSync(run)) {
    const owner = name.startsWith(PREFIX) ? parseIdentity(name.slice(PREFIX.length)) : undefined;
    if (owner === undefined) continue;
    if (isAlive(owner)) living += 1;
    else rmSync(join(run, name), { force: true });
  }
  return living;
}
