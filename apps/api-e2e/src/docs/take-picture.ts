import { writeFileSync } from 'node:fs';
import { freshService } from '../running-service.js';
import { launchBrowser, README_PICTURE, readmePicture } from './browser.js';

/** `npm run picture`: takes the picture of the docs page in the README from a service with new demo data. */
async function main(): Promise<void> {
  const service = await freshService();
  try {
    const browser = await launchBrowser();
    writeFileSync(README_PICTURE, await readmePicture(browser, service.url).finally(() => browser.close()));
    process.stdout.write('Wrote docs/images/docs-page.png.\n');
  } finally {
    await service.stop();
  }
}

void main();
