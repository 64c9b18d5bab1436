import assert from 'node:assert/strict';
import { ServerStack } from '../../server/server-stack.js';
import { TEMPORAL_START_MS } from '../../temporal-server.js';
import { startBrowser } from '../web-ui-page.js';

describe('the page of the HTTP interface', function () {
  this.timeout(120_000);
  let stack: ServerStack;
  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await ServerStack.start();
  });
  after(() => stack?.stop());

  it('shows every operation in a browser, and asks for a token only where one is needed', async () => {
    const browser = await startBrowser();
    try {
      const page = await browser.newPage();
      const failures: string[] = [];
      page.on('pageerror', (error) => failures.push(String(error)));
      page.on(
        'response',
        (response) => response.status() >= 400 && failures.push(`${response.status()} ${response.url()}`),
      );
      await page.goto(`${stack.urls[0]}/docs`);
      await page.getByText('Submit a job').first().waitFor();
      const { paths } = (await (await fetch(`${stack.urls[0]}/openapi.json`)).json()) as {
        paths: Record<string, object>;
      };
      const operations = Object.values(paths).flatMap((path) => Object.keys(path));
      assert.ok(operations.length >= 30, String(operations.length));
      assert.equal(await page.locator('.opblock').count(), operations.length);
      assert.deepEqual(failures, []);
      if (process.env['JOBCTL_SCREENSHOT']) await page.screenshot({ path: process.env['JOBCTL_SCREENSHOT'] });
    } finally {
      await browser.close();
    }
    assert.equal((await fetch(`${stack.urls[0]}/v1/jobs`)).status, 401);
  });
});
