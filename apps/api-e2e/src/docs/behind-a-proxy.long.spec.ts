import { PrefixProxy } from './prefix-proxy.js';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { browserPath, isCi } from '../config.js';
import { demoDataDir, type FreshService, freshService } from '../running-service.js';
import { ADA } from '../service.js';
import { authorize, execute, launchBrowser, openPage } from './browser.js';

const WIDTHS = [1280, 390];
const SCREENSHOTS = join(__dirname, '..', '..', 'test-output');

(browserPath() !== undefined || isCi() ? describe : describe.skip)('docs page behind a proxy, with PUBLIC_URL', () => {
  let proxy: PrefixProxy;
  let service: FreshService;
  let browser: Browser;

  beforeAll(async () => {
    proxy = await PrefixProxy.start('/bank/payments');
    service = await freshService({ PUBLIC_URL: `${proxy.url}/`, WORKER: 'off' }, demoDataDir);
    proxy.target = service.url;
    browser = await launchBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await service?.stop();
    await proxy?.stop();
  });

  it.each(WIDTHS)('executes operations at %i pixels', async (width) => {
    const { page, complaints } = await openPage(browser, proxy.url, width);
    await authorize(page, await service.tokenOf(ADA));

    const transfer = await execute(page, 'getTransfer');
    const order = await execute(page, 'placeOrder');
    await page.screenshot({ path: join(SCREENSHOTS, `docs-behind-proxy-${width}.png`), fullPage: true });

    expect([transfer.status, order.status]).toEqual(['200', '200']);
    expect(await page.locator('.info').innerText()).toContain(`export BASE_URL=${proxy.url}\n`);
    expect(complaints).toEqual({ console: [], foreign: [] });
    await page.context().close();
  });

  it('executes operations without the proxy', async () => {
    const { page, complaints } = await openPage(browser, service.url, 1280);
    await authorize(page, await service.tokenOf(ADA));

    const apps = await execute(page, 'listApps');

    expect(apps.status).toBe('200');
    expect(complaints).toEqual({ console: [], foreign: [] });
    await page.context().close();
  });
});
