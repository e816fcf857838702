import { parentPort, workerData } from 'node:worker_threads';
import { BlockCoverage } from './block-coverage.js';
import { fuzzTarget } from './fuzz-target.js';
import { absolute, corpusIn, type ParserTarget, type TargetFiles } from './parser-target.js';

/** A thread of its own for each target: the counters of one isolate, which the runner can end if an input does not return. */
export interface WorkerInput {
  readonly files: TargetFiles;
  readonly seed: number;
  readonly ms: number;
  /** Ends the run after so many inputs, so that it repeats exactly. */
  readonly inputsMax?: number;
  readonly current: SharedArrayBuffer;
}

/** What the thread reports: the number of inputs so far, and the result at the end. */
export type WorkerReport = { readonly inputs: number } | { readonly result: Awaited<ReturnType<typeof fuzzTarget>> };

/** At the begin of the shared memory: the number of the current input, and its length in bytes. */
export const HEAD_BYTES = 8;
const REPORT_MS = 5_000;

/** Runs only as a thread: the runner imports the names above. */
async function main(input: WorkerInput): Promise<void> {
  const { module, corpus, sources, withGenerated = false } = input.files;
  const places = sources.map(absolute);
  const coverage = new BlockCoverage((url) =>
    url === '' ? withGenerated : places.some((place) => url.startsWith(`file://${place}`)),
  );
  const { target } = (await import(absolute(module))) as { readonly target: ParserTarget };

  const head = new Int32Array(input.current, 0, HEAD_BYTES / 4);
  const text = new Uint8Array(input.current, HEAD_BYTES);
  const encoder = new TextEncoder();
  const send = (report: WorkerReport) => parentPort?.postMessage(report);
  const endsAt = performance.now() + input.ms;
  let reportAt = 0;
  const result = await fuzzTarget(target, coverage, {
    seed: input.seed,
    corpus: corpusIn(absolute(corpus)),
    isEnough: (inputs) => inputs >= (input.inputsMax ?? Infinity) || performance.now() >= endsAt,
    onInput: (one) => {
      head[1] = encoder.encodeInto(one, text).written;
      Atomics.add(head, 0, 1);
    },
    onProgress: (inputs) => {
      if (performance.now() < reportAt) return;
      reportAt = performance.now() + REPORT_MS;
      send({ inputs });
    },
  });
  send({ result });
}

if (parentPort !== null) void main(workerData as WorkerInput).finally(() => parentPort?.close());
