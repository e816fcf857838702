import { createRequire } from 'node:module';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { run } from './run.js';

const { consumer } = run();
// By their paths: Jest resolves names by the condition of our own workspace.
const built = createRequire(join(consumer, 'node_modules/@banking/domain/dist/index.js'));
const { REFUSALS } = built('./index.js') as typeof import('@banking/domain');
const { CURRENCY_NAMES } = built('./prose.js') as typeof import('@banking/domain/prose');

/** A module as a page would load it: bundled from the installed packages and minified. */
async function bundle(contents: string): Promise<string> {
  const { outputFiles } = await build({
    ...{ stdin: { contents, resolveDir: consumer }, bundle: true, minify: true, write: false },
    ...{ format: 'esm', platform: 'browser', charset: 'utf8', target: 'es2022' },
  });
  return outputFiles[0]?.text ?? '';
}

/** The rows that amounts and currencies give as a reason; they come along with any function that refuses. */
const OF_AMOUNTS = ['amount_malformed', 'amount_out_of_range', 'amount_too_precise', 'currency_unknown'];
const OTHER_MESSAGES = Object.entries(REFUSALS)
  .filter(([reason]) => !OF_AMOUNTS.includes(reason))
  .flatMap(([, { message, action }]) => [message, action]);
/** Codes and numbers as they stand side by side in the table. */
const CURRENCIES = ['"EUR",978', '"KWD",414', '"XAU",959'];
/** Texts that only people read, in an entry of their own. */
const PROSE = Object.values(CURRENCY_NAMES).filter((text) => text.length > 6);

const within = (text: string, sentences: readonly string[]) => sentences.filter((sentence) => text.includes(sentence));

describe('a page that imports from the libraries', () => {
  it('contains everything for a namespace import', async () => {
    const text = await bundle("export * from '@banking/domain'; export * from '@banking/domain/prose'");

    const all = [...OTHER_MESSAGES, ...CURRENCIES, ...PROSE];
    expect(within(text, all)).toEqual(all);
  });

  it.each(['add', 'parseTransferAmount', 'toBalanceAmount', 'split'])(
    'contains for %s neither the currencies nor the other refusals',
    async (name) => {
      const text = await bundle(`export { ${name} } from '@banking/domain'`);

      expect(within(text, [...OTHER_MESSAGES, ...CURRENCIES])).toEqual([]);
    },
  );

  it.each([
    [3, "export { parseAmount } from '@banking/domain'"],
    [3, "export { convert } from '@banking/domain'"],
    [3, "export { formatAmount } from '@banking/domain'"],
    [17, "export * from '@banking/domain'"],
    [2.5, "export * from '@banking/domain/prose'"],
    [7, "export * from '@banking/domain/proof'"],
    [17, "export * from '@banking/client'"],
    [18.5, "export * from '@banking/client'; export * from '@banking/client/session'"],
    [18.5, "export * from '@banking/client'; export * from '@banking/client/webhooks'"],
  ])('takes at most %d kB, as the manuals say, for %s', async (kilobytes, entry) => {
    expect(gzipSync(await bundle(entry), { level: 9 }).length).toBeLessThanOrEqual(kilobytes * 1_000);
  });

  it('contains for formatAmount the currencies, and no other refusal', async () => {
    const text = await bundle("export { formatAmount } from '@banking/domain'");

    expect(within(text, [...OTHER_MESSAGES, ...CURRENCIES])).toEqual(CURRENCIES);
  });

  it('contains for the client with domain neither sessions, nor webhooks, nor prose', async () => {
    const [sessions, webhooks] = [/sessions\/tokens/, /webhook-id/];
    const entries = "export * from '@banking/client/session'; export * from '@banking/client/webhooks'";
    const text = await bundle("export * from '@banking/client'; export * from '@banking/domain'");

    for (const pattern of [sessions, webhooks]) {
      expect(await bundle(entries)).toMatch(pattern);
      expect(text).not.toMatch(pattern);
    }
    expect(within(text, PROSE)).toEqual([]);
  });
});
