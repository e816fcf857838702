import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { syncFolder } from './durable-files.js';

/** A file that waits to be read, by its name. */
export interface WaitingFile {
  readonly name: string;
  readonly isSymbolicLink: boolean;
}

/** The folders of a rail that the client of the bank fills: `in`, and `done` and `refused` beside it. */
export class BankFolder {
  constructor(private readonly folder: string) {}

  /** The files in the order of their names. Those that are being written (`*.tmp`, `*.part`, a dot in front) are passed over. */
  async list(): Promise<readonly WaitingFile[]> {
    for (const name of ['in', 'done', 'refused']) await mkdir(join(this.folder, name), { recursive: true });
    const entries = await readdir(join(this.folder, 'in'), { withFileTypes: true });
    return entries
      .filter((entry) => entry.isFile() || entry.isSymbolicLink())
      .filter(({ name }) => !/^\.|\.(?:tmp|part|filepart)$/i.test(name))
      .map((entry) => ({ name: entry.name, isSymbolicLink: entry.isSymbolicLink() }))
      .toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Opens a file, and no symbolic link that took its place. */
  open(name: string): Promise<FileHandle> {
    return open(join(this.folder, 'in', name), constants.O_RDONLY | constants.O_NOFOLLOW);
  }

  /** Moves a file that was read. */
  async moveToDone(name: string): Promise<void> {
    await this.move(name, 'done', await this.freeName('done', name));
  }

  /** Moves a file that was refused, with the reason beside it. */
  async moveToRefused(name: string, reason: string): Promise<void> {
    const free = await this.freeName('refused', name);
    const path = join(this.folder, 'refused', `${free}.reason.txt`);
    const file = await open(`${path}.tmp`, 'w');
    try {
      await file.writeFile(`${reason}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(`${path}.tmp`, path);
    await this.move(name, 'refused', free);
  }

  private async move(name: string, to: 'done' | 'refused', free: string): Promise<void> {
    await rename(join(this.folder, 'in', name), join(this.folder, to, free));
    for (const changed of [to, 'in']) await syncFolder(join(this.folder, changed));
  }

  /** The name with a number behind it, where the folder has another file of the name. A long one is cut, so that the reason has a name too. */
  private async freeName(folder: string, given: string): Promise<string> {
    const name = Buffer.byteLength(given) > NAME_BYTES_MAX ? cutName(given) : given;
    for (let count = 1; ; count += 1) {
      const free = count === 1 ? name : `${name}.${count}`;
      if (await isMissing(join(this.folder, folder, free))) return free;
    }
  }
}

/** A file system takes 255 bytes. */
const NAME_BYTES_MAX = 200;

/** Of whole characters. */
function cutName(name: string): string {
  let cut = '';
  for (const character of name) {
    if (Buffer.byteLength(cut + character) > NAME_BYTES_MAX) break;
    cut += character;
  }
  return cut;
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true;
    throw error;
  }
}
