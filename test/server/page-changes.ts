import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { withFooter } from '../../activities/operator-file.js';
import { appliedFileObject } from '../../domain/store-layout.js';
import { SLOW_SET_UP } from '../end-to-end/job-files.js';
import { until } from '../until.js';
import { LOOKS, mustLookRight } from './page-looks.js';
import type { ServerStack } from './server-stack.js';

/** A pool whose files were applied. Vision has all of it, and speech a member who waits. */
const QUOTA = `[toml-schema]
version = "1"
[[total_resources]]
v5litepod = 10
[project_resources.vision]
v5litepod = 1.0
[project_resources.speech]
v5litepod = 0.0
[project_membership]
vision = ["alice@example.org"]
speech = ["mallory@example.org"]
`;
/** Half of it each, so that the member who waits may take back what vision then borrows. */
const HALVES = QUOTA.replace('= 1.0', '= 0.5').replace('= 0.0', '= 0.5');
const POOL = '[access]\noperators = ["user:olga@example.org"]\n[quota]\nmin_runtime = "0s"\n';
const RACES = [
  'for step in 1 2 3; do echo "JOBCTL_METRIC loss=$JOBCTL_ARRAY_LR$step step=$step"; done',
  'echo "$JOBCTL_ARRAY_LR" > "$JOBCTL_OUTPUT_DIR/lr.txt"; [ "$JOBCTL_ARRAY_LR" != 0.5 ]',
].join('; ');
const ARRAY = { matrix: { lr: [0.001, 0.003, 0.01, 0.03, 0.1, 0.5], seed: '1..2' }, max_parallel: 2, warm: true };
const LAB = { pool: 'lab' };
const chips = (number: number): object => ({ tpu: { accelerator: `v5litepod-${number}` } });

/** What the tests of the page share. */
export interface Walk {
  readonly stack: ServerStack;
  readonly page: Page;
  readonly logIn: (who: string, path: string) => Promise<void>;
  readonly shows: (text: string | RegExp) => Promise<void>;
  readonly submit: (name: string, command: string, more: object, who?: string) => Promise<void>;
  readonly statusOf: (id: string) => Promise<Record<string, unknown>>;
  readonly slowMs: number;
}

/** Groups, outputs and pools: what a person compares, and changes with a question before. */
export function changesByPage(walk: () => Walk): void {
  before(async function () {
    this.timeout(300_000);
    const { stack, submit, statusOf, slowMs } = walk();
    const applied = withFooter(QUOTA, 'olga@example.org', '2026-11-29T08:00:00.000Z');
    await stack.store.write(appliedFileObject('lab', 'quota'), applied, 'absent', 'text/plain');
    await stack.store.write(appliedFileObject('lab', 'pool'), POOL, 'absent', 'text/plain');
    await submit('holder', 'sleep 1000', { ...LAB, ...chips(8) });
    await until('holder runs', async () => (await statusOf('holder'))['phase'] === 'running', slowMs);
    await submit('race', RACES, { ...LAB, ...chips(1), array: ARRAY });
    await until('the race is over', async () => (await raceOf())['endedAt'] !== undefined, 2 * slowMs);
    await submit('slow', 'true', { ...LAB, ...chips(1), ...SLOW_SET_UP });
    await submit('claimer', 'sleep 1000', { ...LAB, ...chips(4), project: 'speech' }, 'mallory');
  });

  const raceOf = async (): Promise<Record<string, unknown>> =>
    (await walk().stack.call('alice@example.org', 'GET', '/v1/groups/race')).body;
  const apply = (text: string, more: object = {}) =>
    walk().stack.call('olga@example.org', 'POST', '/v1/pools/lab/apply', {
      quotaFile: { name: 'quota.toml', text, ...more },
    });

  it('compares members of a sweep of twelve by keyboard', async () => {
    const { page, logIn, shows } = walk();
    await logIn('alice', '/ui/groups/race');
    await shows('Choose members to compare');
    await page.getByRole('region', { name: 'Members of race' }).focus();
    for (const key of ['j', 'x', 'j', 'j', 'x', 'k', 'x']) await page.keyboard.press(key);
    await page.getByRole('heading', { name: 'Comparison of 3' }).waitFor();
    assert.match(page.url(), /members=0%2C2%2C1$/);
    const table = page.getByRole('region', { name: 'loss of the chosen members' });
    await table.getByText('best').waitFor();
    // The values of the first are 0.0011, 0.0012 and 0.0013.
    assert.match(
      await table.locator('tbody tr').first().innerText(),
      /0\.001\s+1\s+best 0\.0013\s+0\.0011\s+0\.0013\s+3/,
    );
    assert.equal(await page.locator('.compare canvas').count(), 2);
    await page.getByLabel('Best is').selectOption('high');
    await until('the best is another', async () => /best/.test(await table.locator('tbody tr').nth(1).innerText()));
    await page.getByRole('button', { name: 'choose none' }).click();
    await page.getByRole('button', { name: 'compare all' }).click();
    await page.getByRole('heading', { name: 'Comparison of 12' }).waitFor();
    await mustLookRightAll(
      'a comparison',
      (text) => page.getByRole('heading', { name: text }).waitFor(),
      'Comparison of 12',
    );
  });

  it('runs the failed members again, after it was asked', async () => {
    const { page, logIn, shows, slowMs } = walk();
    await logIn('alice', '/ui/groups/race');
    await page.getByRole('button', { name: 'Retry failed' }).click();
    const question = page.getByRole('dialog');
    assert.match(await question.innerText(), /Retry failed members of race\?[^]*2 members failed/);
    assert.equal(await page.evaluate('document.activeElement?.textContent'), 'No, go back');
    await page.keyboard.press('Escape');
    assert.equal((await raceOf())['endedAt'] !== undefined, true);
    await page.getByRole('button', { name: 'Retry failed' }).click();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await shows('2 members of group race run again, as race-r1-N');
    await page.getByRole('link', { name: 'race-r1-10' }).waitFor({ timeout: slowMs });
    await until('the retry is over', async () => (await raceOf())['endedAt'] !== undefined, slowMs);
  });

  it('saves an output with the bytes that the host stored, and shows where the time went', async () => {
    const { page, logIn, shows, stack } = walk();
    await logIn('alice', '/ui/jobs/race-4?tab=outputs');
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'save lr.txt' }).click();
    assert.equal(readFileSync(await (await saved).path(), 'utf8'), '0.01\n');
    await mustLookRight(page, 'outputs');
    await page.goto(`${stack.url}/ui/jobs/race-4?tab=account`);
    await shows('useful work');
    await shows('REHEARSAL: nothing was paid');
    await mustLookRight(page, 'an account');
  });

  it('shows on how many hosts a module is ready, and what the others are at', async () => {
    const { page, logIn, statusOf, slowMs } = walk();
    await until('it is set up', async () => (await statusOf('slow'))['phase'] === 'setting-up', slowMs);
    await logIn('alice', '/ui/jobs/slow');
    await page.getByText(/^Host 0: slow sleep, for \d+ s$/).waitFor();
    assert.equal(await page.getByLabel('slow: hosts that are ready').getAttribute('value'), '0');
    await mustLookRight(page, 'a set-up');
  });

  it('shows a quota file and what a change would do to everybody, and applies none for them', async () => {
    const { page, logIn, shows } = walk();
    await logIn('mallory', '/ui/pools/lab?tab=quota');
    const area = page.getByLabel('Quota file (TOML)');
    assert.equal(await area.inputValue(), QUOTA);
    await area.fill(HALVES);
    await page.getByRole('button', { name: 'What would change' }).click();
    await shows('1 job would be preempted');
    for (const name of ['Apply ..', 'Freeze']) assert.equal(await page.getByRole('button', { name }).count(), 0, name);
  });

  it('says each problem of a file at its line, and applies over the file that was edited alone', async () => {
    const { page, logIn, shows, statusOf, slowMs } = walk();
    await logIn('olga', '/ui/pools/lab?tab=quota');
    const area = page.getByLabel('Quota file (TOML)');
    await area.fill(QUOTA.replace('= 10', '= -1').replace('0.0', '"x"'));
    await page.getByRole('button', { name: 'What would change' }).click();
    await shows('v5litepod: -1 is not a whole number');
    await page.getByRole('button', { name: 'line 8' }).click();
    assert.equal(await page.evaluate('getSelection().toString()'), 'v5litepod = "x"');

    await area.fill(HALVES);
    assert.equal((await apply(`# by somebody else\n${QUOTA}`)).status, 200);
    await shows('Another file was put in force by olga@example.org since you began to edit');
    const button = page.getByRole('button', { name: 'Apply ..' });
    assert.equal(await button.getAttribute('aria-disabled'), 'true');
    const stale = await apply(HALVES, { replaces: '1' });
    assert.deepEqual(
      [stale.status, /was changed meanwhile by olga@example\.org, at /.test(stale.text)],
      [409, true],
      stale.text,
    );
    await page.getByRole('button', { name: 'Drop mine' }).click();
    await until('the new file is shown', async () => (await area.inputValue()).startsWith('# by somebody else'));

    await area.fill(HALVES);
    await page.reload();
    assert.equal(await area.inputValue(), HALVES, 'a draft outlives a reload');
    await button.click();
    await page.getByRole('dialog').waitFor();
    assert.match(
      await page.getByRole('dialog').innerText(),
      /1 job will be preempted[^]*holder of alice@example\.org, for claimer/,
    );
    await mustLookRightAll('a plan', shows, '1 job would be preempted');
    await page.getByRole('dialog').getByRole('button', { name: 'Apply' }).click();
    await shows('quota.toml: in force in pool lab');
    await until('claimer has chips', async () => (await statusOf('claimer'))['phase'] !== 'queued', slowMs);
    assert.notEqual((await statusOf('holder'))['phase'], 'running');
  });

  it('shows a job file with its edits', async () => {
    const { page, logIn, stack, statusOf, slowMs } = walk();
    const edit = { set: [{ path: ['env', 'NOTE'], value: 'of the second attempt' }] };
    await until('claimer runs', async () => (await statusOf('claimer'))['phase'] === 'running', slowMs);
    const { status, text } = await stack.call('mallory@example.org', 'POST', '/v1/jobs/claimer/restart', edit);
    assert.equal(status, 200, text);
    await until('it runs again', async () => (await statusOf('claimer'))['attempts'] === 2, slowMs);
    await logIn('mallory', '/ui/jobs/claimer?tab=file');
    await page.getByLabel('As it was').selectOption('edited for attempt 2');
    await page.locator('pre.file', { hasText: 'of the second attempt' }).waitFor();
  });

  it('freezes a pool with a reason, and thaws it', async () => {
    const { page, logIn, shows } = walk();
    await logIn('olga', '/ui/pools/lab');
    await page.getByRole('button', { name: 'Freeze' }).click();
    await page.getByLabel('Reason').fill('the power is cut');
    await page.getByRole('dialog').getByRole('button', { name: 'Freeze' }).click();
    await shows(/Nothing new is granted, since .*, by olga@example\.org: the power is cut/);
    await page.getByRole('button', { name: 'Thaw' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Thaw' }).click();
    await page.getByText('the power is cut').first().waitFor({ state: 'detached' });
  });

  /** In each window, without leaving what is open. */
  async function mustLookRightAll(name: string, shows: (text: string) => Promise<void>, text: string): Promise<void> {
    const { page } = walk();
    for (const [size, colorScheme] of LOOKS) {
      await page.setViewportSize(size);
      await page.emulateMedia({ colorScheme });
      await shows(text);
      await mustLookRight(page, `${name} at ${size.width}, ${colorScheme}`);
    }
  }
}
