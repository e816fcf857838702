import type { Page } from 'playwright-core';

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
