import assert from 'node:assert/strict';
import { jobctl } from '../cli/command-line.js';
import { type RehearsedCloud, startRehearsedCloud } from '../cloud/rehearsed-cloud.js';

const PROJECT = 'rehearsed-project';

describe("report cloud-quota, of the rehearsal's Google", function () {
  this.timeout(30_000);
  let cloud: RehearsedCloud;
  before(async () => {
    cloud = await startRehearsedCloud();
    await cloud.admin('project', {
      tpuQuotas: {
        'tpu-v5s-litepod': { per: 'zone', limit: 0, at: { 'us-west4-a': 64 } },
        'tpu-v5s-litepod-serving-preemptible': { per: 'zone', limit: 32, at: {} },
        'tpu-v4s': { per: 'region', limit: -1, at: {} },
      },
      regionQuotas: { 'us-west4': { CPUS: { limit: 100, usage: 12 }, SSD_TOTAL_GB: { limit: 500, usage: 0 } } },
    });
    await node('us-west4-a', 'one', { acceleratorType: 'v5litepod-16' });
    await node('us-central1-a', 'two', { acceleratorType: 'v5litepod-4', schedulingConfig: { preemptible: true } });
  });
  after(() => cloud?.stop());

  async function node(zone: string, id: string, body: object): Promise<void> {
    const url = `${cloud.restEndpoint}/v2/projects/${PROJECT}/locations/${zone}/nodes?nodeId=${id}`;
    const made = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ runtimeVersion: 'v2-alpha-tpuv5-lite', ...body }),
    });
    assert.equal(made.status, 200, await made.text());
  }
  const report = (...more: readonly string[]) =>
    jobctl([
      ...['report', 'cloud-quota', '--google-project', PROJECT, '--google-api-endpoint', cloud.restEndpoint],
      ...more,
    ]);

  it('shows limits by zone with what nodes take, and what is in use of Compute Engine', async () => {
    const { exitCode, stdout, stderr } = await report('-o', 'csv');
    assert.equal(exitCode, 0, stderr);
    const lines = stdout.trimEnd().split('\n');
    for (const line of [
      'us-west4-a,tpu-v5s-litepod,16,64',
      'us-central1-a,tpu-v5s-litepod,0,0',
      'any other zone,tpu-v5s-litepod,,0',
      'us-central1-a,tpu-v5s-litepod-serving-preemptible,4,32',
      'us-west4-a,tpu-v5s-litepod-serving-preemptible,0,32',
      'us-west4,tpu-v4s,0,unlimited',
      'us-west4,CPUS,12,100',
    ])
      assert.ok(lines.includes(line), `${line}\n${stdout}`);
    assert.ok(!stdout.includes('SSD_TOTAL_GB'), stdout);
  });

  it('shows a zone that is asked for, and all quotas of its region', async () => {
    const { stdout } = await report('--zone', 'europe-west4-b', '--all');
    assert.match(stdout, /^europe-west4-b +tpu-v5s-litepod-serving-preemptible +0 +32$/m);
    assert.match(stdout, /^us-west4 +SSD_TOTAL_GB +0 +500$/m);
  });

  it('says what could not be read, and takes no missing answer for 0', async () => {
    await cloud.admin('project', { disabledServices: ['tpu.googleapis.com'] });
    const { exitCode, stdout } = await report();
    assert.equal(exitCode, 0, stdout);
    assert.match(stdout, /^us-west4-a +tpu-v5s-litepod +- +64$/m);
    assert.match(stdout, /^ {2}nodes: could not look: /m);
  });
});
