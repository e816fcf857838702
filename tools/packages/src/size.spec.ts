import { join } from 'node:path';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { run } from './run.js';

const { consumer } = run();
// By its path: Jest resolves names by the condition of our own workspace.
const { REFUSALS, currencies } = createRequire(__filename)(
  join(consumer, 'node_modules/@banking/domain/dist/index.js'),
) as typeof import('@banking/domain');

/** A module as a page would load it: bundled from the installed packages and minified. */
async function bundle(contents: string, conditions: string[] = []) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: consumer },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    charset: 'utf8',
    ...(conditions.length > 0 ? { conditions } : {}),
    target: 'es2022',
  });
  const text = outputFiles[0]?.text ?? '';
  return { text, bytes: Buffer.byteLength(text), gzipped: gzipSync(text).byteLength };
}

/** The rows that amounts and currencies give as a reason; they come along with any function that refuses. */
const OF_AMOUNTS = ['amount_malformed', 'amount_out_of_range', 'amount_too_precise', 'currency_unknown'];
const OTHER_SENTENCES = Object.entries(REFUSALS)
  .filter(([reason]) => !OF_AMOUNTS.includes(reason))
  .flatMap(([, { meaning, action }]) => [meaning, action]);
const CURRENCY_NAMES = currencies().map(({ name }) => name);

const within = (text: string, sentences: readonly string[]) => sentences.filter((sentence) => text.includes(sentence));

describe('Given a page that imports one function', () => {
  it('When it only compares, Then it loads the comparison', async () => {
    expect((await bundle("export { compare } from '@banking/domain'")).bytes).toBeLessThanOrEqual(100);
  });

  it.each(['add', 'parseTransferAmount', 'toTransferAmount', 'fromBalanceAmount', 'toBalanceAmount', 'split'])(
    'When it is %s, Then neither the currencies nor the other refusals come along',
    async (name) => {
      const { text, bytes } = await bundle(`export { ${name} } from '@banking/domain'`);

      expect(within(text, OTHER_SENTENCES)).toEqual([]);
      expect(within(text, CURRENCY_NAMES)).toEqual([]);
      expect(bytes).toBeLessThanOrEqual(1_800);
    },
  );

  it('When it is formatAmount, Then the currencies come along, and no other refusal', async () => {
    const { text, gzipped } = await bundle("export { formatAmount } from '@banking/domain'");

    expect(within(text, OTHER_SENTENCES)).toEqual([]);
    expect(within(text, CURRENCY_NAMES)).toEqual(CURRENCY_NAMES);
    expect(gzipped).toBeLessThanOrEqual(4_500);
  });

  it('When it is a name of everything, Then what was searched for is there to be found', async () => {
    const { text } = await bundle("export * from '@banking/domain'");

    expect(within(text, OTHER_SENTENCES)).toHaveLength(OTHER_SENTENCES.length);
  });
});

describe('Given a bundler that sets the condition of our own workspace', () => {
  it('When it bundles the sources in the package, Then the page is the same', async () => {
    const page = "export { add, formatAmount } from '@banking/domain'; export * from '@banking/client'";
    const [built, fromSources] = [await bundle(page), await bundle(page, ['@banking/source'])];

    expect(fromSources.text).toContain('Afghani');
    expect(Math.abs(fromSources.bytes - built.bytes)).toBeLessThan(200);
  });
});

describe('Given a page that loads all there is', () => {
  it.each([
    { what: 'domain', page: "export * from '@banking/domain'", bound: 9_000 },
    { what: 'client', page: "export * from '@banking/client'", bound: 6_500 },
    {
      what: 'client with all of domain',
      page: "export * from '@banking/client'; export * from '@banking/domain'",
      bound: 12_288,
    },
  ])('When it is $what, Then it is at most $bound bytes gzipped', async ({ what, page, bound }) => {
    const { bytes, gzipped } = await bundle(page);
    process.stdout.write(`${what}: ${bytes} bytes minified, ${gzipped} gzipped\n`);

    expect(gzipped).toBeLessThanOrEqual(bound);
  });
});
