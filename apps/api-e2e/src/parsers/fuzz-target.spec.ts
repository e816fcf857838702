import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { mutateInput } from './mutate-json.js';
import type * as Runner from './run-worker.js';
import { SeededRandom } from './seeded-random.js';

const TOP = join(__dirname, '..', '..', '..', '..');
/** The compiled runner: a thread starts from a compiled file, and V8 counts the blocks of one isolate. */
const { runWorker } = createRequire(__filename)('../../dist/parsers/run-worker.js') as typeof Runner;

let folder: string;
let written = 0;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'parser-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Four conditions in a row: one mutation does not satisfy them all, and each is a block of its own. */
const NESTED = `(input) => {
  if (input.startsWith('7')) {
    if (input[1] === '$') {
      if (input[2] === 'z') {
        if (input[3] === '~') throw new Error('the innermost block ran');
      }
    }
  }
  return 'refused';
}`;

/** Fuzzes a parser, the source text of a function, in a module of its own. */
async function fuzz(
  check: string,
  {
    seed = 1,
    inputsMax = 1,
    corpus = [] as readonly string[],
    isGuided = true,
    stuckMs = 60_000,
    signal = new AbortController().signal,
  } = {},
) {
  written += 1;
  const [module, lines] = [join(folder, `${written}.js`), join(folder, `${written}.jsonl`)];
  await writeFile(module, `exports.target = { examples: ['(((('], tokens: [], lengthMax: 60, check: ${check} };`);
  await writeFile(lines, corpus.map((input) => `${JSON.stringify(input)}\n`).join(''));
  const sources = isGuided ? [relative(TOP, module)] : [];
  const files = { module: relative(TOP, module), corpus: relative(TOP, lines), sources };
  return runWorker(files, { seed, ms: 600_000, inputsMax, signal, onProgress: () => {}, stuckMs });
}

describe('the fuzzer of parsers', () => {
  it('reaches a block behind conditions in a row', async () => {
    const { violations, found } = await fuzz(NESTED, { inputsMax: 20_000 });

    expect(violations).toEqual([
      { input: expect.stringMatching(/^7\$z~/) as string, what: 'Error: the innermost block ran' },
    ]);
    expect(found).toEqual(['7', '7$', '7$z', '7$z~']);
  });

  it('does not reach it without the blocks', async () => {
    const { violations, found } = await fuzz(NESTED, { inputsMax: 20_000, isGuided: false });

    expect({ violations, found }).toEqual({ violations: [], found: [] });
  });

  it('repeats a run by its seed', async () => {
    const parser = `(input) => (input.includes('7') ? 'accepted' : input.includes('$') ? 'refused' : 'accepted')`;
    const run = async (seed: number) => {
      const { inputs, verdicts, found, blocks } = await fuzz(parser, { seed, inputsMax: 2_000 });
      return { inputs, verdicts, found, blocks };
    };

    const first = await run(5);
    expect(await run(5)).toEqual(first);
    expect(await run(6)).not.toEqual(first);
  });

  it('runs the corpus before mutations, and reports each kind of violation once', async () => {
    const parser = `(input) => { if (input.startsWith('bad')) throw new TypeError('not documented'); return 'accepted'; }`;
    const { inputs, violations, verdicts } = await fuzz(parser, { corpus: ['bad 1', 'good', 'bad 2'] });

    expect({ inputs, violations, verdicts }).toEqual({
      inputs: 4,
      violations: [{ input: 'bad 1', what: 'TypeError: not documented' }],
      verdicts: { accepted: 2, refused: 0 },
    });
  });

  it('reports an input that takes too long each time', async () => {
    const parser = `(input) => { for (const end = performance.now() + 60; input === 'slow' && performance.now() < end; ); return 'refused'; }`;
    const { violations, worstInput } = await fuzz(parser, { corpus: ['slow'] });

    expect(worstInput).toBe('slow');
    expect(violations).toEqual([{ input: 'slow', what: expect.stringMatching(/^took \d+ ms$/) as string }]);
  });

  it('counts the blocks that ran and those that did not', async () => {
    const { blocks } = await fuzz(`(input) => (input === 'x' ? 'accepted' : 'refused')`);

    expect(blocks.reached).toBeGreaterThan(0);
    expect(blocks.seen).toBeGreaterThan(blocks.reached);
  });

  it('ends an input that does not return, and names it', async () => {
    await expect(fuzz(`() => { for (;;); }`, { stuckMs: 500 })).rejects.toThrow('an input does not return: "(((("');
  });

  it('ends when it is interrupted', async () => {
    const signal = AbortSignal.timeout(100);

    await expect(fuzz(`() => 'refused'`, { inputsMax: Infinity, signal })).rejects.toThrow('interrupted');
  });

  it('reports a target that cannot be loaded', async () => {
    await expect(fuzz(`(`)).rejects.toThrow('Unexpected token');
  });
});

describe('mutateInput', () => {
  it('makes inputs within the limit that differ, from texts and from JSON', () => {
    const inputs = ['', 'text', '{"a":[1,{"b":"c"}],"__proto__":{}}', '[[]]', '"\ud800"', '['.repeat(100)];
    const source = { random: new SeededRandom(1), tokens: ['id'], inputs, lengthMax: 120 };
    const made = Array.from({ length: 5_000 }, (_, index) => mutateInput(inputs[index % inputs.length] ?? '', source));

    expect(made.filter((input) => input.length > 120)).toEqual([]);
    expect(new Set(made).size).toBeGreaterThan(3_000);
    expect(({} as Record<string, unknown>)['b']).toBeUndefined();
  });
});
