import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive, ownIdentity, type ProcessIdentity } from './process-identity.js';

/**
 * Who uses the server: one file `<pid>-<start>-<token>.json` per joining, in the run folder.
 * Its name is all that counts; what it says inside is for a person who wonders.
 * Read and change holders only under the lock.
 */
export interface Holder {
  readonly file: string;
}

const NAME = /^(?:lock\.)?(\d+)-([A-Za-z0-9.]+)-[0-9a-f]+\.json$/;

/** A file name that says whose it is and that nobody else has. */
export function ownFileName(): string {
  const { pid, started } = ownIdentity();
  return `${pid}-${started}-${randomBytes(6).toString('hex')}.json`;
}

/** Registers this process as a user of the server. */
export function addHolder(runFolder: string): Holder {
  const file = join(runFolder, ownFileName());
  const note = { pid: process.pid, since: new Date().toISOString() };
  writeFileSync(file, `${JSON.stringify(note)}\n`, { flag: 'wx', mode: 0o644 });
  return { file };
}

/** Takes the registration back; a holder somebody swept away is as good. */
export function removeHolder(holder: Holder): void {
  rmSync(holder.file, { force: true });
}

/** Removes what dead processes left in the run folder and counts the living holders. */
export function sweepHolders(runFolder: string): number {
  let living = 0;
  for (const name of readdirSync(runFolder)) {
    const owner = ownerOf(name);
    if (owner === undefined) continue;
    if (!isAlive(owner)) rmSync(join(runFolder, name), { force: true });
    else if (!name.startsWith('lock.')) living += 1;
  }
  return living;
}

function ownerOf(name: string): ProcessIdentity | undefined {
  const [, pid, started] = NAME.exec(name) ?? [];
  return pid === undefined || started === undefined ? undefined : { pid: Number(pid), started };
}
