import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { build } from 'esbuild';
import { type Browser, type Page, chromium } from 'playwright-core';
import { run } from './run.js';

const { consumer, pages, service } = run();
const FOLDER = join(consumer, 'pages');

const BROWSERS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const BROWSER = process.env['CHROMIUM_PATH'] || BROWSERS.find((path) => existsSync(path));

/** Where no browser is, these are left out; not on a machine whose job it is to check everything. */
const inABrowser = BROWSER === undefined && process.env['CI'] !== 'true' ? describe.skip : describe;

/** What a page of a sibling team does. */
const SCRIPT = `
  import { BankingClient, OutcomeUnknownError, RemoteRefusal } from '@banking/client';
  import { memoryStore, RefreshTokenSession } from '@banking/client/session';
  import { Refusal, add, compare, formatAmount, fromBalanceAmount, parseAmount, parseTransferAmount, toTransferAmount } from '@banking/domain';
  import { DETAILS, exportLine, linesOf, proveExport, transactionHash } from '@banking/domain/proof';
  import { signWebhook, verifyWebhook } from '@banking/client/webhooks';

  /** The books of a workspace in which nothing has happened yet, and the same cut short. */
  const bytesOf = (lines) => new Blob([lines.map((line) => line + '\\n').join('')]).stream();
  const counts = { accounts: 0, transactions: 0 };
  const header = { workspace: { id: 1, name: 'Northwind' }, exportedAt: '2026-11-21T12:00:00.000Z', ...counts };
  const details = Object.fromEntries(DETAILS.map((kind) => [kind, 0]));
  const lines = [exportLine({ header }), exportLine({ end: { ...counts, transfers: 0, ...details } })];

  /** A webhook signed and verified here, and the same with another body. */
  const verifyTwice = async () => {
    const webhook = { type: 'webhook.test', timestamp: '2026-11-23T12:00:00.000000Z', data: {} };
    const secret = 'whsec_' + btoa('x'.repeat(32));
    const { headers, body } = await signWebhook(webhook, secret, { id: 'evt_1_1', timestamp: new Date() });
    const other = await verifyWebhook(headers, body + ' ', secret).catch((error) => error);
    return [(await verifyWebhook(new Headers(headers), body, secret)).type, other.reason];
  };

  globalThis.show = async ({ url, token, transferId }) => {
    const workspace = new BankingClient({ baseUrl: url, token }).workspace(1);
    const transfer = await workspace.transfers.get(transferId);
    const { code } = transfer.edges.account.edges.currency;
    const amount = parseTransferAmount(transfer.amount);
    const balance = fromBalanceAmount(transfer.edges.balance.amount);
    const refused = await workspace.transfers.get(999_999).catch((error) => error);
    const typed = await Promise.resolve('1.005').then((text) => parseAmount(text, code)).catch((error) => error);
    return {
      shown: formatAmount(amount, code, 'en'),
      before: toTransferAmount(add(balance, amount)),
      covered: compare(amount, balance),
      refused: [refused instanceof RemoteRefusal, refused instanceof Refusal, refused.reason, refused.requestId !== ''],
      typed: [typed instanceof Refusal, typed.reason],
      proven: (await proveExport(linesOf(bytesOf(lines)))).workspace.name,
      webhooks: await verifyTwice(),
      unproven: await proveExport(linesOf(bytesOf(lines.slice(0, 1)))).catch((error) => error.message),
      hash: await transactionHash({ workspaceId: 1, transactionId: 2, createdAt: '2026-11-21T09:30:00.000000Z', transfers: [], previous: [] }),
    };
  };

  /** What a page does where answers get lost: the first of a creation, or every one. */
  globalThis.pay = async ({ url, token }) => {
    const renewing = () => Promise.resolve(Response.json({ accessToken: token, refreshToken: 'next', expiresIn: 900 }));
    const session = new RefreshTokenSession({ authUrl: url, store: memoryStore('first'), fetch: renewing });
    const keys = [];
    const losing = (times) => async (...sent) => {
      const answer = await fetch(...sent);
      if (sent[1].method !== 'POST' || (times -= 1) < 0) return answer;
      keys.push(sent[1].headers['Idempotency-Key']);
      throw new TypeError('the line is gone');
    };
    const over = (times) => new BankingClient({ baseUrl: url, token: session, fetch: losing(times) }).workspace(2);

    const account = await over(1).accounts.open({ productID: 2, alias: 'Opened in a browser' });
    const lost = await over(9).accounts.open({ productID: 2, alias: 'Lost in a browser' }).catch((error) => error);
    const found = await over(0).accounts.open({ productID: 2, alias: 'Lost in a browser' }, lost);
    const aliases = [];
    for await (const { alias } of over(0).accounts.list({ limit: 1 })) aliases.push(alias);
    const leaving = new AbortController();
    leaving.abort(new Error('the page is closed'));
    return {
      once: [account.isReplay, account.idempotencyKey === keys[0]],
      lost: [lost instanceof OutcomeUnknownError, new Set(keys.slice(1)).size, keys.at(-1) === lost.idempotencyKey],
      found: found.isReplay,
      made: aliases.filter((alias) => / in a browser$/.test(alias)).sort(),
      left: await over(0).accounts.listPage({}, { signal: leaving.signal }).catch((error) => error.message),
    };
  };
`;

const IMPORT_MAP = {
  imports: {
    '@banking/client': '/node_modules/@banking/client/esm/dist/index.js',
    '@banking/client/session': '/node_modules/@banking/client/esm/dist/session.js',
    '@banking/client/webhooks': '/node_modules/@banking/client/esm/dist/webhooks.js',
    '@banking/domain': '/node_modules/@banking/domain/esm/dist/index.js',
    '@banking/domain/proof': '/node_modules/@banking/domain/esm/dist/proof.js',
  },
};

const PAGES = {
  'bundled.html': '<script type="module" src="bundled.js"></script>',
  'unbundled.html': `<script type="importmap">${JSON.stringify(IMPORT_MAP)}</script><script type="module">${SCRIPT}</script>`,
};

inABrowser('page of another origin in a browser', () => {
  let browser: Browser;
  let page: Page;
  let complaints: string[];

  beforeAll(async () => {
    mkdirSync(FOLDER);
    for (const [name, body] of Object.entries(PAGES)) {
      writeFileSync(join(FOLDER, name), `<!doctype html><meta charset="utf-8"><link rel="icon" href="data:,">${body}`);
    }
    await build({
      stdin: { contents: SCRIPT, resolveDir: consumer },
      bundle: true,
      minify: true,
      format: 'esm',
      outfile: join(FOLDER, 'bundled.js'),
    });
    if (BROWSER === undefined) throw new Error('there is no browser: set CHROMIUM_PATH');
    const args = process.geteuid?.() === 0 ? ['--no-sandbox'] : [];
    browser = await chromium.launch({ executablePath: BROWSER, args });
  });

  afterAll(() => browser?.close());

  beforeEach(async () => {
    complaints = [];
    page = await browser.newPage();
    page.on('console', (message) => complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
  });

  it.each(Object.keys(PAGES))('reads a transfer, calculates and formats it with %s', async (name) => {
    await page.goto(`${pages}/pages/${name}`, { waitUntil: 'load' });

    expect(complaints).toEqual([]);
    const answer = await page.evaluate(
      `show(${JSON.stringify({ ...service, transferId: 26 })})`, // the international demo transfer
    );
    expect(answer).toEqual({
      shown: '€18,750.00',
      before: '48000000',
      covered: -1,
      refused: [true, true, 'transfer_not_found', true],
      typed: [true, 'amount_too_precise'],
      proven: 'Northwind',
      webhooks: ['webhook.test', 'signature_mismatch'],
      unproven: 'line 2 is missing: the export was cut short',
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('places an order once after lost responses, and reports an unknown outcome', async () => {
    await page.goto(`${pages}/pages/bundled.html`, { waitUntil: 'load' });

    const answer = await page.evaluate(`pay(${JSON.stringify(service)})`);

    expect(complaints).toEqual([]);
    expect(answer).toEqual({
      once: [true, true],
      lost: [true, 1, true],
      found: true,
      made: ['Lost in a browser', 'Opened in a browser'],
      left: 'the page is closed',
    });
  });
});
