import { fetchDocument } from '../documented/read-document.js';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { browserPath, isCi } from '../config.js';
import { ADA, idOf, serviceOfTheRun } from '../service.js';
import { routesOf } from '../documented/document.js';
import {
  authorize,
  type Complaints,
  differenceOf,
  execute,
  launchBrowser,
  openOperation,
  openPage,
  paleText,
  README_PICTURE,
  readmePicture,
} from './browser.js';

const WIDTHS = [1280, 390];
const SCREENSHOTS = join(__dirname, '..', '..', 'test-output');

const service = serviceOfTheRun();
const hasBrowser = browserPath() !== undefined;
if (!hasBrowser) console.warn('The docs page is not tested: there is no browser here. Set CHROMIUM_PATH to one.');

/** Without a browser a person's machine skips these; one that is to check everything fails on them. */
const itInBrowser = hasBrowser || isCi() ? it : it.skip;

describe('docs page in a browser', () => {
  let browser: Browser | undefined;

  beforeAll(async () => {
    if (hasBrowser || isCi()) browser = await launchBrowser();
  });

  afterAll(() => browser?.close());

  /** A page for the tests of a group, one after another: it takes seconds to load on a machine of CI. */
  function onePage(width: number): { page: Page; complaints: Complaints } {
    const shared = {} as { page: Page; complaints: Complaints };
    beforeAll(async () => {
      if (browser !== undefined) Object.assign(shared, await openPage(browser, service.url, width));
    });
    afterAll(() => shared.page?.context().close());
    return shared;
  }

  describe.each(WIDTHS)('at %i pixels', (width) => {
    const shared = onePage(width);

    itInBrowser('shows every operation without console errors and without requests to other hosts', async () => {
      const { page, complaints } = shared;
      const shown = await page.locator('.opblock').count();
      const isWiderThanWindow = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
      await page.screenshot({ path: join(SCREENSHOTS, `docs-${width}.png`), fullPage: true });

      expect(shown).toBeGreaterThanOrEqual(8);
      expect(isWiderThanWindow).toBe(false);
      expect(complaints).toEqual({ console: [], foreign: [] });
    });

    itInBrowser('shows the states of resources as text to select', async () => {
      const { page, complaints } = shared;
      const section = page.locator('.info details').filter({ hasText: 'Events: states and types' }).last();

      await section.locator('summary').click();
      await section.locator('.diagram svg').nth(3).waitFor();
      await section.screenshot({ path: join(SCREENSHOTS, `docs-events-${width}.png`) });
      const labels = await section.locator('.diagram .event text').allTextContents();
      const isWiderThanWindow = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
      const sizes = await section
        .locator('.diagram text')
        .evaluateAll((texts: { getBoundingClientRect(): { height: number } }[]) =>
          texts.map((text) => text.getBoundingClientRect().height),
        );

      expect(labels).toEqual(expect.arrayContaining(['order.placed', 'execution.cancelled', 'payout.released']));
      expect(Math.min(...sizes)).toBeGreaterThan(12);
      expect(await section.locator('img').count()).toBe(0);
      expect(isWiderThanWindow).toBe(false);
      expect(complaints).toEqual({ console: [], foreign: [] });
    });

    itInBrowser('folds error responses, and unfolds one that is pressed', async () => {
      const { page } = shared;
      const rows = (await openOperation(page, 'getTransfer')).locator('.responses-table > tbody > tr');

      const statuses = () => rows.evaluateAll((all) => all.map((row) => row.getAttribute('data-code')));
      const folded = await statuses();
      const notFound = rows.and(page.locator('[data-code="404"].folded'));
      expect(folded.slice(0, 3)).toEqual(['200', '400', '401']);
      expect(await notFound.innerText()).toMatch(/^404\s+transfer_not_found$/);
      await notFound.locator('button').click();
      const unfolded = rows.and(page.locator('[data-code="404"].unfolded'));

      expect(await unfolded.innerText()).toContain('The workspace has no transfer with this id.');
      expect((await statuses()).length).toBe(folded.length + 1);
      await notFound.locator('button').click();
      expect(await statuses()).toEqual(folded);
    });

    itInBrowser('shows webhooks with their headers, and nothing to execute', async () => {
      const { page, complaints } = shared;
      const webhooks = page.locator('.webhooks');

      expect(await webhooks.locator('.opblock .opblock-summary-path').allInnerTexts()).toEqual(['event', 'test']);
      for (const operationId of ['receiveEvent', 'receiveTest']) {
        await webhooks.locator(`.opblock[id$="-${operationId}"] .opblock-summary-control`).click();
      }
      await webhooks.locator('.responses-table').nth(1).waitFor();
      await webhooks.screenshot({ path: join(SCREENSHOTS, `docs-webhooks-${width}.png`) });
      const shown = await webhooks.innerText();
      for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) expect(shown).toContain(name);
      expect(shown).toMatch(/: v1,\S{44}/);
      expect(
        await webhooks.locator('input, button.execute, button.try-out__btn').filter({ visible: true }).count(),
      ).toBe(0);
      expect(await page.evaluate('document.documentElement.scrollWidth > window.innerWidth')).toBe(false);
      expect(await paleText(page)).toEqual([]);
      expect(complaints).toEqual({ console: [], foreign: [] });
    });

    itInBrowser('fits the window and is readable with every section open', async () => {
      const { page } = shared;
      await page.evaluate(`document.querySelectorAll('details').forEach((details) => { details.open = true; })`);
      await page.screenshot({ path: join(SCREENSHOTS, `docs-unfolded-${width}.png`), fullPage: true });
      const operation = await openOperation(page, 'listTransfers');
      await operation.locator('details.headers').first().locator('summary').click();
      await operation.screenshot({ path: join(SCREENSHOTS, `docs-operation-${width}.png`) });
      await operation.locator('.responses-table button').filter({ hasText: 'Schema' }).first().click();
      await operation.locator('.json-schema-2020-12-property').first().waitFor();
      await operation.screenshot({ path: join(SCREENSHOTS, `docs-schema-${width}.png`) });
      const isWiderThanWindow = await page.evaluate('document.documentElement.scrollWidth > window.innerWidth');
      const pale = await paleText(page);

      expect(isWiderThanWindow).toBe(false);
      expect(pale).toEqual([]);
    });

    itInBrowser('shows a schema with its name, and fields of what it refers to', async () => {
      const operation = await openOperation(shared.page, 'getTransfer');
      await operation.locator('.responses-table button').filter({ hasText: 'Schema' }).first().click();
      const titles = operation.locator('.json-schema-2020-12__title');
      await titles.first().waitFor();
      expect((await titles.allInnerTexts()).slice(0, 4)).toEqual(['Transfer', 'id', 'amount', 'edges']);
    });

    itInBrowser('offers Authorize and the demo user at the top, and stays there when the page scrolls', async () => {
      const { page, complaints } = shared;
      const buttons = page.locator('.top-bar .sign-in, .top-bar button.authorize');

      expect(await buttons.allInnerTexts()).toEqual(['Sign in as Ada', 'Authorize']);
      for (const button of await buttons.all()) expect((await button.boundingBox())!.y).toBeLessThan(60);
      await page.screenshot({ path: join(SCREENSHOTS, `docs-top-${width}.png`) });
      await page.goto(`${service.url}/docs#/Transfers/getTransfer`);
      await page.reload();
      const summary = page.locator('.opblock.is-open .opblock-summary');
      await summary.waitFor();
      // The page scrolls to the operation as soon as it is there. Its policy forbids eval, which waitForFunction uses.
      await page.evaluate(`new Promise((resolve) => {
          const check = () => (scrollY > 0 ? resolve() : requestAnimationFrame(check));
          check();
        })`);

      expect((await buttons.last().boundingBox())!.y).toBeLessThan(60);
      const bar = (await page.locator('.top-bar').boundingBox())!;
      expect((await summary.boundingBox())!.y).toBeGreaterThanOrEqual(bar.height);
      expect(complaints).toEqual({ console: [], foreign: [] });
    });
  });

  describe('before and after signing in', () => {
    const shared = onePage(1280);

    itInBrowser.each(['top-bar', 'dialog-ux'])('signs in as the demo user with one click in the %s', async (place) => {
      const { page, complaints } = shared;
      if (place === 'dialog-ux') await page.locator('.top-bar button.authorize').click();

      await page.locator(`.${place} .sign-in`).last().click();
      await page.locator('.top-bar .sign-out').waitFor();

      expect(await page.locator('.top-bar .status').innerText()).toBe(`Signed in as ${ADA}`);
      expect(await page.locator('.dialog-ux, .sign-in').count()).toBe(0);
      expect(await execute(page, 'getTransfer')).toMatchObject({ status: '200' });
      await page.locator('.top-bar .sign-out').click();
      expect(await execute(page, 'getTransfer')).toMatchObject({ status: '401' });
      expect(complaints.foreign).toEqual([]);
    });

    itInBrowser('marks the origin of each operation, and shows commands with the address of the page', async () => {
      const { page } = shared;
      const document = await fetchDocument(service);

      for (const { operation } of routesOf(document)) {
        const marks = page.locator(`.opblock[id$="-${operation.operationId}"] .opblock-summary .mark`);

        expect(await marks.allInnerTexts()).toEqual([operation['x-provenance']]);
      }
      const former = await openOperation(page, 'listCorridorsFormerly');
      expect(await former.innerText()).toContain('The same operation as GET /recipients/countries/{country}/corridors');
      expect(await page.locator('.info').innerText()).toContain(`export BASE_URL=${service.url}\n`);
    });

    itInBrowser('blocks a script of another origin', async () => {
      const { page, complaints } = shared;
      await page.evaluate(
        `document.body.insertAdjacentHTML('beforeend', '<img src="x" onerror="window.hurt = true">')`,
      );
      await page.evaluate(
        `document.body.append(Object.assign(document.createElement('script'), { textContent: 'window.hurt = true' }))`,
      );

      expect(await page.evaluate('window.hurt')).toBeUndefined();
      expect(complaints.console.join('\n')).toContain('Content Security Policy');
    });
  });

  describe('with a token', () => {
    const shared = onePage(1280);

    itInBrowser('executes the prefilled request after authorization, also after a reload', async () => {
      const { page, complaints } = shared;
      await authorize(page, await service.tokenOf(ADA));
      const apps = await execute(page, 'listApps');
      const transfer = await execute(page, 'getTransfer');
      await page.screenshot({ path: join(SCREENSHOTS, 'docs-executed.png'), fullPage: true });

      expect([apps.status, transfer.status]).toEqual(['200', '200']);
      expect(apps.body).toContain('Northwind Treasury');
      expect(transfer.body).toContain('"ACCC"');
      expect(complaints).toEqual({ console: [], foreign: [] });

      await page.reload();
      await page.locator('.opblock').first().waitFor();
      const again = await execute(page, 'listApps');

      expect(again.status).toBe('200');
      expect(complaints).toEqual({ console: [], foreign: [] });
    });

    itInBrowser('sends a new idempotency key for each execution', async () => {
      const { page } = shared;
      const keys: (string | undefined)[] = [];
      page.on('request', (request) => {
        if (request.method() === 'POST') keys.push(request.headers()['idempotency-key']);
      });

      for (const example of ['internal', 'monthly', 'internal']) {
        const block = await openOperation(page, 'placeOrder');
        await block
          .locator('.body-param .examples-select-element, .opblock-section-request-body .examples-select-element')
          .first()
          .selectOption(example);
        expect(await execute(page, 'placeOrder')).toMatchObject({ status: '200' });
      }
      const own = await execute(page, 'placeOrder', { 'Idempotency-Key': 'my-own-key' });

      expect(own.status).toBe('200');
      expect(keys.slice(0, 3)).toEqual([1, 2, 3].map(() => expect.stringMatching(/^[0-9a-f]{32}$/)));
      expect(new Set(keys).size).toBe(4);
      expect(keys[3]).toBe('my-own-key');
    });
  });

  itInBrowser('looks as in the picture of the README, which npm run picture takes', async () => {
    const picture = await readmePicture(browser!, service.url);
    writeFileSync(join(SCREENSHOTS, 'docs-page.png'), picture);

    expect(await differenceOf(browser!, picture, readFileSync(README_PICTURE))).toBeLessThan(0.02);
  });

  itInBrowser('removes a stored token that has expired', async () => {
    const { page } = await openPage(browser!, service.url, 1280);
    const claims = Buffer.from(JSON.stringify({ email: ADA, exp: 1 })).toString('base64url');
    const bearer = { name: 'bearer', schema: { type: 'http', scheme: 'bearer' }, value: `e30.${claims}.e30` };
    await page.evaluate(`localStorage.setItem('authorized', ${JSON.stringify(JSON.stringify({ bearer }))})`);

    await page.reload();
    await page.locator('.top-bar .sign-in').waitFor();

    expect(await page.locator('.top-bar .status').innerText()).toBe('Not signed in');
    await page.context().close();
  });

  itInBrowser('shows the error response unchanged', async () => {
    const { page } = await openPage(browser!, service.url, 390);
    await authorize(page, await service.tokenOf(ADA));

    const missing = await execute(page, 'getTransfer', {
      transferId: '999999999',
      'Workspace-ID': String(idOf(service.world, 'workspaces', 'Northwind Trading')),
    });
    await page.screenshot({ path: join(SCREENSHOTS, 'docs-missing-390.png') });

    expect(missing.status).toBe('404');
    expect(missing.body).toContain('transfer_not_found');
    const documented = page.locator('.opblock.is-open tr.unfolded');
    expect(await documented.getAttribute('data-code')).toBe('404');
    await page.context().close();
  });
});
