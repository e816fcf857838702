import { copyFileSync, mkdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { command } from './command.mjs';

/** The libraries that Node is linked with, with the packages that they need. Extracted without Essential packages: no shell, no tools. */
const PACKAGES = 'libstdc++6';
const SUITE = 'bookworm';
/** Where programs of an image are searched for. The official images of Node set the same. */
export const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** buildah with a storage of its own, which needs no file system of the kernel. */
export const buildahIn =
  (folder) =>
  async (...args) => {
    const storage = ['--storage-driver=vfs', `--root=${join(folder, 'storage')}`, `--runroot=${join(folder, 'run')}`];
    return (await command('buildah', [...storage, ...args])).trim();
  };

/**
 * Makes a base image of Debian's libraries and the Node of this process, because the registry of the official images cannot be reached
 * from every machine, and Debian 12 has Node 18.
 */
export async function makeBaseImage(buildah, folder, name) {
  const tar = join(folder, 'base.tar');
  await command('mmdebstrap', ['--mode=root', '--variant=extract', `--include=${PACKAGES}`, SUITE, tar]);
  const node = join(folder, 'node/usr/local/bin/node');
  mkdirSync(dirname(node), { recursive: true });
  copyFileSync(process.execPath, node);
  // Mounted over when a program is started, so the read-only image must have them.
  for (const mount of ['proc', 'tmp', 'data']) mkdirSync(join(folder, 'node', mount));

  const container = await buildah('from', 'scratch');
  await buildah('add', '--quiet', container, tar, '/');
  await buildah('add', '--quiet', container, join(folder, 'node'), '/');
  await buildah('config', '--env', `PATH=${PATH}`, container);
  await buildah('commit', '--quiet', '--format=docker', container, name);
  await buildah('rm', container);
}
