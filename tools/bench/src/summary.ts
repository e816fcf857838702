import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { attachEmbeddedServer } from '@banking/embedded-postgres';
import type { Figure } from './figures.js';
import { inWorkshop } from './world.js';

/** The machine and the versions of a run. */
export interface Environment {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGb: number;
  readonly node: string;
  readonly postgres: string;
  readonly project: string;
  /** Undefined outside a repository. */
  readonly commit?: string;
}

/** The figures of one bench. */
export interface BenchSummary {
  readonly bench: string;
  readonly date: string;
  readonly tookS: number;
  /** The load of the machine before the bench, over one minute. */
  readonly loadBefore: number;
  readonly figures: readonly (Figure & { readonly isReached?: boolean | undefined })[];
}

/** The file of a run of all benches. */
export interface Summary {
  readonly environment: Environment;
  readonly date: string;
  /** Whether the sizes were those of a try, so that the figures mean nothing. */
  readonly isBrief: boolean;
  readonly benches: readonly BenchSummary[];
}

export const ROOT = join(__dirname, '../../..');

/** Reads the machine and the versions. */
export async function readEnvironment(): Promise<Environment> {
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  const commit = readCommit();
  return {
    cpu: cpus()[0]?.model ?? 'unknown',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    node: process.versions.node,
    postgres: await readPostgresVersion(),
    project: version,
    ...(commit !== undefined && { commit }),
  };
}

/** @throws Error if the file is not that of a run */
export function readSummary(file: string): Summary {
  const summary = JSON.parse(readFileSync(file, 'utf8')) as Summary;
  if (!Array.isArray(summary.benches)) throw new Error(`${file} is not a file of bench all --json`);
  return summary;
}

export const loadOfMachine = () => loadavg()[0] ?? 0;

function readCommit(): string | undefined {
  try {
    return execFileSync('git', ['rev-parse', '--short', 'HEAD'], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return undefined;
  }
}

function readPostgresVersion(): Promise<string> {
  return inWorkshop(async ({ folder, runs }) => {
    const server = await attachEmbeddedServer({ dataDir: folder('version') });
    runs({ stop: () => server.detach() });
    const client = new Client(server.connection);
    await client.connect();
    const { rows } = await client.query<{ server_version: string }>('show server_version');
    await client.end();
    return rows[0]?.server_version ?? 'unknown';
  });
}
