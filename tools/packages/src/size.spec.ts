import { join } from 'node:path';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { run } from './run.js';

const { consumer } = run();
// By their paths: Jest resolves names by the condition of our own workspace.
const built = createRequire(join(consumer, 'node_modules/@banking/domain/dist/index.js'));
const { REFUSALS } = built('./index.js') as typeof import('@banking/domain');
const { CURRENCY_NAMES, REFUSAL_ACTIONS } = built('./prose.js') as typeof import('@banking/domain/prose');

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
const OTHER_MEANINGS = Object.entries(REFUSALS)
  .filter(([reason]) => !OF_AMOUNTS.includes(reason))
  .map(([, { meaning }]) => meaning);
/** Codes and numbers as they stand side by side in the table. */
const CURRENCIES = ['"EUR",978', '"KWD",414', '"XAU",959'];
/** What only people read: an entry of its own. */
const PROSE = [...Object.values(REFUSAL_ACTIONS), ...Object.values(CURRENCY_NAMES)];

const within = (text: string, sentences: readonly string[]) => sentences.filter((sentence) => text.includes(sentence));

describe('Given a page that imports one function', () => {
  it('When it only compares, Then it loads the comparison', async () => {
    expect((await bundle("export { compare } from '@banking/domain'")).bytes).toBeLessThanOrEqual(100);
  });

  it.each(['add', 'parseTransferAmount', 'toTransferAmount', 'fromBalanceAmount', 'toBalanceAmount', 'split'])(
    'When it is %s, Then neither the currencies nor the other refusals come along',
    async (name) => {
      const { text, bytes } = await bundle(`export { ${name} } from '@banking/domain'`);

      expect(within(text, [...OTHER_MEANINGS, ...CURRENCIES])).toEqual([]);
      expect(bytes).toBeLessThanOrEqual(1_800);
    },
  );

  it('When it is formatAmount, Then the currencies come along, and no other refusal', async () => {
    const { text, gzipped } = await bundle("export { formatAmount } from '@banking/domain'");

    expect(within(text, OTHER_MEANINGS)).toEqual([]);
    expect(within(text, CURRENCIES)).toEqual(CURRENCIES);
    expect(gzipped).toBeLessThanOrEqual(2_400);
  });

  it('When it is a name of everything, Then what was searched for is there to be found', async () => {
    const { text } = await bundle("export * from '@banking/domain'; export * from '@banking/domain/prose'");

    expect(within(text, [...OTHER_MEANINGS, ...CURRENCIES])).toHaveLength(OTHER_MEANINGS.length + CURRENCIES.length);
    expect(within(text, PROSE)).toHaveLength(PROSE.length);
  });
});

describe('Given a bundler that sets the condition of our own workspace', () => {
  it('When it bundles the sources in the package, Then the page is the same', async () => {
    const page = `export { add, formatAmount } from '@banking/domain'; export * from '@banking/domain/prose';
      export * from '@banking/client'; export * from '@banking/client/session';
      export * from '@banking/client/signing'`;
    const [built, fromSources] = [await bundle(page), await bundle(page, ['@banking/source'])];

    expect(fromSources.text).toContain('Afghani');
    expect(Math.abs(fromSources.bytes - built.bytes)).toBeLessThan(200);
  });
});

describe('Given a page that loads all there is', () => {
  const client = "export * from '@banking/client';";
  const domain = "export * from '@banking/domain';";
  const prose = "export * from '@banking/domain/prose';";
  const proof = "export * from '@banking/domain/proof';";
  const session = "export * from '@banking/client/session';";
  const signing = "export * from '@banking/client/signing';";

  it.each([
    { what: 'domain', page: domain, bound: 7_500 },
    { what: 'client', page: client, bound: 9_250 },
    { what: 'client with domain', page: client + domain, bound: 13_250 },
    { what: 'domain and its prose', page: domain + prose, bound: 11_000 },
    { what: 'the proof of an export', page: proof, bound: 4_000 },
    { what: 'session', page: session, bound: 2_400 },
    { what: 'signing', page: signing, bound: 2_500 },
  ])('When it is $what, Then it is at most $bound bytes gzipped', async ({ what, page, bound }) => {
    const { bytes, gzipped } = await bundle(page);
    process.stdout.write(`${what}: ${bytes} bytes minified, ${gzipped} gzipped\n`);

    expect(gzipped).toBeLessThanOrEqual(bound);
  });

  it('When it is the client, Then nothing of sessions and signing comes along', async () => {
    expect((await bundle(session + signing)).text).toMatch(/sessions\/tokens.*Ed25519/s);
    expect((await bundle(client)).text).not.toMatch(/sessions\/tokens|Ed25519/);
  });

  it('When it is the client with domain, Then nothing of the prose comes along', async () => {
    expect(
      within(
        (await bundle(client + domain)).text,
        PROSE.filter((text) => text.length > 6),
      ),
    ).toEqual([]);
  });
});
