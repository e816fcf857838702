import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Tarballs, install, pack } from './consumer.js';
import { type NodeMajor, NODE_MAJORS, nodeOf } from './node-of.js';
import { servePages } from './pages.js';
import { startService } from './service.js';

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
