import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { figuresOf, isReached } from './figures.js';
import type { Result } from './request.js';
import { type BenchSummary, loadOfMachine, readEnvironment, readSummary, type Summary } from './summary.js';
import { figuresOfVerification, type VerificationResult } from './verification.js';

export interface AllOptions {
  /** Where the summary is written, after each bench. The figures of benches that do not run stay in it. */
  readonly file: string | undefined;
  readonly only: readonly Bench[];
  /** Whether the benches run with the smallest sizes. */
  readonly isBrief: boolean;
  /** Rounds of the benches that compare. Default: five. */
  readonly rounds?: number | undefined;
  readonly onProgress: (line: string) => void;
}

export const BENCHES = [
  'reads',
  'lists',
  'orders',
  'settled',
  'fresh',
  'grown',
  'memory',
  'client',
  'gateway',
  'verification',
] as const;
type Bench = (typeof BENCHES)[number];

const ONCE = ['--seconds', '1', '--connections', '2'];
const ONE_ROUND = ['--rounds', '1', '--seconds', '0.2', '--connections', '2'];
const FEW_ACCOUNTS = ['--accounts', '4'];
const BRIEF: Readonly<Record<Bench, readonly string[]>> = {
  reads: [...ONE_ROUND, '--transfers', '100', '--grown-to', '200'],
  lists: [...ONE_ROUND, '--transfers', '700', '--page', '7'],
  orders: [...ONE_ROUND, ...FEW_ACCOUNTS, '--callers', '2', '--workspaces', '2', '--cases', 'workspaces'],
  settled: [...ONE_ROUND, ...FEW_ACCOUNTS],
  fresh: [...ONE_ROUND, ...FEW_ACCOUNTS],
  grown: [...ONE_ROUND, ...FEW_ACCOUNTS, '--transfers', '300', '--grown-to', '600'],
  memory: ['--seconds', '4', '--connections', '2', ...FEW_ACCOUNTS, '--transfers', '100'],
  client: [...ONE_ROUND, '--calls', '100'],
  gateway: [...ONE_ROUND, '--requests', '100'],
  verification: [...ONCE, ...FEW_ACCOUNTS],
};

/** Runs the benches, each in a process of its own. One that fails does not end the others. @throws Error if one failed */
export async function benchAll({ file, only, isBrief, rounds, onProgress }: AllOptions): Promise<Summary> {
  const environment = await readEnvironment();
  const date = new Date().toISOString();
  const previous = file !== undefined && existsSync(file) ? readSummary(file).benches : [];
  const measured = new Map(previous.map((bench) => [bench.bench, bench]));
  const failed: string[] = [];
  const summarize = (): Summary => ({
    environment,
    date,
    isBrief,
    benches: BENCHES.flatMap((bench) => measured.get(bench) ?? []),
  });
  for (const bench of only) {
    onProgress(`== ${bench}`);
    try {
      measured.set(bench, await run(bench, optionsOf(bench, isBrief, rounds)));
      if (file !== undefined) writeFileSync(file, `${JSON.stringify(summarize(), null, 2)}\n`);
    } catch (error) {
      onProgress(`${bench} failed: ${(error as Error).message}`);
      failed.push(bench);
    }
  }
  if (failed.length > 0) throw new Error(`benches failed: ${failed.join(', ')}`);
  return summarize();
}

const WITHOUT_ROUNDS: readonly Bench[] = ['memory', 'verification'];

function optionsOf(bench: Bench, isBrief: boolean, rounds: number | undefined): readonly string[] {
  if (isBrief) return BRIEF[bench];
  return rounds === undefined || WITHOUT_ROUNDS.includes(bench) ? [] : ['--rounds', String(rounds)];
}

async function run(bench: Bench, options: readonly string[]): Promise<BenchSummary> {
  const [date, loadBefore, began] = [new Date().toISOString(), loadOfMachine(), performance.now()];
  const child = spawn(process.execPath, [join(__dirname, 'main.js'), bench, ...options, '--json'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed, [code]] = await Promise.all([text(child.stdout), once(child, 'exit')]);
  if (code !== 0) throw new Error(`exit code ${String(code)}`);
  const result = JSON.parse(printed) as unknown;
  const figures =
    bench === 'verification' ? figuresOfVerification(result as VerificationResult) : figuresOf(result as Result);
  return {
    bench,
    date,
    tookS: Math.round((performance.now() - began) / 1_000),
    loadBefore,
    figures: figures.map((figure) => ({ ...figure, isReached: isReached(figure) })),
  };
}
