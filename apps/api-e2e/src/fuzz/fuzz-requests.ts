import * as fc from 'fast-check';
import { banking } from '../banking.js';
import type { FreshService } from '../documented/fresh-service.js';
import { bugsIn, secretsIn } from '../log-lines.js';
import { fuzzedRoutes } from './routes.js';
import { type Outcomes, SequenceRunner } from './sequence-runner.js';
import { sequencesOf } from './sequences.js';
import { PLANTED, type Step } from './step.js';

export interface FuzzOptions {
  readonly requests: number;
  readonly seed: number;
  /** The position of one failed sequence below the seed. Only this sequence runs. */
  readonly path?: string | undefined;
  /** How many sequences run at the same time. */
  readonly clients?: number;
  readonly onProgress?: (requests: number) => void;
  readonly signal?: AbortSignal;
}

export interface FuzzReport {
  readonly requests: number;
  readonly statuses: ReadonlyMap<number, number>;
  readonly outcomes: ReadonlyMap<string, Outcomes>;
  /** What went wrong, none after a pass. */
  readonly faults: readonly string[];
}

/** A failed sequence is found in its batch by the seed of the batch, so the seed of a run fixes those of its batches. */
const SEQUENCES_PER_BATCH = 50;
/** Shrinking ends after this time. The shortest sequence until then is reported. */
const SHRINK_MS = 60_000;

/** Sends random sequences of requests until their number is reached or one fails, then checks books and log and stops the service. */
export async function fuzzRequests(service: FreshService, options: FuzzOptions): Promise<FuzzReport> {
  const { requests, seed, path, clients = 1, onProgress, signal } = options;
  const runner = new SequenceRunner(service);
  const sequences = sequencesOf(fuzzedRoutes(service.document));
  const faults: string[] = [];
  let nextBatch = seed;
  const client = async () => {
    while (runner.requests < requests && faults.length === 0 && signal?.aborted !== true) {
      const fault = await runBatch(runner, sequences, { seed: nextBatch++, path });
      if (fault !== undefined) faults.push(fault);
      onProgress?.(runner.requests);
      if (path !== undefined) return;
    }
  };
  try {
    await runner.start();
    await Promise.all(Array.from({ length: path === undefined ? clients : 1 }, client));
    faults.push(...(await faultsInBooks(service)));
  } finally {
    runner.close();
    await service.stop();
  }
  faults.push(...faultsInLog(service.log));
  return { requests: runner.requests, statuses: runner.statuses, outcomes: runner.outcomes, faults };
}

/** @returns the failure of the shortest failed sequence, if one failed */
async function runBatch(
  runner: SequenceRunner,
  sequences: fc.Arbitrary<readonly Step[]>,
  { seed, path }: Pick<FuzzOptions, 'seed' | 'path'>,
): Promise<string | undefined> {
  let failedAt: number | undefined;
  const run = async (steps: readonly Step[]) => {
    if (failedAt !== undefined && Date.now() - failedAt > SHRINK_MS) return;
    try {
      await runner.run(steps);
    } catch (error) {
      failedAt ??= Date.now();
      throw error;
    }
  };
  const which = path === undefined ? { numRuns: SEQUENCES_PER_BATCH } : { numRuns: 1, path };
  const result = await fc.check(fc.asyncProperty(sequences, run), { seed, ...which });
  return result.failed ? failureText(result, seed) : undefined;
}

type Failure = Pick<fc.RunDetailsCommon<unknown>, 'errorInstance' | 'counterexamplePath'>;

function failureText({ errorInstance, counterexamplePath }: Failure, seed: number): string {
  const message = errorInstance instanceof Error ? errorInstance.message : String(errorInstance);
  return `${message}\nRepeat: npm run fuzz -- --seed ${seed} --path ${counterexamplePath ?? '0'}`;
}

async function faultsInBooks({ dataDir }: FreshService): Promise<string[]> {
  try {
    await banking(dataDir, 'verify');
    return [];
  } catch (error) {
    return [`banking verify has a finding: ${String(error)}`];
  }
}

/** Unhandled errors, credentials and values of requests in the log. */
export function faultsInLog(log: string): string[] {
  const planted = log.split('\n').filter((line) => PLANTED.test(line));
  return [
    ...bugsIn(log).map((line) => `the log has an error: ${line}`),
    ...secretsIn(log).map((line) => `the log has ${line}`),
    ...planted.map((line) => `the log has a value of a request: ${line}`),
  ];
}

/** The operations without a success, and those without a refusal. */
export interface UntriedOperations {
  readonly neverSucceeded: readonly string[];
  readonly neverRefused: readonly string[];
}

export function untried(outcomes: ReadonlyMap<string, Outcomes>): UntriedOperations {
  const names = (count: keyof Outcomes) =>
    [...outcomes].filter(([, outcome]) => outcome[count] === 0).map(([operation]) => operation);
  return { neverSucceeded: names('succeeded'), neverRefused: names('refused') };
}
