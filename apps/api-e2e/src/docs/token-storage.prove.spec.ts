import type { Browser, Page } from 'playwright-core';
import { browserPath, isCi } from '../config.js';
import { newDataDir, RunningService, type TestDataDir } from '../running-service.js';
import { serviceOfTheRun } from '../service.js';
import { authorize, launchBrowser, openPage } from './browser.js';

const TOKEN = 'header.payload.signature';

/** Everything a page can leave in the browser. */
const STORED = `JSON.stringify([Object.entries(localStorage), Object.entries(sessionStorage), document.cookie, location.href])`;

const hasBrowser = browserPath() !== undefined;
const itInBrowser = hasBrowser || isCi() ? it : it.skip;

describe('token in the docs page', () => {
  const sandbox = serviceOfTheRun();
  let folder: TestDataDir;
  let live: RunningService;
  /** As live as the other, by its defaults. */
  let quiet: RunningService;
  let browser: Browser;

  beforeAll(async () => {
    if (!hasBrowser && !isCi()) return;
    browser = await launchBrowser();
    // The page calls the service with an invented token only, so that no provider is asked for its keys.
    const environment = { SANDBOX: 'off', OIDC_ISSUER: 'https://login.example', WORKER: 'off' };
    folder = await newDataDir();
    const dataDir = folder.path;
    live = await RunningService.start({ dataDir, environment: { ...environment, DOCS_TRY_IT_OUT: 'on' } });
    quiet = await RunningService.start({ dataDir, environment });
  });
  afterAll(async () => {
    await browser?.close();
    await live?.stop();
    await quiet?.stop();
    await folder?.remove();
  });

  const reload = async (page: Page) => {
    await page.reload();
    await page.locator('.opblock').first().waitFor();
  };
  const isAuthorized = async (page: Page) => (await page.locator('.auth-wrapper .authorize.locked').count()) === 1;

  itInBrowser('survives a reload in a sandbox', async () => {
    const { page } = await openPage(browser, sandbox.url, 1280);
    await authorize(page, TOKEN);

    expect(await page.evaluate(STORED)).toContain(TOKEN);
    await reload(page);
    expect(await isAuthorized(page)).toBe(true);
    await page.context().close();
  });

  itInBrowser('stays only in memory in a live deployment', async () => {
    const { page, complaints } = await openPage(browser, live.url, 1280);
    await authorize(page, TOKEN);

    expect(await isAuthorized(page)).toBe(true);
    expect(await page.evaluate(STORED)).not.toContain(TOKEN);
    await reload(page);
    expect(await isAuthorized(page)).toBe(false);
    expect(complaints).toEqual({ console: [], foreign: [] });
    await page.context().close();
  });

  itInBrowser('is removed from storage in a live deployment if an earlier version stored it', async () => {
    const { page } = await openPage(browser, live.url, 1280);
    const stored = { bearer: { name: 'bearer', schema: { type: 'http', scheme: 'bearer' }, value: TOKEN } };
    await page.evaluate(`localStorage.setItem('authorized', ${JSON.stringify(JSON.stringify(stored))})`);

    await reload(page);

    expect(await page.evaluate(STORED)).not.toContain(TOKEN);
    expect(await isAuthorized(page)).toBe(false);
    await page.context().close();
  });

  it.each([
    ['is not JSON', `localStorage.setItem('authorized', 'yes')`],
    ['is refused', `Object.defineProperty(window, 'localStorage', { get() { throw new Error('denied'); } })`],
  ])('is not needed: the page works where storage %s', async (_, script) => {
    if (!hasBrowser && !isCi()) return;
    const context = await browser.newContext();
    await context.addInitScript(script);
    const page = await context.newPage();
    await page.goto(`${sandbox.url}/docs`);

    await page.locator('.opblock').first().waitFor();
    await authorize(page, TOKEN);
    expect(await isAuthorized(page)).toBe(true);
    await context.close();
  });

  itInBrowser('has a field without autocomplete', async () => {
    const { page } = await openPage(browser, live.url, 1280);
    await page.locator('button.authorize').first().click();

    expect(await page.locator('.dialog-ux input').first().getAttribute('autocomplete')).toBe('off');
    await page.context().close();
  });

  itInBrowser('is not asked for in a live deployment whose page sends no requests', async () => {
    const { page, complaints } = await openPage(browser, quiet.url, 1280);
    const operation = page.locator('.opblock[id$="-listApps"]');

    await operation.locator('.opblock-summary-control').click();
    await operation.locator('.responses-table').first().waitFor();

    expect(await page.locator('.top-bar .status').innerText()).toBe('This page sends no requests');
    expect(await page.locator('button.authorize, button.execute, button.try-out__btn').count()).toBe(0);
    expect(complaints).toEqual({ console: [], foreign: [] });
    await page.context().close();
  });
});
