import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { jobFile } from '../end-to-end/job-files.js';
import { RehearsalAdmin } from '../end-to-end/rehearsal-admin.js';
import { startBrowser } from '../long/web-ui-page.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { until } from '../until.js';
import { PAGE_CLIENT, PersonIssuer } from '../login/person-issuer.js';
import { CLIENT_ID } from './issuer.js';
import { changesByPage } from './page-changes.js';
import { ISSUER_NAME, loginsByPage } from './page-logins.js';
import { troubleByPage } from './page-trouble.js';
import { LOOKS, mustLookRight, SIZES } from './page-looks.js';
import { ServerStack } from './server-stack.js';

const ONE_HOST = { tpu: { accelerator: 'v5litepod-8' } };
const quotaOf = (vision: readonly string[]): string => `
[toml-schema]
version = "1"
[[total_resources]]
v5litepod = 8
[project_resources.vision]
v5litepod = 1.0
[project_membership]
vision = ${JSON.stringify(vision.map((name) => `${name}@example.org`))}
speech = ["mallory@example.org"]
`;
const EVIL = '<img src=x onerror="window.pwned=1"><script>window.pwned=1</script>';
const PRINTS = `printf '\\033[31mred\\033[0m attempt %s\\n' "$JOBCTL_ATTEMPT"; echo '${EVIL}'; printf '\\033]0;title\\007\\033[2Jend\\n'; sleep 1000`;
/** A browser, a worker, servers and a cloud share this computer. */
const SLOW_MS = 90_000;

/** The whole road of a person, in a real browser on a real stack. */
describe('the page of jobctl serve in a browser', function () {
  this.timeout(300_000);
  let stack: ServerStack;
  let issuer: PersonIssuer;
  let browser: Browser;
  let context: BrowserContext;
  let page: Page;
  const asked = new Set<string>();
  const said: string[] = [];

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    issuer = await PersonIssuer.start();
    const emailDomains = ['example.org'];
    stack = await ServerStack.start({
      quota: quotaOf(['alice']),
      timings: { heartbeatTimeoutMs: 60_000 },
      serverConfig: (own) => ({
        publicUrl: own.url,
        issuers: [
          { issuer: own.issuer.url, audiences: [CLIENT_ID], emailDomains },
          {
            ...{ issuer: issuer.url, audiences: [PAGE_CLIENT], emailDomains, groupsClaim: null },
            page: { clientId: PAGE_CLIENT, name: ISSUER_NAME },
          },
        ],
      }),
    });
    browser = await startBrowser();
    await submit('trainer', PRINTS);
    await until('trainer runs', async () => (await statusOf('trainer'))['phase'] === 'running', SLOW_MS);
    await submit('waiter', 'sleep 1');
    const array = { matrix: { text: [EVIL, 'plain'], n: '1..2' } };
    await submit('sweep', 'true', { array });
  });
  beforeEach(async () => {
    context = await browser.newContext({ viewport: SIZES[1]! });
    context.setDefaultTimeout(30_000);
    page = await context.newPage();
    // What the provider's own pages load is not the page's.
    page.on('request', (request) => {
      if (!request.frame().url().startsWith(issuer.url)) asked.add(new URL(request.url()).origin);
    });
    page.on(
      'console',
      (message) => /Content Security Policy|Trusted/.test(message.text()) && said.push(message.text()),
    );
    page.on('pageerror', (error) => void said.push(error.message));
    page.on('dialog', (dialog) => void said.push(`a dialog: ${dialog.message()}`));
  });
  afterEach(async () => {
    assert.equal(await page.evaluate('window.pwned').catch(() => undefined), undefined);
    await context.close();
    assert.deepEqual(said.splice(0), []);
  });
  after(async () => {
    await browser?.close();
    await stack?.stop();
    await issuer?.stop();
  });

  const submit = async (name: string, command: string, more: object = {}, who = 'alice'): Promise<void> => {
    const job = { ...jobFile(command, { project: 'vision', ...ONE_HOST, ...more }), name };
    const { status, text } = await stack.call(`${who}@example.org`, 'POST', '/v1/jobs', { name, job });
    assert.equal(status, 201, text);
  };
  const setMembers = (vision: readonly string[]): void =>
    writeFileSync(stack.stack.poolFiles.quotaFile ?? '', quotaOf(vision));
  const statusOf = async (id: string): Promise<Record<string, unknown>> =>
    (await stack.call('alice@example.org', 'GET', `/v1/jobs/${id}`)).body;
  const tokenOf = (who: string): Promise<string> => stack.issuer.token({ email: `${who}@example.org` });
  /** Logs in as a person does. */
  async function logIn(who: string, path: string): Promise<void> {
    await page.goto(`${stack.url}${path}`);
    await page.getByText('Paste a token instead').click();
    await page.getByLabel(/^Token of/).fill(await tokenOf(who));
    await page.getByRole('button', { name: 'Log in', exact: true }).click();
    await page.getByRole('button', { name: 'Log out' }).waitFor();
  }
  const shows = (text: string | RegExp): Promise<void> => page.getByText(text).first().waitFor();
  /** In the log, and not in what jobctl says of the job. */
  const printed = (text: string): Promise<void> =>
    page.locator('.line', { hasText: text }).first().waitFor({ timeout: SLOW_MS });

  it('is walked by keyboard alone: find a job, read why it waits, follow a log, cancel', async () => {
    await logIn('alice', '/ui/');
    await shows('trainer');
    await page.keyboard.press('/');
    await page.keyboard.type('wait');
    await until('the search is in the address', async () => page.url().endsWith('?q=wait'));
    await page.getByText('trainer').waitFor({ state: 'detached' });
    await page.keyboard.press('Escape');
    await page.getByRole('table', { name: 'Jobs' }).focus();
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'waiter' }).waitFor();
    await shows(/waiter waits for 8 chips of v5litepod in project vision \(1st of/);
    await shows(/the end of trainer \(8\) would do/i);

    await page.keyboard.press('b');
    await page.getByRole('link', { name: 'trainer' }).waitFor();
    await page.getByRole('link', { name: 'trainer' }).focus();
    await page.keyboard.press('Enter');
    await printed('attempt 1');
    // A search in the log, and a link to the line that it found.
    await page.keyboard.press('/');
    await page.keyboard.type('ATTEMPT');
    await page.keyboard.press('Enter');
    await page.locator('.line.marked').waitFor();
    assert.match(await page.locator('.line.marked').innerText(), /red attempt 1/);
    await page.keyboard.press('Escape');

    await page.keyboard.press('b');
    await page.getByRole('link', { name: 'waiter' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    const question = page.getByRole('dialog');
    await question.waitFor();
    assert.match(await question.innerText(), /Cancel waiter\?[^]*cannot be undone/);
    // The answer in focus is the harmless one.
    assert.equal(await page.evaluate('document.activeElement?.textContent'), 'No, go back');
    await page.keyboard.press('Escape');
    await question.waitFor({ state: 'detached' });
    assert.equal((await statusOf('waiter'))['endedAt'], undefined);
    await page.getByRole('button', { name: 'Cancel' }).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await until('it is cancelled', async () => (await statusOf('waiter'))['phase'] === 'cancelled', SLOW_MS);
    await page.locator('header .phase', { hasText: 'cancelled' }).waitFor({ timeout: SLOW_MS });
  });

  it('follows a log through a preemption', async () => {
    await logIn('alice', '/ui/jobs/trainer');
    await printed('attempt 1');
    await new RehearsalAdmin(stack.stack.rehearsal.endpoints.admin).post('preempt', { name: 'jc-trainer-g1' });
    await printed('attempt 2');
  });

  it('shows what a log, a file and a group say as text, and colours as colours', async () => {
    await logIn('alice', '/ui/jobs/trainer');
    await shows(EVIL);
    assert.equal(await page.locator('.line .c1').first().innerText(), 'red');
    assert.doesNotMatch(await page.locator('.lines').innerText(), /title|\[2J/);
    assert.equal(await page.title(), 'trainer - jobctl');
    await page.getByRole('link', { name: 'Job file' }).click();
    await page.locator('pre.file', { hasText: 'onerror' }).waitFor();
    await page.goto(`${stack.url}/ui/groups/sweep`);
    await shows('<img src=x onerror=');
    await page.getByRole('button', { name: 'n', exact: true }).nth(1).click();
    assert.equal(await page.locator('img, main script').count(), 0);
  });

  for (const [size, colorScheme] of LOOKS)
    it(`at ${size.width} pixels, ${colorScheme}, axe finds nothing and nothing stands out of the page`, async () => {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      await logIn('alice', '/ui/');
      for (const [path, text] of [
        ['/ui/', 'trainer'],
        ['/ui/jobs/trainer', /attempt \d/],
        ['/ui/jobs/trainer?tab=events', /submitted/],
        ['/ui/jobs/trainer?tab=hosts', /jc-trainer/],
        ['/ui/groups/sweep', 'sweep-0'],
        ['/ui/pools/default', 'trainer'],
        ['/ui/schedules', /no schedule/],
      ] as const) {
        await page.goto(`${stack.url}${path}`);
        await shows(text);
        await mustLookRight(page, path);
      }
    });

  describe('with a pool of applied files', () =>
    changesByPage(() => ({ stack, page, logIn, shows, submit, statusOf, slowMs: SLOW_MS })));

  describe('with an issuer to log in at', () =>
    loginsByPage(() => ({ stack, page, logIn, shows, submit, statusOf, slowMs: SLOW_MS, issuer })));

  describe('while things change', () =>
    troubleByPage(() => ({ stack, page, logIn, shows, submit, statusOf, slowMs: SLOW_MS, setMembers })));

  describe('attacked', () => {
    it("shows no log, file or hosts of another user's job by its address", async () => {
      await logIn('mallory', '/ui/jobs/trainer');
      await shows(/may not read the logs/);
      assert.equal(await page.getByText('attempt 1', { exact: false }).count(), 0);
      for (const tab of ['events', 'hosts', 'file']) {
        await page.goto(`${stack.url}/ui/jobs/trainer?tab=${tab}`);
        await shows(/may not read the job file/);
      }
      const cancel = page.getByRole('button', { name: 'Cancel' });
      await until('cancel is refused', async () => (await cancel.getAttribute('aria-disabled')) === 'true');
      await cancel.click({ force: true });
      assert.equal(await page.getByRole('dialog').count(), 0);
    });

    it('ends with a token that has expired, and says so', async () => {
      const stale = await stack.issuer.token({ email: 'alice@example.org', lifetimeS: -3_600 });
      await page.goto(`${stack.url}/ui/`);
      await page.evaluate(`sessionStorage.setItem('jobctl.token', '${stale}')`);
      await page.goto(`${stack.url}/ui/jobs/trainer`);
      await shows('Your login has ended.');
      assert.equal(await page.evaluate(`sessionStorage.getItem('jobctl.token')`), null);
      assert.match(page.url(), /\/ui\/jobs\/trainer$/);
    });

    it('gives its login to another tab of its own, and to none once it is logged out', async () => {
      await logIn('alice', '/ui/');
      const other = await context.newPage();
      await other.goto(`${stack.url}/ui/jobs/trainer`);
      await other.getByRole('heading', { name: 'trainer' }).waitFor();
      await page.getByRole('button', { name: 'Log out' }).click();
      await other.getByText('Paste a token instead').waitFor();
      await page.reload();
      await page.getByText('Paste a token instead').waitFor();
    });

    it('is put into no frame of another site, and answers no call of it', async () => {
      const site: Server = createServer((_, response) =>
        response.setHeader('content-type', 'text/html').end(`<iframe src="${stack.url}/ui/"></iframe>`),
      );
      await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
      try {
        await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`);
        // The browser names the refusal, which here is what is wanted.
        await until('the frame is refused', async () => said.some((text) => /frame-ancestors/.test(text)));
        said.length = 0;
        const answer = await page.evaluate(
          ([url, token]) =>
            fetch(`${url}/v1/jobs`, { headers: { authorization: `Bearer ${token}` } }).then(
              ({ status }) => String(status),
              () => 'refused',
            ),
          [stack.url, await tokenOf('alice')] as const,
        );
        assert.equal(answer, 'refused');
      } finally {
        site.closeAllConnections();
        site.close();
      }
      asked.delete(`http://127.0.0.1:${(site.address() as AddressInfo | null)?.port}`);
    });

    it('asked no other host for anything', () => {
      const others = [...asked].filter((origin) => origin !== stack.url && !origin.startsWith('http://127.0.0.1:'));
      assert.deepEqual(others, []);
      assert.ok(asked.has(stack.url));
    });
  });
});
