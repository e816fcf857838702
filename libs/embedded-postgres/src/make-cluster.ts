import { spawn } from 'node:child_process';
import {
  closeSync,
  fsyncSync,
  lstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { writeAccessFiles } from './access-files.js';
import { SERVER_ENV, type Binaries } from './binaries.js';
import type { DataFolder } from './data-folder.js';
import { diskFull, EmbeddedServerError } from './embedded-server-error.js';
import { asUser, giveTo } from './server-user.js';

/** An initdb whose parent was killed may still write there: it ends when its folder is removed. */
const LEFT_BEHIND = { recursive: true, force: true, maxRetries: 20, retryDelay: 50 };

/**
 * Under the lock: makes the database at the first start, and checks its version at every other. It is made in another folder and
 * renamed, so that a killed start leaves no partial database.
 *
 * @returns whether it was made now
 * @throws EmbeddedServerError for a full disk, data of another PostgreSQL version, or a folder without a database.
 */
export async function ensureCluster(folder: DataFolder, binaries: Binaries): Promise<boolean> {
  if (lstatSync(folder.database, { throwIfNoEntry: false }) !== undefined) {
    checkVersion(folder.database, binaries.major);
    writeAccessFiles(folder.database, folder.user);
    return false;
  }
  for (const name of readdirSync(folder.dataDir)) {
    if (name.startsWith('database-half-')) rmSync(join(folder.dataDir, name), LEFT_BEHIND);
  }
  const half = mkdtempSync(join(folder.dataDir, 'database-half-'));
  giveTo(folder.user, half);
  await initdb(folder, binaries, half);
  writeAccessFiles(half, folder.user);
  renameSync(half, folder.database);
  syncFolder(folder.dataDir);
  return true;
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
  rmSync(half, { recursive: true, force: true });
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
