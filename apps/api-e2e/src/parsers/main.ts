import { randomInt } from 'node:crypto';
import { parseArgs } from 'node:util';
import type { Row } from './fuzz-parsers.js';
import { TARGETS } from './parser-target.js';

const SEED_MAX = 2 ** 31 - 1;
const SECONDS = 60;
const SECONDS_MAX = 86_400;
/** Characters of an input. The corpus has the whole. */
const SHOWN_MAX = 1_000;
/** As a shell reports SIGINT. */
const INTERRUPTED = 130;

const USAGE = `Usage: npm run fuzz:parsers -- [options]

Runs the parsers of untrusted input on mutated inputs, guided by the blocks of code that they reach, and prints a table. Adds inputs
that reach new blocks to the corpus of the parser; npm test runs each corpus again. Fails if a parser throws an undocumented error,
violates its law, or takes 50 ms or more for an input.

Options:
  --target <name>     ${Object.keys(TARGETS).join(', ')}
                      (default: all)
  --seconds <number>  time for each target; 0 runs the corpus only (default: ${SECONDS})
  --seed <number>     seed of the mutations (default: random)
  -h, --help          print this help

Exit codes: 0 success; 1 a failure; 2 wrong usage; 130 interrupted.
`;

interface Options {
  readonly names: readonly string[];
  readonly seconds: number;
  readonly seed: number;
}

/** @throws TypeError for an unknown option or an invalid value */
function optionsOf(args: readonly string[]): Options | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      target: { type: 'string' },
      seconds: { type: 'string' },
      seed: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  const { target } = values;
  if (target !== undefined && !Object.hasOwn(TARGETS, target)) throw new TypeError('--target has an unknown name');
  return {
    names: target === undefined ? Object.keys(TARGETS) : [target],
    seconds: whole('--seconds', values.seconds, SECONDS_MAX) ?? SECONDS,
    seed: whole('--seed', values.seed, SEED_MAX) ?? randomInt(SEED_MAX),
  };
}

function whole(name: string, text: string | undefined, max: number): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[0-9]{1,10}$/.test(text) || Number(text) > max) throw new TypeError(`${name} is a whole number up to ${max}`);
  return Number(text);
}

async function main(args: readonly string[]): Promise<number> {
  let options: Options | undefined;
  try {
    options = optionsOf(args);
  } catch (error) {
    process.stderr.write(`error: ${(error as Error).message}\n\n${USAGE}`);
    return 2;
  }
  if (options === undefined) {
    process.stdout.write(USAGE);
    return 0;
  }
  return run(options);
}

async function run({ names, seconds, seed }: Options): Promise<number> {
  const { fuzzParser } = await import('./fuzz-parsers.js');
  const interruption = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => interruption.abort());
  process.stderr.write(`seed ${seed}\n`);
  const rows: Row[] = [];
  for (const name of names) {
    if (interruption.signal.aborted) return INTERRUPTED;
    rows.push(await fuzzParser(name, { seed, ms: seconds * 1000, signal: interruption.signal }));
  }
  if (interruption.signal.aborted) return INTERRUPTED;
  process.stdout.write(`${tableOf(rows)}\n\nseed ${seed}, ${seconds} s for each target\n`);
  const faults = rows.flatMap(({ name, violations }) => violations.map(({ what, input }) => ({ name, what, input })));
  for (const { name, what, input } of faults) {
    process.stdout.write(`\n${name}: ${what}\n  input: ${JSON.stringify(input).slice(0, SHOWN_MAX)}\n`);
    process.stdout.write(`  again: npm run fuzz:parsers -- --target ${name} --seconds 0\n`);
  }
  process.stdout.write(faults.length === 0 ? '\npass\n' : '\nfail\n');
  return faults.length === 0 ? 0 : 1;
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map(({ name, inputs, accepted, blocks, corpus, added, worstMs, violations }) =>
    [
      name,
      inputs.toLocaleString('en'),
      `${((100 * accepted) / Math.max(1, inputs)).toFixed(1)} %`,
      `${blocks.reached} of ${blocks.seen}`,
      `${corpus} (${added} new)`,
      `${worstMs.toFixed(1)} ms`,
      violations.length,
    ].join(' | '),
  );
  const head = 'Target | Inputs | Accepted | Blocks | Corpus | Worst input | Violations';
  return [head, head.replace(/[^|]+/g, ' --- ').trim(), ...lines].map((line) => `| ${line} |`).join('\n');
}

void main(process.argv.slice(2)).then((exitCode) => {
  process.exitCode = exitCode;
});
