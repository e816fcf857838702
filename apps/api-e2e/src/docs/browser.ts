import { join } from 'node:path';
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

/** What normal text needs to be read by everybody (WCAG 2.2, 1.4.3). */
const CONTRAST_MIN = 4.5;

/** Runs in the page: the text of every element that has some of its own, where it is too pale on what is behind it. */
const FIND = `(() => {
  const channels = (color) => (color.match(/[\\d.]+/g) ?? []).map(Number);
  const linear = (channel) => (channel / 255 <= 0.04045 ? channel / 255 / 12.92 : ((channel / 255 + 0.055) / 1.055) ** 2.4);
  const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
  const over = (front, back) => {
    const alpha = front[3] ?? 1;
    return [0, 1, 2].map((index) => front[index] * alpha + back[index] * (1 - alpha));
  };
  const behind = (element) => {
    if (!element) return [255, 255, 255];
    const color = channels(getComputedStyle(element).backgroundColor);
    return (color[3] ?? 1) === 1 ? color : over(color, behind(element.parentElement));
  };
  const isFaded = (element) => element && (getComputedStyle(element).opacity < 1 || isFaded(element.parentElement));
  return [...document.querySelectorAll('#swagger-ui *')]
    .filter((element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim()))
    .filter((element) => element.checkVisibility() && !element.closest('svg'))
    .map((element) => {
      const ground = behind(element);
      const [light, dark] = [luminance(over(channels(getComputedStyle(element).color), ground)), luminance(ground)].sort((a, b) => b - a);
      return { text: element.textContent.trim().slice(0, 60), ratio: Math.round(((light + 0.05) / (dark + 0.05)) * 100) / 100, faded: Boolean(isFaded(element)) };
    })
    .filter(({ ratio, faded }) => faded || ratio < ${CONTRAST_MIN});
})()`;

/** Text of the page that is hard to read. */
export async function paleText(page: Page): Promise<readonly { text: string; ratio: number; faded: boolean }[]> {
  return page.evaluate(FIND);
}

export const README_PICTURE = join(__dirname, '../../../../docs/images/docs-page.png');

/** The docs page with one operation open, as the README shows it. */
export async function readmePicture(browser: Browser, url: string): Promise<Buffer> {
  const { page } = await openPage(browser, url, 1280, '#/Transfers/getTransfer');
  try {
    await page.setViewportSize({ width: 1280, height: 1120 });
    await page.locator('.opblock.is-open button.execute').waitFor();
    // Below the bar of the page, which stays at the top.
    await page.evaluate(`document.querySelector('#operations-tag-Transfers').scrollIntoView()`);
    await page.evaluate(`scrollBy(0, -document.querySelector('.top-bar').offsetHeight)`);
    return await page.screenshot({ animations: 'disabled', caret: 'hide' });
  } finally {
    await page.context().close();
  }
}

/** The pictures as small ones in grey: what differs in them is layout, colour or text, not the fonts of a machine. */
const DIFFERENCE = (pictures: readonly string[]) => `(async () => {
  const [WIDTH, HEIGHT] = [64, 56];
  const greys = async (picture) => {
    const image = new Image();
    image.src = 'data:image/png;base64,' + picture;
    await image.decode();
    const context = Object.assign(document.createElement('canvas'), { width: WIDTH, height: HEIGHT }).getContext('2d');
    context.imageSmoothingQuality = 'high';
    context.drawImage(image, 0, 0, WIDTH, HEIGHT);
    const { data } = context.getImageData(0, 0, WIDTH, HEIGHT);
    return Array.from({ length: WIDTH * HEIGHT }, (_, at) => (data[4 * at] + data[4 * at + 1] + data[4 * at + 2]) / 3);
  };
  const [one, other] = await Promise.all(${JSON.stringify(pictures)}.map(greys));
  return one.filter((grey, at) => Math.abs(grey - other[at]) > 32).length / one.length;
})()`;

/** The part of the area in which two pictures clearly differ, from 0 to 1. */
export async function differenceOf(browser: Browser, ...pictures: readonly Buffer[]): Promise<number> {
  const page = await browser.newPage();
  try {
    return await page.evaluate(DIFFERENCE(pictures.map((picture) => picture.toString('base64'))));
  } finally {
    await page.close();
  }
}
