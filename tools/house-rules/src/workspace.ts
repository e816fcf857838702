import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, resolve, sep } from 'node:path';

/** The repository's top folder. Built and unbuilt, this file lies three folders below it. */
export const ROOT = resolve(__dirname, '../../..');

const MADE_BY_US = new Set(['.git', '.nx', '.data', 'node_modules', 'dist', 'test-output', 'coverage', 'tmp']);

/** A project of the workspace: its folder from the top, and what its package.json says. */
export interface Project {
  readonly folder: string;
  readonly manifest: { readonly name: string; readonly nx?: { readonly tags?: readonly string[] } };
}

/** Every project, in the order of their folders. */
export function projects(): Project[] {
  return ['apps', 'libs', 'tools'].flatMap((group) =>
    readdirSync(join(ROOT, group))
      .map((name) => `${group}/${name}`)
      .filter((folder) => existsSync(join(ROOT, folder, 'package.json')))
      .map((folder) => ({ folder, manifest: JSON.parse(read(`${folder}/package.json`)) as Project['manifest'] })),
  );
}

/**
 * Every file that is or would be tracked, from the top and with forward slashes. New files count too: Nx computes its
 * cache keys from the same set, and adding a file to git changes none of them.
 */
export function files(): string[] {
  return listedByGit() ?? walk('.');
}

export function read(file: string): string {
  return readFileSync(join(ROOT, file), 'utf8');
}

function listedByGit(): string[] | undefined {
  try {
    const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      maxBuffer: 64 * 1024 * 1024,
    });
    return [...new Set(list.split('\0'))].filter((file) => file !== '' && existsSync(join(ROOT, file)));
  } catch {
    return undefined; // an archive of the sources, or a machine without git
  }
}

function walk(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return MADE_BY_US.has(entry.name) ? [] : walk(path);
    return entry.isFile() ? [path.split(sep).join('/')] : [];
  });
}
