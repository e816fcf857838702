import { closeSync, fchownSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import type { ServerUser } from './server-user.js';

/** Over the socket, which is the only access, an operating system user must be in the map. */
const HBA = 'local all all peer map=banking\n';

/**
 * Under the lock, when no server runs: writes the users that may log in to the database, which are root and the user of the server.
 * Written at every start, so that a database with other files, such as `trust`, gets these.
 */
export function writeAccessFiles(database: string, serverUser: ServerUser | undefined): void {
  const names = new Set(['root', serverUser?.name ?? ownName()]);
  const map = [...names].map((name) => `banking "${name.replaceAll('"', '""')}" all\n`);
  replaceFile(join(database, 'pg_hba.conf'), HBA, serverUser);
  replaceFile(join(database, 'pg_ident.conf'), map.join(''), serverUser);
}

/** The folder belongs to the server's user, so an existing file or link is replaced, never followed or written to. */
function replaceFile(path: string, text: string, owner: ServerUser | undefined): void {
  if (readIfThere(path) === text) return;
  const half = `${path}.half`;
  rmSync(half, { force: true });
  const descriptor = openSync(half, 'wx', 0o600);
  try {
    writeFileSync(descriptor, text);
    if (owner !== undefined) fchownSync(descriptor, owner.uid, owner.gid);
  } finally {
    closeSync(descriptor);
  }
  renameSync(half, path);
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

/** A user without an entry in the user database has no name; PostgreSQL does not run for such a user. */
function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? '');
  }
}
