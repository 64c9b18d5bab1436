import assert from 'node:assert/strict';
import { askedSize, formatSlices, usdPerHour } from '../../domain/machines.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { JobSpec } from '../../domain/job-spec.js';

function job(accelerator: string, more: { zone?: string; pricing?: string; slices?: number } = {}): JobSpec {
  const { zone = 'us-central1-a', pricing = 'spot', slices = 1 } = more;
  const resolved = resolveJob({ slices, tpu: { accelerator, zone, pricing } });
  assert.ok(resolved.ok);
  return resolved.spec;
}

describe('prices', () => {
  const cases: Record<string, { spec: JobSpec; want: number | undefined }> = {
    '16 spot chips of v5litepod': { spec: job('v5litepod-16'), want: 16 * 0.2449 },
    'two slices cost twice': { spec: job('v5litepod-16', { slices: 2 }), want: 32 * 0.2449 },
    'v4-8 has 4 chips': { spec: job('v4-8', { zone: 'us-central2-b', pricing: 'ondemand' }), want: 4 * 3.22 },
    'one host of v3 has its own price': {
      spec: job('v3-8', { zone: 'europe-west4-a', pricing: 'ondemand' }),
      want: 4 * 2.2,
    },
    'more hosts of v3 have another': {
      spec: job('v3-32', { zone: 'europe-west4-a', pricing: 'ondemand' }),
      want: 16 * 2,
    },
    'an unknown region has none': { spec: job('v6e-8', { zone: 'mars-north1-a' }), want: undefined },
    'spot of v4 has none': { spec: job('v4-8', { zone: 'us-central2-b' }), want: undefined },
    'reserved has none': { spec: job('v6e-8', { pricing: 'reserved' }), want: undefined },
    'preemptible has none': { spec: job('v6e-8', { pricing: 'preemptible' }), want: undefined },
  };
  for (const [name, { spec, want }] of Object.entries(cases)) it(name, () => assert.equal(usdPerHour(spec), want));
  it('another zone has its own', () => assert.equal(usdPerHour(job('v6e-1'), { zone: 'us-east5-b' }), 1.215));
});

describe('units of a job', () => {
  it('are the number in the name, times the slices; chips are for people', () => {
    const [cores, chips] = [job('v4-8', { slices: 3 }), job('v5e-16', { slices: 2 })];
    assert.deepEqual([askedSize(cores), formatSlices(cores)], [{ units: { v4: 24 }, chips: 12, hosts: 3 }, '3 x v4-8']);
    assert.deepEqual(
      [askedSize(chips), formatSlices(job('v6e-1'))],
      [{ units: { v5litepod: 32 }, chips: 32, hosts: 8 }, 'v6e-1'],
    );
  });
});
