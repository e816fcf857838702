import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../programs.mjs';
import { command, report } from './command.mjs';
import { foldersBelow } from './contents.mjs';

/** The programs of a deployment. */
export const APPS = ['api', 'cli', 'worker'];

/** The options of npm for exactly these programs. */
export const WORKSPACES = APPS.map((app) => `--workspace=@banking/${app}`);

/** Installs the production dependencies of the programs, in the versions of the lock file, and compiles the programs. */
export async function build(folder) {
  report('Installing the production dependencies …');
  const quiet = ['--ignore-scripts', '--prefer-offline', '--no-audit', '--no-fund', '--loglevel=error'];
  await command('npm', ['ci', '--omit=dev', ...quiet, ...WORKSPACES], { cwd: folder });

  // What only specs use is not compiled. A program that imported it would not compile either.
  for (const name of foldersBelow(folder, ['apps', 'libs'], 'testing')) rmSync(name, { recursive: true });
  report('Compiling …');
  const projects = APPS.map((app) => join(folder, 'apps', app, 'tsconfig.build.json'));
  const withoutMaps = ['--sourceMap', 'false', '--declarationMap', 'false'];
  const compiler = join(ROOT, 'node_modules/typescript/bin/tsc');
  await command(process.execPath, [compiler, '--build', ...projects, ...withoutMaps], { cwd: folder });
}
