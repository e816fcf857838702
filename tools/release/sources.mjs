import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ROOT } from '../programs.mjs';
import { command } from './command.mjs';

const git = (...args) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 });

/**
 * What is packaged: the commit, the version of the service with the commit, and the time of all files, in seconds.
 *
 * @param isUncommitted packages the files of the checkout, with changes that are not committed
 */
export function describeSources(isUncommitted) {
  const commit = git('rev-parse', 'HEAD').trim();
  const { version } = JSON.parse(readFileSync(join(ROOT, 'apps/api/package.json'), 'utf8'));
  return {
    commit,
    version: `${version}-${commit.slice(0, 12)}${isUncommitted ? '-uncommitted' : ''}`,
    epochS: Number(git('show', '--no-patch', '--format=%ct', 'HEAD').trim()),
    isUncommitted,
  };
}

/** Whether the checkout differs from its commit. */
export const hasChanges = () => git('status', '--porcelain') !== '';

/** Copies the sources to an empty folder, so that nothing of the checkout that is not in git has an effect. */
export async function copySources({ commit, isUncommitted }, folder) {
  if (isUncommitted) {
    const listed = git('ls-files', '-z', '--cached', '--others', '--exclude-standard').split('\0').filter(Boolean);
    for (const file of listed.filter((name) => existsSync(join(ROOT, name)))) {
      mkdirSync(dirname(join(folder, file)), { recursive: true });
      cpSync(join(ROOT, file), join(folder, file));
    }
    return;
  }
  const archive = join(folder, '..', 'sources.tar');
  await command('git', ['archive', '--format=tar', `--output=${archive}`, commit], { cwd: ROOT });
  await command('tar', ['-xf', archive, '-C', folder]);
}
