// Crawlee's way through the same page, with fresh contexts and without the fingerprints that we would not use either.
// Runs in a process of its own: node crawlee.mjs FOLDER CHROMIUM URL PARALLEL COUNT. Prints captures a second.
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, executablePath, url, parallel, count] = process.argv.slice(2);
const require = createRequire(pathToFileURL(join(folder, 'package.json')));
const { Configuration, PlaywrightCrawler, log } = require('@crawlee/playwright');
const playwright = require('playwright');

log.setLevel(log.LEVELS.OFF);
let firstMs = Infinity;
let lastMs = 0;
const crawler = new PlaywrightCrawler(
  {
    launchContext: {
      launcher: playwright.chromium,
      useIncognitoPages: true,
      launchOptions: { executablePath, args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] },
    },
    browserPoolOptions: { useFingerprints: false },
    minConcurrency: Number(parallel),
    maxConcurrency: Number(parallel),
    preNavigationHooks: [() => (firstMs = Math.min(firstMs, performance.now()))],
    requestHandler: async ({ page }) => {
      await page.waitForSelector('#done', { state: 'attached' });
      await page.locator('#answer').innerHTML();
      lastMs = performance.now();
    },
  },
  new Configuration({ persistStorage: false }),
);
const requests = Array.from({ length: Number(count) }, (_, index) => ({ url, uniqueKey: String(index) }));
const { requestsFinished } = await crawler.run(requests);
if (requestsFinished !== Number(count)) throw new Error(`only ${requestsFinished} of ${count} were finished`);
console.log(Number(count) / ((lastMs - firstMs) / 1000));
