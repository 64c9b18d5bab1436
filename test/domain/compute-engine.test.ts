import assert from 'node:assert/strict';
import { resolveJob } from '../../domain/job-file/resolve.js';
import {
  machineTypeOf,
  vmNames,
  type ComputeEnginePlan,
  type ComputeEngineSection,
} from '../../domain/machine-kinds/compute-engine/words.js';
import { KINDS } from '../../domain/machine-kinds/registry.js';
import { askedMachines, askedSize, kindOfJob, machineKind } from '../../domain/machines.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { formatProblems } from '../../domain/problem.js';

const COMMAND = { run: 'python3 train.py' };
const LEAST = { machine_type: 'g2-standard-8', zone: 'us-central1-a' };
type VmJob = Extract<JobSpec, ComputeEngineSection>;

function specOf(section: object, over: object = {}): VmJob {
  const job = resolveJob({ compute_engine: { ...LEAST, ...section }, command: COMMAND, ...over });
  assert.ok(job.ok, job.ok ? '' : formatProblems(job.problems));
  assert.ok('compute_engine' in job.spec);
  return job.spec;
}
function problemsOf(section: object, over: object = {}): string {
  const job = resolveJob({ compute_engine: { ...LEAST, ...section }, command: COMMAND, ...over });
  return job.ok ? '' : formatProblems(job.problems);
}
const PLACE = {
  ...{ owner: 'o', googleProject: 'g', zone: 'us-central1-a', name: 'jc-x-g1', job: 'x', run: 'r', generation: 1 },
  ...{ loginUser: 'me', publicKey: 'ssh-ed25519 AAAA\n' },
};
const planOf = (spec: JobSpec, over: object = {}): ComputeEnginePlan =>
  machineKind('compute-engine').plan(spec, { ...PLACE, ...over }) as ComputeEnginePlan;

describe('job file: compute_engine', () => {
  it('a machine type and a zone are enough: one Spot VM', () => {
    const spec = specOf({});
    assert.equal(kindOfJob(spec), 'compute-engine');
    assert.deepEqual(spec.compute_engine, {
      ...{ machineType: 'g2-standard-8', count: 1, pricing: 'spot', zones: ['us-central1-a'] },
      image: 'projects/debian-cloud/global/images/family/debian-12',
      ...{ tags: [], labels: {}, metadata: {}, externalIps: true },
    });
    assert.deepEqual(askedSize(spec), { units: { l4: 1 }, chips: 1, hosts: 1 });
    assert.deepEqual(askedMachines(spec), { accelerator: 'l4-1', zones: ['us-central1-a'], pricing: 'spot' });
  });

  const sizes: Record<string, [object, object, string]> = {
    'GPUs of the machine type': [
      { machine_type: 'a3-highgpu-8g', count: 2 },
      { units: { h100: 32 }, chips: 32, hosts: 4 },
      'h100-16',
    ],
    'GPUs that are attached': [
      { machine_type: 'n1-standard-8', accelerator: { type: 'nvidia-tesla-t4', count: 2 }, count: 3 },
      { units: { t4: 12 }, chips: 12, hosts: 6 },
      't4-6',
    ],
    'vCPUs of VMs without GPUs': [
      { machine_type: 'n2-standard-8', count: 2 },
      { units: { cpu: 32 }, chips: 0, hosts: 4 },
      'cpu-16',
    ],
  };
  for (const [name, [section, size, type]] of Object.entries(sizes))
    it(`quota counts ${name}`, () => {
      const spec = specOf(section, { slices: 2 });
      assert.deepEqual([askedSize(spec), askedMachines(spec).accelerator], [size, type]);
    });

  it('the plan has the VMs as the tier buys them, and our key', () => {
    const spec = specOf({ count: 2, image: 'team/cuda-12', startup_script: 'nvidia-smi', project: 'my-project' });
    const plan = planOf(spec, { bought: { pricing: 'reserved', reservation: 'held' } });
    assert.deepEqual(KINDS['compute-engine'].planForm().parse(plan), plan);
    assert.deepEqual(plan.ref, {
      ...{ kind: 'compute-engine', googleProject: 'my-project', zone: 'us-central1-a', name: 'jc-x-g1', vms: 2 },
    });
    assert.deepEqual(
      [plan.pricing, plan.reservation, plan.image],
      ['reserved', 'held', 'projects/team/global/images/family/cuda-12'],
    );
    assert.deepEqual(plan.metadata, { 'ssh-keys': 'me:ssh-ed25519 AAAA', 'startup-script': 'nvidia-smi' });
    assert.notEqual(plan.ownership.spec, planOf(spec).ownership.spec);
  });

  it('names of VMs fit in 63 characters, and are of one slice alone', () => {
    const ref = (name: string, vms: number) => ({ name, vms });
    assert.deepEqual(vmNames(ref('jc-x-g1', 1)), ['jc-x-g1']);
    assert.deepEqual(vmNames(ref('jc-x-g1', 2)), ['jc-x-g1-0', 'jc-x-g1-1']);
    const long = vmNames(ref(`${'a'.repeat(60)}-g1`, 100));
    assert.deepEqual([...new Set(long.map(({ length }) => length <= 63))], [true]);
    assert.equal(new Set([...long, ...vmNames(ref(`${'a'.repeat(60)}-g2`, 100))]).size, 200);
  });

  const machineTypes: Record<string, object> = {
    'a2-ultragpu-4g': { cpus: undefined, gpus: { type: 'a100-80gb', count: 4 } },
    'g2-standard-96': { cpus: 96, gpus: { type: 'l4', count: 8 } },
    'e2-medium': { cpus: 2 },
    'c3-standard-22-lssd': { cpus: 22 },
    'n2-custom-6-3072': { cpus: 6 },
  };
  for (const [name, want] of Object.entries(machineTypes))
    it(`${name} is known by its name`, () => assert.deepEqual(machineTypeOf(name), want));

  const wrong: Record<string, [object, RegExp]> = {
    'no machine type': [{ machine_type: null }, /compute_engine\.machine_type: is missing/],
    'a type of no form': [{ machine_type: 'G2 big' }, /machine_type: 'G2 big' is no machine type/],
    'a type without its vCPUs': [{ machine_type: 'x9-huge' }, /'x9-huge' is a machine type that jobctl does not know/],
    'GPUs beside GPUs': [
      { accelerator: { type: 'nvidia-tesla-t4' } },
      /accelerator: is for machine types without GPUs, and g2-standard-8 has 1 l4/,
    ],
    'GPUs on a type that takes none': [
      { machine_type: 'n2-standard-8', accelerator: { type: 'nvidia-tesla-t4' } },
      /accelerator: is for machine types of N1, and machine_type is n2-standard-8/,
    ],
    'an accelerator without its type': [
      { machine_type: 'n1-standard-8', accelerator: {} },
      /accelerator\.type: is missing/,
    ],
    'no VM': [{ count: 0 }, /compute_engine\.count: 0 is not a whole number from 1 to 256/],
    'an image that is none': [{ image: 'debian' }, /compute_engine\.image: 'debian' is no image/],
    'a small disk': [{ disk_gb: 5 }, /disk_gb: 5 is not a whole number from 10 to 65536/],
    'a region': [{ zone: 'us-central1' }, /compute_engine\.zone: 'us-central1' is no zone/],
    'another pricing': [{ pricing: 'cheap' }, /compute_engine\.pricing: 'cheap'/],
    'a reservation bought otherwise': [
      { pricing: 'spot', reservation: 'held' },
      /compute_engine\.reservation: a reservation is used with pricing reserved only/,
    ],
    'a disk that two would write to': [
      { count: 2, data_disks: [{ source: 'data' }] },
      /data_disks\[0\]\.mode: only one host can write to a disk, and the job has 2 hosts/,
    ],
    "jobctl's own metadata": [{ metadata: { 'ssh-keys': 'x' } }, /metadata\.ssh-keys: is set by jobctl/],
    'an unknown key': [{ machines: 2 }, /machines: no such key in compute_engine/],
  };
  for (const [name, [section, text]] of Object.entries(wrong))
    it(`${name} is refused`, () => assert.match(problemsOf(section), text));

  it('atomic is refused, and the default image with GPUs is warned of', () => {
    assert.match(problemsOf({}, { slices: 2, atomic: true }), /atomic/);
    const job = resolveJob({ compute_engine: LEAST, command: COMMAND });
    assert.ok(job.ok && job.warnings.some((warning) => /has no driver for GPUs/.test(warning)));
  });
});
