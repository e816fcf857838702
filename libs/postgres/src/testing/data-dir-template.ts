import { execFile } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** The variable by which the setup gives the path of the template to the workers, which inherit the environment. */
const VARIABLE = 'BANKING_DATA_DIR_TEMPLATE';

/** Files of one server, which the next start creates. */
const OF_ONE_PLACE = ['run', 'socket', 'socket-folder', 'server.log'];

/**
 * For Jest's globalSetup: makes a DATA_DIR that the specs of the run copy. Making one takes seconds, and a copy is the same.
 *
 * @param fill makes what the folder should hold, and leaves no server running on it.
 */
export async function makeDataDirTemplate(
  fill: (dataDir: string) => Promise<void>,
): Promise<{ remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'banking-template-'));
  const remove = () => rm(folder, { recursive: true, force: true });
  try {
    await fill(folder);
  } catch (error) {
    await remove();
    throw error;
  }
  process.env[VARIABLE] = folder;
  return { remove };
}

/** Copies the template into an empty DATA_DIR, owners included. @throws Error when no setup has run. */
export async function copyDataDirTemplate(dataDir: string): Promise<void> {
  const template = process.env[VARIABLE];
  if (!template) throw new Error('no template: set globalSetup in jest.config.cjs to a file that makes one');
  await promisify(execFile)('cp', ['-a', `${template}/.`, dataDir]);
  for (const name of OF_ONE_PLACE) await rm(join(dataDir, name), { recursive: true, force: true });
  // The user of the database server passes through it when we are root.
  await chmod(dataDir, 0o711);
}
