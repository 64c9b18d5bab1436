import assert from 'node:assert/strict';
import { logChunkObject, logPrefix } from '../../domain/store-layout.js';
import { until } from '../until.js';
import type { Walk } from './page-changes.js';
import { mustLookRight } from './page-looks.js';

interface TroubleWalk extends Walk {
  /** Puts another quota file in force for the default pool. */
  readonly setMembers: (vision: readonly string[]) => void;
}

const TEN_GB = 10 ** 10;

/** What happens to things while somebody looks at them. */
export function troubleByPage(walk: () => TroubleWalk): void {
  it('loses a right while its screen is open: what it showed is gone, and it says why', async () => {
    const { page, logIn, shows, setMembers, slowMs } = walk();
    setMembers(['alice', 'bob']);
    await logIn('bob', '/ui/jobs/trainer');
    await shows(/attempt \d/);
    setMembers(['alice']);
    await page
      .getByText(/bob@example\.org may not read the logs/)
      .first()
      .waitFor({ timeout: slowMs });
    await until('its lines are gone', async () => (await page.locator('.line').count()) === 0);
    await page.getByRole('link', { name: 'Job file' }).click();
    await shows(/may not read the job file/);
    await page.getByRole('link', { name: 'Events' }).click();
    await until('the events are not told', async () => (await page.locator('.events').count()) === 0);
    await mustLookRight(page, 'a right that was lost');
  });

  it('looks at a job that is deleted meanwhile', async () => {
    const { page, logIn, shows, submit, stack, statusOf, slowMs } = walk();
    await submit('short', 'echo of-a-short-job', {});
    const file = '/v1/objects/stat?name=jobs/short/spec.yaml';
    await until(
      'its file is stored',
      async () => (await stack.call('alice@example.org', 'GET', file)).status === 200,
      slowMs,
    );
    const cancel = await stack.call('alice@example.org', 'POST', '/v1/jobs/short/cancel', {});
    assert.equal(cancel.status, 200, cancel.text);
    await until('it has ended', async () => (await statusOf('short'))['endedAt'] !== undefined, slowMs);
    await logIn('alice', '/ui/jobs/short?tab=file');
    await shows(/of-a-short-job/);
    await until(
      'it is deleted',
      async () => (await stack.call('alice@example.org', 'DELETE', '/v1/jobs/short')).status < 300,
      slowMs,
    );
    await page.reload();
    await shows('what was stored of the job was deleted');
    await page.getByRole('link', { name: 'Log', exact: true }).click();
    await shows('Nothing is stored of it');
    // Temporal keeps its row for some days. Then it is gone.
    const gone = { status: 404, code: 'not-found', detail: 'there is no job short', requestId: 'r' };
    await page.route('**/v1/jobs/short', (route) =>
      route.fulfill({ status: 404, contentType: 'application/problem+json', body: JSON.stringify(gone) }),
    );
    await shows('there is no job short');
    await shows(/Below is what was so at/);
    await mustLookRight(page, 'a job that is gone');
    await page.keyboard.press('b');
    await page.getByRole('link', { name: 'trainer' }).waitFor();
  });

  it('shows the end of a log of 10 GB at once, and reads no more of it than is asked for', async () => {
    const { page, logIn, stack } = walk();
    // What lies before it is not in the store, and nobody asks for it.
    const object = logChunkObject(logPrefix('trainer', 1, 'command'), '1', TEN_GB);
    const line = (at: number): string => `line ${at} `.padEnd(99, '.');
    const lines = Array.from({ length: 12_000 }, (_, at) => `${line(at)}\n`);
    await stack.store.replace(object, lines.join(''), 'text/plain');
    try {
      let readings = 0;
      page.on('request', (request) => void (readings += request.url().includes('/logs?') ? 1 : 0));
      await logIn('alice', '/ui/jobs/trainer?host=1&attempt=1');
      await page.locator('.line', { hasText: 'line 11999' }).waitFor();
      await page.getByRole('button', { name: /Earlier lines/ }).click();
      await page.getByLabel('Search the log').fill('line 11001 ');
      await page.getByText('1 match').waitFor();
      await page.keyboard.press('Enter');
      await page.locator('.line.marked', { hasText: 'line 11001' }).waitFor();
      assert.ok(readings <= 3, `${readings} readings`);
      await page.goto(`${stack.url}/ui/jobs/trainer?host=1&attempt=1&line=a1.h1.${TEN_GB + 100 * 5_000}`);
      await page.locator('.line.marked', { hasText: 'line 5000' }).waitFor();
    } finally {
      await stack.store.remove(object);
    }
  });

  it('lives on with a server that does not know a call, or answers without a field', async () => {
    const { page, logIn, shows } = walk();
    const problem = { status: 404, code: 'not-found', detail: 'no GET /v1/pools/default/history', requestId: 'r' };
    await page.route('**/v1/pools/*/history*', (route) =>
      route.fulfill({ status: 404, contentType: 'application/problem+json', body: JSON.stringify(problem) }),
    );
    await logIn('alice', '/ui/pools/default');
    await shows('This server does not tell this: it is of an earlier version than the page.');
    await page.getByRole('region', { name: 'Jobs with chips' }).getByText('trainer').waitFor();
    await page.route('**/v1/pools/*/use', async (route) => {
      const answer = await route.fetch();
      const { users: _, reservations: __, ...rest } = (await answer.json()) as Record<string, unknown>;
      await route.fulfill({ response: answer, headers: {}, json: rest });
    });
    await page.reload();
    await shows('the server’s answer has another form than this page knows');
    await mustLookRight(page, 'an answer of another form');
    await page.keyboard.press('b');
    await page.getByRole('link', { name: 'trainer' }).waitFor();
  });

  it('says that the server does not answer, how old what it shows is, and goes on', async () => {
    const { page, logIn, shows } = walk();
    await logIn('alice', '/ui/');
    await page.getByRole('link', { name: 'trainer' }).waitFor();
    await page.route('**/v1/board*', (route) => route.abort('connectionrefused'));
    await shows('The server does not answer.');
    await shows(/Below is what was so at/);
    await page.unroute('**/v1/board*');
    await page.getByText('The server does not answer.').waitFor({ state: 'detached' });
  });
}
