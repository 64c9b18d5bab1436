import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { jobMetricsSchema } from '../../contract/api/stored.js';
import { HostMetrics } from '../../domain/job-metrics/metric-series.js';
import { metricsObject } from '../../domain/store-layout.js';
import { jobctl } from '../cli/command-line.js';
import { GatedApp } from './gated-app.js';

const AT = 1_790_000_000_000;
const PATH = '/v1/jobs/theirs/metrics';

describe('the metrics of a job over HTTP', function () {
  this.timeout(60_000);
  let app: GatedApp;
  let home: string;
  before(async () => {
    app = await GatedApp.start();
    await app.addJob('theirs', 'alice@example.org', 'vision');
    const metrics = new HostMetrics({ series: [], refused: 1, beyondNames: 0 });
    for (let step = 0; step < 40; step++)
      metrics.take(
        {
          step,
          values: [
            ['loss', step === 7 ? NaN : 40 - step],
            ['acc', step],
          ],
          refused: 0,
        },
        AT + step,
      );
    const { series, refused, beyondNames } = metrics;
    const stored = { v: 1, at: AT, read: { output: 0, file: 0 }, series, refused, beyondNames, missedBytes: 0 };
    await app.store.replace(metricsObject('theirs', 2, 0), JSON.stringify(stored));
    home = mkdtempSync(join(tmpdir(), 'metrics-'));
  });
  after(async () => {
    rmSync(home, { recursive: true, force: true });
    await app?.stop();
  });

  it('are columns, for whoever may read its logs', async () => {
    const { status, text, body } = await app.call('alice', 'GET', `${PATH}?name=loss`);
    assert.equal(status, 200, text);
    const { host, attempts, metrics, refused } = jobMetricsSchema.parse(body);
    assert.deepEqual([host, attempts, metrics.length, refused], [0, [2], 1, 1]);
    const [loss] = metrics;
    assert.deepEqual([loss?.points.step.length, loss?.points.value[7], loss?.points.time[1]], [40, null, AT + 1]);
    assert.deepEqual(loss?.least, { step: 39, time: AT + 39, value: 1 });
    assert.equal((await app.call('zoe', 'GET', PATH)).status, 403);
  });

  it('are thinned, or their names alone', async () => {
    const few = jobMetricsSchema.parse((await app.call('alice', 'GET', `${PATH}?points=5&x=time`)).body);
    assert.deepEqual(
      few.metrics.map(({ points }) => points.step.length),
      [5, 5, 5],
    );
    const none = jobMetricsSchema.parse((await app.call('alice', 'GET', `${PATH}?points=0`)).body);
    assert.deepEqual(
      none.metrics.map(({ name, points }) => [name, points.step]),
      [
        ['step', []],
        ['loss', []],
        ['acc', []],
      ],
    );
    const other = jobMetricsSchema.parse((await app.call('alice', 'GET', `${PATH}?host=3`)).body);
    assert.deepEqual([other.host, other.attempts, other.metrics], [3, [], []]);
    for (const query of ['points=-1', 'points=5001', 'host=-1', 'host=1e9', 'x=y', 'name='])
      assert.equal((await app.call('alice', 'GET', `${PATH}?${query}`)).status, 400, query);
  });

  it('are drawn by the command line in a context of the server, for those who may read them', async () => {
    const as = async (who: string, ...words: readonly string[]) => {
      const token = await app.issuer.token({ email: `${who}@example.org` });
      const env = { HOME: join(home, who), JOBCTL_SERVER: app.urls[0] ?? '', T: token };
      const login = await jobctl(['login', '--id-token-from', 'env:T'], env);
      assert.equal(login.exitCode, 0, login.stderr);
      return jobctl(words, env);
    };
    const drawn = await as('alice', 'plot', 'theirs', '--metric', 'acc');
    assert.equal(drawn.exitCode, 0, drawn.stderr);
    assert.match(drawn.stdout, /^acc of theirs\n.*\*\n/);
    const refused = await as('zoe', 'plot', 'theirs');
    assert.equal(refused.exitCode, 4, refused.stdout);
    assert.match(refused.stderr, /may not read the logs/);
  });
});
