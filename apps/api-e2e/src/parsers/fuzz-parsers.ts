import { appendFileSync } from 'node:fs';
import type { BlockCount } from './block-coverage.js';
import type { FuzzResult, Violation } from './fuzz-target.js';
import { absolute, corpusIn, TARGETS } from './parser-target.js';
import { runWorker, type WorkerOptions } from './run-worker.js';

/** The result of a target, as a line of the table. */
export interface Row {
  readonly name: string;
  readonly inputs: number;
  readonly accepted: number;
  readonly blocks: BlockCount;
  readonly corpus: number;
  readonly added: number;
  readonly worstMs: number;
  readonly violations: readonly Violation[];
}

const NOTHING = { inputs: 0, accepted: 0, blocks: { reached: 0, seen: 0 }, added: 0, worstMs: 0 };

/** Fuzzes a target, reports progress to standard error, and adds what it found to the corpus, violations too. */
export async function fuzzParser(name: string, options: Omit<WorkerOptions, 'onProgress'>): Promise<Row> {
  const files = TARGETS[name];
  if (files === undefined) throw new Error(`unknown target ${name}`);
  const startedAt = performance.now();
  const onProgress = (inputs: number) => {
    const seconds = Math.round((performance.now() - startedAt) / 1000);
    process.stderr.write(`${name}: ${inputs} inputs in ${seconds} s\n`);
  };
  let result: FuzzResult;
  try {
    result = await runWorker(files, { ...options, onProgress });
  } catch (error) {
    // An input that does not return is not added: npm test would not return either.
    const violations = options.signal.aborted ? [] : [{ input: '', what: (error as Error).message }];
    return { ...NOTHING, name, corpus: corpusIn(absolute(files.corpus)).length, violations };
  }
  const { inputs, verdicts, blocks, worstMs, violations } = result;
  const corpus = absolute(files.corpus);
  const known = new Set(corpusIn(corpus));
  const added = new Set([...result.found, ...violations.map(({ input }) => input)].filter((one) => !known.has(one)));
  for (const input of added) appendFileSync(corpus, `${asAscii(input)}\n`);
  const { accepted } = verdicts;
  return { name, inputs, accepted, blocks, corpus: known.size + added.size, added: added.size, worstMs, violations };
}

/** JSON without characters that an editor or a diff hides. */
function asAscii(input: string): string {
  return JSON.stringify(input).replace(/[^ -~]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
