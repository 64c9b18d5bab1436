import assert from 'node:assert/strict';
import { checkEdit } from '../../domain/job-file/edit.js';
import type { PoolDefaults } from '../../domain/job-file/pool-defaults.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { JobSpec } from '../../domain/job-spec.js';
import {
  askedSize,
  kindOfJob,
  machineKind,
  requestCount,
  requestNameOf,
  slicesOfRequest,
} from '../../domain/machines.js';
import { formatProblems } from '../../domain/problem.js';
import { tpuJob } from '../tpu-job.js';

const TPU = { accelerator: 'v4-16', zone: 'us-central2-b' };

function specOf(file: Readonly<Record<string, unknown>>, pool?: PoolDefaults): JobSpec {
  const job = resolveJob({ tpu: TPU, slices: 3, ...file }, pool && { pool });
  assert.ok(job.ok, job.ok ? '' : formatProblems(job.problems));
  return job.spec;
}

const planOf = (spec: JobSpec) =>
  machineKind(kindOfJob(spec)).plan(spec, {
    ...{ owner: 'o', googleProject: 'p', zone: 'us-central2-b', name: 'jc-x-g1', job: 'x', run: 'r', generation: 1 },
    ...{ loginUser: 'alice', publicKey: 'ssh-ed25519 AAAA alice' },
  });

describe('job file: atomic', () => {
  it('asks for all slices in one request; without it, or false, each is asked for alone', () => {
    const atomic = specOf({ atomic: true });
    assert.deepEqual([atomic.slices, atomic.atomic, requestCount(atomic)], [3, true, 1]);
    for (const file of [{}, { atomic: false }, { atomic: null }, { slices: 1, atomic: false }]) {
      const spec = specOf(file);
      assert.deepEqual(['atomic' in spec, requestCount(spec)], [false, spec.slices]);
      assert.equal(planOf(spec).ref.slices, undefined);
    }
  });

  it('plans one request of so many slices, each with a name of its own that says whose it is', () => {
    const { ref } = planOf(specOf({ atomic: true }));
    assert.deepEqual([ref.name, ref.slices, requestNameOf(ref)], ['jc-x-g1', 3, 'jc-x-g1']);
    assert.deepEqual(
      slicesOfRequest(ref).map((slice) => [slice.name, requestNameOf(slice), slice.slices]),
      [0, 1, 2].map((index) => [`jc-x-g1-${index}`, 'jc-x-g1', undefined]),
    );
  });

  it('counts as much quota as the slices alone', () => {
    assert.deepEqual(askedSize(specOf({ atomic: true })), askedSize(specOf({})));
  });

  const modes: Record<string, { tpu?: object; pool?: PoolDefaults; want: string }> = {
    'a queued resource': { want: 'queued-resources' },
    'a queued resource also in a pool of nodes': {
      pool: { pool: 'p', tpu: { allocation_mode: 'tpu-vm' } },
      want: 'queued-resources',
    },
    'a queued resource of a reservation': { tpu: { reservation: 'r1' }, want: 'queued-resources' },
  };
  for (const [name, { tpu, pool, want }] of Object.entries(modes))
    it(`is ${name}`, () =>
      assert.equal(tpuJob(specOf({ atomic: true, tpu: { ...TPU, ...tpu } }, pool)).tpu.allocationMode, want));

  it('cannot be changed in a job that is open', () => {
    const job = { tpu: TPU, slices: 3, atomic: true };
    const edit = checkEdit({ id: 'x', job, spec: specOf({ atomic: true }) }, { job: { ...job, atomic: false } });
    assert.ok(!edit.ok && /atomic: false cannot take the place of true/.test(edit.message), JSON.stringify(edit));
  });
});
