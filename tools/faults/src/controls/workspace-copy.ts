import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve, sep } from 'node:path';

/** The top of the workspace. Built and unbuilt, this file lies four folders below it. */
export const ROOT = resolve(__dirname, '../../../..');

const { temporaryFolder } = createRequire(__filename)(join(ROOT, 'tools/test-run/temporary-folder.cjs')) as {
  /** The folder for the temporary files of specs, in memory where there is space. */
  readonly temporaryFolder: () => string | undefined;
};

const NOT_COPIED = new Set(['.git', '.nx', '.data', 'node_modules', 'dist', 'test-output', 'coverage', 'tmp']);

/**
 * The sources and their last build in a folder of its own. Faults are planted there, so the files of the user never change. Installed
 * packages are linked, those of the workspace to their copies.
 */
export class WorkspaceCopy {
  private constructor(readonly folder: string) {}

  static create(): WorkspaceCopy {
    const copy = new WorkspaceCopy(realpathSync(mkdtempSync(join(temporaryFolder() ?? tmpdir(), 'banking-controls-'))));
    try {
      copy.fill();
    } catch (error) {
      copy.remove();
      throw error;
    }
    return copy;
  }

  path(...parts: readonly string[]): string {
    return join(this.folder, ...parts);
  }

  read(file: string): string {
    return readFileSync(this.path(file), 'utf8');
  }

  write(file: string, text: string): void {
    writeFileSync(this.path(file), text);
  }

  /** Saves the build of a project, and returns what restores it. */
  saveBuild(project: string): () => void {
    const built = this.path(project, 'dist');
    const saved = this.path('tmp/builds', project);
    cpSync(built, saved, { recursive: true, preserveTimestamps: true });
    return () => {
      rmSync(built, { recursive: true, force: true });
      cpSync(saved, built, { recursive: true, preserveTimestamps: true });
    };
  }

  remove(): void {
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  private fill(): void {
    // A server of root runs as another user, who must pass through.
    chmodSync(this.folder, 0o711);
    for (const file of sources()) this.copyFile(file);
    mkdirSync(this.path('tmp'));
    this.link('node_modules', ['@banking', '.cache']);
    mkdirSync(this.path('node_modules/@banking'));
    for (const project of projects()) {
      const { name } = JSON.parse(this.read(join(project, 'package.json'))) as { name: string };
      symlinkSync(this.path(project), this.path('node_modules', name));
      this.link(join(project, 'node_modules'));
      this.copyBuild(project);
    }
  }

  /** The times are kept, because the compiler compares them. */
  private copyFile(file: string): void {
    const to = this.path(file);
    mkdirSync(dirname(to), { recursive: true });
    writeFileSync(to, readFileSync(join(ROOT, file)));
    const { atime, mtime } = statSync(join(ROOT, file));
    utimesSync(to, atime, mtime);
  }

  /** Specs run from their sources. */
  private copyBuild(project: string): void {
    const built = join(ROOT, project, 'dist');
    if (!existsSync(built)) return;
    const isSpecs = (path: string) => dirname(path) === built && basename(path).startsWith('spec');
    cpSync(built, this.path(project, 'dist'), {
      recursive: true,
      preserveTimestamps: true,
      filter: (path) => !isSpecs(path),
    });
  }

  private link(folder: string, except: readonly string[] = []): void {
    if (!existsSync(join(ROOT, folder))) return;
    mkdirSync(this.path(folder), { recursive: true });
    for (const name of readdirSync(join(ROOT, folder)).filter((each) => !except.includes(each))) {
      symlinkSync(join(ROOT, folder, name), this.path(folder, name));
    }
  }
}

/** The folders of all projects, from the top. */
function projects(): string[] {
  return ['apps', 'libs', 'tools'].flatMap((group) =>
    readdirSync(join(ROOT, group))
      .map((name) => `${group}/${name}`)
      .filter((folder) => existsSync(join(ROOT, folder, 'package.json'))),
  );
}

/** The files that are or would be tracked. */
function sources(): string[] {
  try {
    const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
      ...{ cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 64 * 1024 * 1024 },
    });
    return [...new Set(list.split('\0'))].filter((file) => file !== '' && existsSync(join(ROOT, file)));
  } catch {
    // An archive of the sources, or a machine without git.
    return walk('.');
  }
}

function walk(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_COPIED.has(entry.name) ? [] : walk(path);
    return entry.isFile() ? [path.split(sep).join('/')] : [];
  });
}
