import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { openPage } from './browser.js';

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
