import { spawn } from 'node:child_process';
import { closeSync, fchownSync, fsyncSync, lstatSync, openSync, readFileSync } from 'node:fs';
import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { SERVER_ENV, type Binaries } from './binaries.js';
import { makeDraft, type DataFolder } from './data-folder.js';
import { diskFull, EmbeddedServerError } from './embedded-server-error.js';
import { asUser, giveTo, type ServerUser } from './server-user.js';

/**
 * Makes the database at the first start, and checks its version at every other. It is made in another folder and renamed, so that a
 * killed start leaves no partial database, and of several processes the first one wins.
 *
 * @returns whether it was made now
 * @throws EmbeddedServerError for a full disk, data of another PostgreSQL version, or a folder without a database.
 */
export async function ensureCluster(folder: DataFolder, binaries: Binaries): Promise<boolean> {
  const isMade = () => lstatSync(folder.database, { throwIfNoEntry: false }) !== undefined;
  if (isMade()) {
    checkVersion(folder.database, binaries.major);
    writeAccessFiles(folder.database, folder.user);
    return false;
  }
  const half = makeDraft(folder.dataDir, 'database-half-');
  try {
    giveTo(folder.user, half);
    await initdb(folder, binaries, half);
    writeAccessFiles(half, folder.user);
    renameSync(half, folder.database);
    syncFolder(folder.dataDir);
    return true;
  } catch (error) {
    if (isMade()) return false;
    throw error;
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}

function checkVersion(database: string, major: string): void {
  let version: string;
  try {
    version = readFileSync(join(database, 'PG_VERSION'), 'utf8').trim();
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    throw new EmbeddedServerError(
      `${database} is no PostgreSQL database (it has no PG_VERSION): put a backup in its place, ` +
        'or move it away to begin with an empty database.',
    );
  }
  if (version === major) return;
  if (!/^[0-9.]+$/.test(version)) {
    throw new EmbeddedServerError(
      `${database} is damaged (its PG_VERSION names no version): put a backup in its place, ` +
        'or move it away to begin with an empty database.',
    );
  }
  throw new EmbeddedServerError(
    `${database} was made by PostgreSQL ${version}, and this is PostgreSQL ${major}: carry it over with pg_upgrade or ` +
      'pg_dump, or set DATA_DIR to another folder to begin with an empty database.',
  );
}

async function initdb(folder: DataFolder, binaries: Binaries, half: string): Promise<void> {
  const settings = ['--username=postgres', '--auth-local=peer', '--auth-host=reject', '--encoding=UTF8', '--locale=C'];
  const locale = ['--locale-provider=builtin', '--builtin-locale=C.UTF-8', '--data-checksums', '--set=timezone=UTC'];
  const child = spawn(binaries.initdb, [`--pgdata=${half}`, ...settings, ...locale], {
    ...asUser(folder.user),
    cwd: half,
    env: SERVER_ENV,
    // Not in the process group of a terminal, whose Ctrl-C would end it and not this start.
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-8_000)));
  }
  const ended = await new Promise<number | string>((resolve, reject) => {
    child.once('error', reject).once('close', (code, signal) => resolve(code ?? signal ?? 'unknown'));
  });
  if (ended === 0) return;
  if (/No space left on device|Disk quota exceeded/.test(output)) throw diskFull(folder.dataDir);
  throw new EmbeddedServerError(
    `PostgreSQL's initdb could not make a database in ${folder.dataDir} (it ended with ${ended}). ` +
      `Fix the error below, or set DATA_DIR to another folder:\n${output.trim().split('\n').slice(-6).join('\n')}`,
  );
}

/** Makes the rename durable before the first commit. */
function syncFolder(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Over the socket, which is the only access, an operating system user must be in the map. */
const HBA = 'local all all peer map=banking\n';

/**
 * Writes the users that may log in to the database, which are root and the user of the server. Written at every start, so that a
 * database with other files, such as `trust`, gets these.
 */
function writeAccessFiles(database: string, serverUser: ServerUser | undefined): void {
  const names = new Set(['root', serverUser?.name ?? ownName()]);
  const map = [...names].map((name) => `banking "${name.replaceAll('"', '""')}" all\n`);
  replaceFile(join(database, 'pg_hba.conf'), HBA, serverUser);
  replaceFile(join(database, 'pg_ident.conf'), map.join(''), serverUser);
}

/** The folder belongs to the server's user, so an existing file or link is replaced, never followed or written to. */
function replaceFile(path: string, text: string, owner: ServerUser | undefined): void {
  const half = `${path}.${process.pid}`;
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

/** A user without an entry in the user database has no name; PostgreSQL does not run for such a user. */
function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? '');
  }
}
