import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { SCHEMA, WORKER_ROLE } from '@banking/postgres';
import type { FreshDatabase } from '@banking/postgres/testing';
import type { FileRailConfig } from '../rail-config.js';

interface WorkerReport {
  readonly operations: number;
  readonly maxRssKb: number;
}

interface WorkerOptions {
  /** The operation at which it is killed. */
  readonly killAt?: number | undefined;
  readonly leaseMs?: number;
}

/** Runs a worker in a process of its own until nothing is left to do. @returns undefined if it was killed */
export async function runFileWorker(
  kind: 'reading' | 'writing',
  { connection }: FreshDatabase,
  config: FileRailConfig,
  options: WorkerOptions = {},
): Promise<WorkerReport | undefined> {
  const settings = { connection, role: WORKER_ROLE, schema: SCHEMA, config, ...options };
  const child = spawn(process.execPath, [join(__dirname, `${kind}-process.mjs`)], {
    env: { ...process.env, FILE_WORKER: JSON.stringify(settings) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [output, [code, signal]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (signal === 'SIGKILL') return undefined;
  expect(code).toBe(0);
  return JSON.parse(output) as WorkerReport;
}

/** A generator of the same numbers in every run (mulberry32). */
export function numbersFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
