import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { FuzzResult } from './fuzz-target.js';
import { HEAD_BYTES, type WorkerInput, type WorkerReport } from './fuzz-worker.js';
import type { TargetFiles } from './parser-target.js';

/** Far above the limit of an input, so that a busy machine does not reach it. */
const STUCK_MS = 30_000;
const POLL_MS = 250;
/** Enough for the longest input of a target in UTF-8. */
const CURRENT_BYTES = 1024 * 1024;

export interface WorkerOptions extends Pick<WorkerInput, 'seed' | 'ms' | 'inputsMax'> {
  readonly signal: AbortSignal;
  readonly onProgress: (inputs: number) => void;
  /** After this time, an input does not return. */
  readonly stuckMs?: number;
}

/**
 * Fuzzes a target in a thread. An input that does not return ends the thread.
 *
 * @throws Error if the thread fails, an input does not return, or the signal aborts
 */
export async function runWorker(
  files: TargetFiles,
  { signal, onProgress, stuckMs = STUCK_MS, ...limits }: WorkerOptions,
): Promise<FuzzResult> {
  const current = new SharedArrayBuffer(CURRENT_BYTES);
  const input: WorkerInput = { files, ...limits, current };
  const worker = new Worker(join(__dirname, 'fuzz-worker.js'), { workerData: input });
  let watch: NodeJS.Timeout | undefined;
  try {
    return await new Promise<FuzzResult>((resolve, reject) => {
      const head = new Int32Array(current, 0, HEAD_BYTES / 4);
      let [seen, since] = [-1, performance.now()];
      watch = setInterval(() => {
        const number = Atomics.load(head, 0);
        if (number !== seen) [seen, since] = [number, performance.now()];
        else if (performance.now() - since > stuckMs) reject(new Error(`an input does not return: ${textIn(current)}`));
      }, POLL_MS);
      const interrupt = () => reject(new Error('interrupted'));
      if (signal.aborted) interrupt();
      signal.addEventListener('abort', interrupt);
      worker.on('message', (report: WorkerReport) =>
        'result' in report ? resolve(report.result) : onProgress(report.inputs),
      );
      worker.on('error', reject);
      worker.on('exit', () => reject(new Error('the thread ended without a result')));
    });
  } finally {
    clearInterval(watch);
    await worker.terminate();
  }
}

function textIn(current: SharedArrayBuffer): string {
  const [, length = 0] = new Int32Array(current, 0, HEAD_BYTES / 4);
  // A decoder refuses shared memory.
  return JSON.stringify(Buffer.from(new Uint8Array(current, HEAD_BYTES, length)).toString());
}
