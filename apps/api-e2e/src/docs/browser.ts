import { type Browser, chromium, type Locator, type Page } from 'playwright-core';
import { browserPath } from '../config.js';

const RENDERED_MS = 180_000;

/** What a page did that it should not have. */
export interface Complaints {
  readonly console: string[];
  readonly foreign: string[];
}

export async function launchBrowser(): Promise<Browser> {
  const executablePath = browserPath();
  if (executablePath === undefined) throw new Error('there is no browser: set CHROMIUM_PATH');
  const args = process.geteuid?.() === 0 ? ['--no-sandbox'] : [];
  return chromium.launch({ executablePath, args });
}

/** A page that remembers every word of its console that is a complaint, and every request that leaves for elsewhere. */
export async function openPage(
  browser: Browser,
  url: string,
  width: number,
  hash = '',
): Promise<{ page: Page; complaints: Complaints }> {
  const context = await browser.newContext({ viewport: { width, height: 900 } });
  // On a busy machine the page needs more than the 30 seconds of Playwright.
  context.setDefaultTimeout(RENDERED_MS);
  const page = await context.newPage();
  const complaints: Complaints = { console: [], foreign: [] };
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.console.push(message.text());
  });
  page.on('pageerror', (error) => complaints.console.push(error.message));
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    if (origin !== new URL(url).origin && protocol !== 'data:' && protocol !== 'blob:')
      complaints.foreign.push(request.url());
  });
  await page.goto(`${url}/docs${hash}`);
  await page.locator('.opblock').first().waitFor();
  return { page, complaints };
}

/** Gives the page a token, as a person does who presses Authorize. */
export async function authorize(page: Page, token: string): Promise<void> {
  await page.locator('button.authorize').first().click();
  const dialog = page.locator('.dialog-ux');
  await dialog.locator('input').first().fill(token);
  await dialog.locator('button.authorize').click();
  await dialog.locator('button.btn-done').click();
  await dialog.waitFor({ state: 'detached' });
}

/** Unfolds an operation. */
export async function openOperation(page: Page, operationId: string): Promise<Locator> {
  const block = page.locator(`.opblock[id$="-${operationId}"]`);
  if (!(await block.getAttribute('class'))?.includes('is-open'))
    await block.locator('.opblock-summary-control').click();
  await block.locator('button.execute').waitFor();
  return block;
}

/** Opens an operation, fills in what is to differ from its examples by the names of the parameters, and executes it. */
export async function execute(page: Page, operationId: string, values: Readonly<Record<string, string>> = {}) {
  const block = await openOperation(page, operationId);
  for (const [name, value] of Object.entries(values)) {
    await block.locator(`tr[data-param-name="${name}"] input`).fill(value);
  }
  const answered = page.waitForResponse((response) => !/\/(docs|openapi)/.test(response.url()));
  await block.locator('button.execute').click();
  await answered;
  const live = block.locator('.live-responses-table .response');
  await live.waitFor();
  return {
    status: (await live.locator('.response-col_status').innerText()).trim().split(/\s/)[0],
    body: await live
      .locator('.response-col_description .highlight-code, .response-col_description pre')
      .first()
      .innerText(),
  };
}
