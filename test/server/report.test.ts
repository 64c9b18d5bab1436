import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reportSchema } from '../../contract/api/counted.js';
import type { JobRecord } from '../../domain/counted/record.js';
import { NO_PARTS } from '../../domain/counted/usage.js';
import { reportObject } from '../../domain/store-layout.js';
import { jobctl } from '../cli/command-line.js';
import { GatedApp } from './gated-app.js';

const END = Date.now() - 3_600_000;
const record = (job: string, user: string, project: string, charged: number): JobRecord => ({
  ...{ v: 1, job, run: 'r', user: `${user}@example.org`, project, pool: 'default', kind: 'cloud-tpu', unit: 'chip' },
  ...{ accelerator: 'v6e-8', zone: 'us-east5-b', pricing: 'spot', count: 8, slices: 1, result: 'succeeded' },
  ...{ attempts: 1, preemptions: 0, lost: 'none', charged, usd: 1, submittedAt: END, endedAt: END, countedTo: END },
  ...{ parts: { ...NO_PARTS, useful: charged }, places: [], prices: ['a list'] },
});

describe('a report, over HTTP', function () {
  this.timeout(60_000);
  let app: GatedApp;
  let home: string;
  before(async () => {
    app = await GatedApp.start();
    const day = new Date(END).toISOString().slice(0, 10);
    for (const each of [record('a', 'alice', 'vision', 100), record('b', 'mallory', 'speech', 10)])
      await app.store.replace(reportObject(day, each.job, each.run), `${JSON.stringify(each)}\n`);
    home = mkdtempSync(join(tmpdir(), 'report-'));
  });
  after(async () => {
    rmSync(home, { recursive: true, force: true });
    await app?.stop();
  });

  const sumsOf = async (who: string, query = '') => {
    const { status, text, body } = await app.call(who, 'GET', `/v1/reports?by=project${query}`);
    assert.equal(status, 200, text);
    const { rows, hidden } = reportSchema.parse(body);
    return [rows.map(({ key, charged }) => `${key} ${charged}`), hidden];
  };

  it('counts the jobs that the caller may read, and says how many others there are', async () => {
    assert.deepEqual(await sumsOf('vera'), [['vision 100'], 1]);
    assert.deepEqual(await sumsOf('zoe'), [[], 2]);
    assert.deepEqual(await sumsOf('olga'), [['vision 100', 'speech 10'], 0]);
  });

  it('does not say of a filter what the caller may not see', async () => {
    assert.deepEqual(await sumsOf('zoe', '&project=vision'), [[], 1]);
    assert.deepEqual(await sumsOf('vera', '&project=vision'), [['vision 100'], 0]);
  });

  const WRONG = ['by=colour', 'since=yesterday', 'since=-1', 'project=a%00b', 'by=project&by=user'];
  for (const query of WRONG)
    it(`refuses ${query}`, async () => {
      const { status, body } = await app.call('alice', 'GET', `/v1/reports?${query}`);
      assert.deepEqual([status, body['code']], [400, 'invalid']);
    });

  it('is what the command line prints in a context of the server', async () => {
    const env = {
      ...{ HOME: home, JOBCTL_SERVER: app.urls[0] ?? '' },
      T: await app.issuer.token({ email: 'vera@example.org' }),
    };
    const login = await jobctl(['login', '--id-token-from', 'env:T'], env);
    assert.equal(login.exitCode, 0, login.stderr);
    const printed = await jobctl(['report', 'usage', '--ended', '--by', 'user'], env);
    assert.equal(printed.exitCode, 0, printed.stderr);
    assert.match(printed.stdout, /alice@example\.org +1 +0 +0\.028/);
    assert.match(printed.stdout, /1 job of projects that you may not read is not counted/);
  });
});
