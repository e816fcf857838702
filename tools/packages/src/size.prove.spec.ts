import { join } from 'node:path';
import { createRequire } from 'node:module';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { run } from './run.js';

const { consumer } = run();
// By their paths: Jest resolves names by the condition of our own workspace.
const built = createRequire(join(consumer, 'node_modules/@banking/domain/dist/index.js'));
const { REFUSALS } = built('./index.js') as typeof import('@banking/domain');
const { CURRENCY_NAMES } = built('./prose.js') as typeof import('@banking/domain/prose');

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
const OTHER_MESSAGES = Object.entries(REFUSALS)
  .filter(([reason]) => !OF_AMOUNTS.includes(reason))
  .flatMap(([, { message, action }]) => [message, action]);
/** Codes and numbers as they stand side by side in the table. */
const CURRENCIES = ['"EUR",978', '"KWD",414', '"XAU",959'];
/** Texts that only people read, in an entry of their own. */
const PROSE = Object.values(CURRENCY_NAMES);

const within = (text: string, sentences: readonly string[]) => sentences.filter((sentence) => text.includes(sentence));

describe('bundle of one import', () => {
  it('contains only the comparison', async () => {
    expect((await bundle("export { compare } from '@banking/domain'")).bytes).toBeLessThanOrEqual(100);
  });

  it.each(['add', 'parseTransferAmount', 'toTransferAmount', 'fromBalanceAmount', 'toBalanceAmount', 'split'])(
    'contains for %s neither the currencies nor the other refusals',
    async (name) => {
      const { text, bytes } = await bundle(`export { ${name} } from '@banking/domain'`);

      expect(within(text, [...OTHER_MESSAGES, ...CURRENCIES])).toEqual([]);
      expect(bytes).toBeLessThanOrEqual(2_100);
    },
  );

  it('contains for formatAmount the currencies, and no other refusal', async () => {
    const { text, gzipped } = await bundle("export { formatAmount } from '@banking/domain'");

    expect(within(text, OTHER_MESSAGES)).toEqual([]);
    expect(within(text, CURRENCIES)).toEqual(CURRENCIES);
    expect(gzipped).toBeLessThanOrEqual(2_800);
  });

  it('contains the searched strings for a namespace import', async () => {
    const { text } = await bundle("export * from '@banking/domain'; export * from '@banking/domain/prose'");

    expect(within(text, [...OTHER_MESSAGES, ...CURRENCIES])).toHaveLength(OTHER_MESSAGES.length + CURRENCIES.length);
    expect(within(text, PROSE)).toHaveLength(PROSE.length);
  });
});

describe('bundler with the export condition of the workspace', () => {
  it('bundles the sources of the package to the same page', async () => {
    const page = `export { add, formatAmount } from '@banking/domain'; export * from '@banking/domain/prose';
      export * from '@banking/client'; export * from '@banking/client/session';
      export * from '@banking/client/webhooks'`;
    const [built, fromSources] = [await bundle(page), await bundle(page, ['@banking/source'])];

    expect(fromSources.text).toContain('Afghani');
    expect(Math.abs(fromSources.bytes - built.bytes)).toBeLessThan(200);
  });
});

describe('bundle of everything', () => {
  const client = "export * from '@banking/client';";
  const domain = "export * from '@banking/domain';";
  const prose = "export * from '@banking/domain/prose';";
  const proof = "export * from '@banking/domain/proof';";
  const session = "export * from '@banking/client/session';";
  const webhooks = "export * from '@banking/client/webhooks';";

  it.each([
    { what: 'domain', page: domain, bound: 10_100 },
    { what: 'client', page: client, bound: 13_200 },
    { what: 'client with domain', page: client + domain, bound: 18_700 },
    { what: 'domain and its prose', page: domain + prose, bound: 12_300 },
    // Reads nine kinds of lines strictly, and names each fault. Only a page that proves exports loads it.
    { what: 'the proof of an export', page: proof, bound: 7_000 },
    { what: 'session', page: session, bound: 2_500 },
    { what: 'webhooks', page: webhooks, bound: 2_000 },
  ])('is at most $bound bytes gzipped for $what', async ({ what, page, bound }) => {
    const { bytes, gzipped } = await bundle(page);
    process.stdout.write(`${what}: ${bytes} bytes minified, ${gzipped} gzipped\n`);

    expect(gzipped).toBeLessThanOrEqual(bound);
  });

  it('contains for the client neither sessions nor webhooks', async () => {
    expect((await bundle(session + webhooks)).text).toMatch(/sessions\/tokens.*webhook-id/s);
    expect((await bundle(client)).text).not.toMatch(/sessions\/tokens|webhook-id/);
  });

  it('contains for the client with domain no prose', async () => {
    expect(
      within(
        (await bundle(client + domain)).text,
        PROSE.filter((text) => text.length > 6),
      ),
    ).toEqual([]);
  });
});
