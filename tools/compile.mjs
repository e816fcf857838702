import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { projectFolders, ROOT, run } from './programs.mjs';

/** Compiles all projects with their specs, in one process, and returns its exit code. */
export function compile() {
  const projects = projectFolders().filter((folder) => existsSync(join(ROOT, folder, 'tsconfig.json')));
  return run('tsc/bin/tsc', ['--build', '.', ...projects], { heading: 'Types and build' });
}
