import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { capacitySchema } from '../../contract/api/pools.js';
import { poolStateObject } from '../../domain/store-layout.js';
import { packState } from '../../quota/published-state.js';
import type { CapacityRow } from '../../quota/seen-capacity.js';
import { jobctl } from '../cli/command-line.js';
import { busyPool } from '../cli/pools.js';
import { GatedApp } from './gated-app.js';

const PATH = '/v1/pools/default/capacity';
const AT = 1_790_000_000_000;
const ROW: CapacityRow = {
  ...{ zone: 'us-east1-d', accelerator: 'v6e-8', pricing: 'spot', asked: 4, got: 3, medianWaitMs: 360_000 },
  ...{ lastGot: { at: AT, waitedMs: 300_000 }, waiting: 1, waitingSince: AT, sliceHours: 12.5, preempted: 0.25 },
  ...{ refusal: { at: AT, text: 'no more capacity' }, seenAt: AT },
};

describe('what a pool has seen of zones, over HTTP', function () {
  this.timeout(60_000);
  let app: GatedApp;
  let home: string;
  before(async () => {
    app = await GatedApp.start();
    const state = { ...busyPool(), poolZones: ['us-east1-d', 'us-east5-a'], capacity: [ROW] };
    await app.store.replace(poolStateObject('default'), JSON.stringify(packState(state)), 'application/json');
    home = mkdtempSync(join(tmpdir(), 'capacity-'));
  });
  after(async () => {
    rmSync(home, { recursive: true, force: true });
    await app?.stop();
  });

  it('is what everybody may look at, and what the command line prints in a context of the server', async () => {
    const { status, text, body } = await app.call('zoe', 'GET', PATH);
    assert.equal(status, 200, text);
    const answer = capacitySchema.parse(body);
    assert.deepEqual(answer.rows, [ROW]);
    assert.deepEqual(answer.zones, ['us-east1-d', 'us-east5-a']);
    const token = await app.issuer.token({ email: 'zoe@example.org' });
    const env = { HOME: home, JOBCTL_SERVER: app.urls[0] ?? '', T: token };
    const login = await jobctl(['login', '--id-token-from', 'env:T'], env);
    assert.equal(login.exitCode, 0, login.stderr);
    const printed = await jobctl(['capacity', '-o', 'json'], env);
    assert.equal(printed.exitCode, 0, printed.stderr);
    const { ageMs, ...rest } = JSON.parse(printed.stdout) as { ageMs: number };
    assert.ok(ageMs >= 0);
    assert.deepEqual(rest, answer);
    const table = await jobctl(['capacity'], env);
    assert.match(table.stdout, /us-east1-d +v6e-8 +spot +4 +3 +6m 00s/, table.stderr);
  });

  it('of a pool of which nothing was published says what to do', async () => {
    const { status, body } = await app.call('zoe', 'GET', PATH.replace('default', 'other'));
    assert.deepEqual([status, body['code']], [404, 'not-found']);
  });
});
