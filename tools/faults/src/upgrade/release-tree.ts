import { existsSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { requireCommand } from './run-command.js';

const TAG = 'service-v*';
/** The files of the release that its programs run from. */
const MAIN = 'apps/api/dist/main.js';

export interface TreeOptions {
  /** The top of this workspace. */
  readonly root: string;
  /** Empty. */
  readonly folder: string;
  /** Whether to install the packages of the release from the registry even if this workspace has the same ones. */
  readonly isInstalling: boolean;
  readonly onProgress: (line: string) => void;
}

/** A release whose programs can be started. */
export interface ReleaseTree {
  /** What it was made of. */
  readonly source: string;
  readonly root: string;
  readonly release: string;
}

export function treeAt(root: string, source: string): ReleaseTree {
  return { source, root, release: releaseOf(root) };
}

/** The last tag of a release of the service. @throws Error without one */
export async function lastRelease(root: string): Promise<string> {
  const tags = await requireCommand('git', ['tag', '--list', TAG, '--sort=-version:refname'], { cwd: root });
  const [last = ''] = tags.split('\n');
  if (last === '') throw new Error(`There is no tag ${TAG}. Name the previous release by --from.`);
  return last;
}

/**
 * The release in a folder of its own, installed and built.
 *
 * @param from a revision of git, or a release archive (`.tar.gz`), which may be built already
 */
export async function makeTree(from: string, options: TreeOptions): Promise<ReleaseTree> {
  const { folder, onProgress, root } = options;
  await (isArchive(from) ? unpack(from, folder) : checkOut(from, options));
  const top = topOf(folder);
  if (!existsSync(join(top, MAIN))) {
    onProgress(`installing ${from}`);
    if (options.isInstalling || !haveSamePackages(root, top)) await install(top);
    else linkPackages(root, top);
    onProgress(`building ${from}`);
    await requireCommand(process.execPath, ['node_modules/typescript/bin/tsc', '--build'], { cwd: top });
  }
  return treeAt(top, from);
}

const isArchive = (from: string) => /\.(?:tar\.gz|tgz|tar)$/.test(from) && statSync(from).isFile();

async function unpack(archive: string, folder: string): Promise<void> {
  await requireCommand('tar', ['-xf', realpathSync(archive), '-C', folder], { cwd: folder });
}

async function checkOut(revision: string, { root, folder }: TreeOptions): Promise<void> {
  const archive = join(folder, 'release.tar');
  await requireCommand('git', ['archive', '--output', archive, revision], { cwd: root });
  const top = join(folder, 'tree');
  mkdirSync(top);
  await requireCommand('tar', ['-xf', archive, '-C', top], { cwd: folder });
}

/** An archive may have one folder around its files. */
function topOf(folder: string): string {
  const nested = readdirSync(folder).map((name) => join(folder, name));
  const top = [folder, ...nested].find((path) => existsSync(join(path, 'apps/api/package.json')));
  if (top === undefined) throw new Error('this is no release of the service: it has no apps/api');
  return realpathSync(top);
}

function releaseOf(root: string): string {
  const { version } = JSON.parse(readFileSync(join(root, 'libs/deployment/package.json'), 'utf8')) as {
    readonly version: string;
  };
  return version;
}

async function install(top: string): Promise<void> {
  await requireCommand('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: top });
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly link?: boolean; readonly integrity?: string }>>;
}

/** Whether both lock files name the same packages of the registry, at the same places. */
function haveSamePackages(root: string, other: string): boolean {
  const installed = (top: string) => {
    const { packages } = JSON.parse(readFileSync(join(top, 'package-lock.json'), 'utf8')) as Lock;
    const entries = Object.entries(packages).filter(([path, { link }]) => path.includes('node_modules/') && !link);
    return JSON.stringify(entries.map(([path, { integrity }]) => [path, integrity]).sort());
  };
  return installed(root) === installed(other);
}

/** Links the packages of this workspace. Those of the release itself lead to its own folders. */
function linkPackages(root: string, top: string): void {
  link(root, top, 'node_modules', ['@banking', '.cache']);
  mkdirSync(join(top, 'node_modules/@banking'));
  for (const project of projectsOf(top)) {
    const { name } = JSON.parse(readFileSync(join(top, project, 'package.json'), 'utf8')) as { readonly name: string };
    symlinkSync(join(top, project), join(top, 'node_modules', name));
    link(root, top, join(project, 'node_modules'));
  }
}

function link(root: string, top: string, folder: string, except: readonly string[] = []): void {
  if (!existsSync(join(root, folder))) return;
  mkdirSync(join(top, folder), { recursive: true });
  for (const name of readdirSync(join(root, folder)).filter((each) => !except.includes(each))) {
    symlinkSync(realpathSync(join(root, folder, name)), join(top, folder, name));
  }
}

function projectsOf(top: string): string[] {
  return ['apps', 'libs', 'tools'].flatMap((group) =>
    readdirSync(join(top, group))
      .map((name) => `${group}/${name}`)
      .filter((folder) => existsSync(join(top, folder, 'package.json'))),
  );
}
