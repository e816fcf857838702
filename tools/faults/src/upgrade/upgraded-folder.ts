import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { freePort, ServiceProcess } from '../service-process.js';
import type { ReleaseTree } from './release-tree.js';
import { requireCommand } from './run-command.js';
import type { Step } from './side-by-side.js';

export interface FolderOptions {
  readonly previous: ReleaseTree;
  readonly next: ReleaseTree;
  /** Empty, and open to the user of the database server. */
  readonly folder: string;
}

/** Makes a data folder with the embedded server of the previous release, and upgrades it by the next one. */
export async function upgradeFolder({ previous, next, folder }: FolderOptions): Promise<Step> {
  const dataDir = join(folder, 'data-folder');
  await mkdir(dataDir);
  const beganAt = performance.now();
  const name = 'a data folder of the previous release is upgraded';
  const banking = (tree: ReleaseTree, ...args: readonly string[]) =>
    requireCommand(process.execPath, [join(tree.root, 'apps/cli/dist/main.js'), ...args], {
      cwd: tree.root,
      env: { DATA_DIR: dataDir },
    });
  try {
    const made = await banking(previous, 'demo', '--json');
    const migrated = (await banking(next, 'migrate')).trim().replace(/\s+/g, ' ');
    await banking(next, 'verify');
    const logFile = join(folder, 'folder.log');
    const environment = { DATA_DIR: dataDir };
    const api = new ServiceProcess({
      ...{ app: 'api', name: 'api', port: await freePort(), logFile, environment, root: next.root },
    });
    await api.start();
    await api.stop();
    if ((await banking(next, 'demo', '--json')) !== made) throw new Error('the ids of the demo data have changed');
    return { name, result: `${migrated} Verified and served.`, tookMs: performance.now() - beganAt, isFailed: false };
  } catch (error) {
    return { name, result: (error as Error).message, tookMs: performance.now() - beganAt, isFailed: true };
  }
}
