import type { Browser, Page } from 'playwright-core';
import { browserPath, isCi } from '../config.js';
import { type FreshService, freshService } from '../documented/fresh-service.js';
import { serviceOfTheRun } from '../service.js';
import { authorize, launchBrowser, openPage } from './browser.js';

const TOKEN = 'header.payload.signature';

/** Everything a page can leave in the browser. */
const STORED = `JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie, location.href])`;

const hasBrowser = browserPath() !== undefined;
const itInBrowser = hasBrowser || isCi() ? it : it.skip;

describe('Given a token that a reader gave to the docs page', () => {
  const sandbox = serviceOfTheRun();
  let live: FreshService;
  let browser: Browser;

  beforeAll(async () => {
    if (!hasBrowser && !isCi()) return;
    browser = await launchBrowser();
    live = await freshService({ SANDBOX: 'off', DEMO_DATA: 'off', WORKER: 'off' });
  }, 180_000);
  afterAll(async () => {
    await browser?.close();
    await live?.stop();
  });

  const reload = async (page: Page) => {
    await page.reload();
    await page.locator('.opblock').first().waitFor();
  };
  const isAuthorized = async (page: Page) => (await page.locator('.auth-wrapper .authorize.locked').count()) === 1;

  itInBrowser('When the service is a sandbox Then the browser keeps it over a reload', async () => {
    const { page } = await openPage(browser, sandbox.url, 1280);
    await authorize(page, TOKEN);

    expect(await page.evaluate(STORED)).toContain(TOKEN);
    await reload(page);
    expect(await isAuthorized(page)).toBe(true);
    await page.context().close();
  });

  itInBrowser('When it is not Then the token is nowhere but in the memory of the page', async () => {
    const { page, complaints } = await openPage(browser, live.url, 1280);
    await authorize(page, TOKEN);

    expect(await isAuthorized(page)).toBe(true);
    expect(await page.evaluate(STORED)).not.toContain(TOKEN);
    await reload(page);
    expect(await isAuthorized(page)).toBe(false);
    expect(complaints).toEqual({ console: [], foreign: [] });
    await page.context().close();
  });

  itInBrowser('When it is not, and an earlier version has stored a token, Then the page removes it', async () => {
    const { page } = await openPage(browser, live.url, 1280);
    const stored = { bearer: { name: 'bearer', schema: { type: 'http', scheme: 'bearer' }, value: TOKEN } };
    await page.evaluate(`localStorage.setItem('authorized', ${JSON.stringify(JSON.stringify(stored))})`);

    await reload(page);

    expect(await page.evaluate(STORED)).not.toContain(TOKEN);
    expect(await isAuthorized(page)).toBe(false);
    await page.context().close();
  });

  itInBrowser('When the field of the token is shown Then the browser is asked not to remember it', async () => {
    const { page } = await openPage(browser, live.url, 1280);
    await page.locator('button.authorize').first().click();

    expect(await page.locator('.dialog-ux input').first().getAttribute('autocomplete')).toBe('off');
    await page.context().close();
  });
});
