import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT, files, projects } from './workspace.js';

/**
 * The workspace as it stands, in a folder of its own: a spec may plant in it what the workspace itself must not have,
 * while other specs read that one. What is installed is linked, our own projects to their copies.
 */
export class WorkspaceCopy {
  readonly folder = realpathSync(mkdtempSync(join(tmpdir(), 'banking-copy-')));

  constructor() {
    try {
      this.fill();
    } catch (error) {
      this.remove();
      throw error;
    }
  }

  read(file: string): string {
    return readFileSync(join(this.folder, file), 'utf8');
  }

  write(file: string, text: string): void {
    mkdirSync(join(this.folder, dirname(file)), { recursive: true });
    writeFileSync(join(this.folder, file), text);
  }

  change(file: string, from: string, to: string): void {
    const text = this.read(file);
    if (!text.includes(from)) throw new Error(`${file} has no "${from}" to change`);
    this.write(
      file,
      text.replace(from, () => to),
    );
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true });
  }

  private fill(): void {
    for (const file of files()) {
      mkdirSync(join(this.folder, dirname(file)), { recursive: true });
      copyFileSync(join(ROOT, file), join(this.folder, file));
    }
    this.linkInstalled('node_modules', '@banking');
    mkdirSync(join(this.folder, 'node_modules/@banking'));
    for (const { folder, manifest } of projects()) {
      symlinkSync(join(this.folder, folder), join(this.folder, 'node_modules', manifest.name));
      this.linkInstalled(`${folder}/node_modules`);
    }
  }

  private linkInstalled(folder: string, ...except: readonly string[]): void {
    const names = readdirIfThere(join(ROOT, folder)).filter((name) => name !== '.cache' && !except.includes(name));
    if (names.length > 0) mkdirSync(join(this.folder, folder), { recursive: true });
    for (const name of names) symlinkSync(join(ROOT, folder, name), join(this.folder, folder, name));
  }
}

function readdirIfThere(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
