import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** The programs of a run. The embedded PostgreSQL has only the first three. */
const NEEDED = [
  'initdb',
  'pg_ctl',
  'postgres',
  'pg_dump',
  'pg_dumpall',
  'pg_restore',
  'pg_basebackup',
  'psql',
] as const;

const DEBIAN_FOLDER = '/usr/lib/postgresql';

/** Server and client programs of one version, in one folder. */
export interface PostgresPrograms {
  readonly folder: string;
  /** Such as `15.14`. */
  readonly version: string;
}

/** Why the programs cannot be used, or undefined. */
function faultOf(folder: string): string | undefined {
  const missing = NEEDED.filter((name) => !existsSync(join(folder, name)));
  return missing.length === 0 ? undefined : `${folder} lacks ${missing.join(', ')}`;
}

/**
 * Finds the programs: in the folder that was chosen; otherwise in that of `pg_config`, or of the newest version of Debian's packages.
 *
 * @returns what was found, or why nothing was
 */
export function findPrograms(chosen?: string): PostgresPrograms | string {
  const folders = chosen === undefined ? [...ofPgConfig(), ...ofDebian()] : [chosen];
  const folder = folders.find((one) => faultOf(one) === undefined);
  if (folder === undefined) return folders.map(faultOf).join('; ') || 'no folder with PostgreSQL programs was found';
  const version = /(\d+(\.\d+)?)/.exec(execFileSync(join(folder, 'postgres'), ['--version'], { encoding: 'utf8' }));
  return { folder, version: version?.[0] ?? 'unknown' };
}

function ofPgConfig(): string[] {
  try {
    return [execFileSync('pg_config', ['--bindir'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()];
  } catch {
    return [];
  }
}

function ofDebian(): string[] {
  if (!existsSync(DEBIAN_FOLDER)) return [];
  const versions = readdirSync(DEBIAN_FOLDER).filter((name) => /^\d+$/.test(name));
  return versions.sort((a, b) => Number(b) - Number(a)).map((name) => join(DEBIAN_FOLDER, name, 'bin'));
}
