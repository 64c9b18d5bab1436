import assert from 'node:assert/strict';
import { resolveJob } from '../../domain/job-file/resolve.js';
import {
  type KubernetesPlan,
  type KubernetesSection,
  objectName,
} from '../../domain/machine-kinds/kubernetes/words.js';
import { accountIn, placeOfAccount } from '../../domain/machine-kinds/kubernetes/plan.js';
import { KINDS } from '../../domain/machine-kinds/registry.js';
import { askedMachines, askedSize, kindOfJob, machineKind } from '../../domain/machines.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { formatProblems } from '../../domain/problem.js';
import { runEnvironment } from '../../domain/run-environment.js';
import type { PodHost } from '../../domain/slice.js';

const IMAGE = 'ghcr.io/team/train:1.4';
const COMMAND = { run: 'python3 train.py' };
type PodJob = Extract<JobSpec, KubernetesSection>;

function specOf(kubernetes: object, over: object = {}): PodJob {
  const job = resolveJob({ kubernetes: { image: IMAGE, ...kubernetes }, command: COMMAND, ...over });
  assert.ok(job.ok, job.ok ? '' : formatProblems(job.problems));
  assert.ok('kubernetes' in job.spec);
  return job.spec;
}
function problemsOf(kubernetes: object, over: object = {}): string {
  const job = resolveJob({ kubernetes: { image: IMAGE, ...kubernetes }, command: COMMAND, ...over });
  return job.ok ? '' : formatProblems(job.problems);
}
const PLACE = {
  ...{ owner: 'o', googleProject: 'g', zone: 'default-cluster', name: 'jc-x-g1', job: 'x', run: 'r', generation: 1 },
  ...{ loginUser: 'me', publicKey: 'k' },
};
const planOf = (spec: JobSpec): KubernetesPlan => machineKind('kubernetes').plan(spec, PLACE) as KubernetesPlan;

describe('job file: kubernetes', () => {
  it('an image is enough: one pod of one CPU in the namespace default', () => {
    const spec = specOf({});
    assert.equal(kindOfJob(spec), 'kubernetes');
    assert.deepEqual(spec.kubernetes, {
      ...{ namespace: 'default', image: IMAGE, workers: 1, gangSeconds: 900 },
      ...{ nodeSelector: {}, tolerations: [], secrets: [], volumes: [], labels: {} },
    });
    assert.deepEqual(askedSize(spec), { units: { cpu: 1 }, chips: 0, hosts: 1 });
    assert.deepEqual(askedMachines(spec), { accelerator: 'cpu-1', zones: ['default-cluster'], pricing: 'any' });
    assert.equal(spec.name, 'cpu-1');
  });

  const sizes: Record<string, [object, object, string]> = {
    'GPUs by their type': [
      { workers: 4, gpus: 8, gpu_type: 'h100', cpus: 90 },
      { units: { h100: 64 }, chips: 64, hosts: 8 },
      'h100-32',
    ],
    'a TPU slice by its generation, a pod for each host': [
      { tpu: { accelerator: 'tpu-v5-lite-podslice', topology: '4x4' } },
      { units: { v5litepod: 32 }, chips: 32, hosts: 8 },
      'v5litepod-16',
    ],
    'a TPU slice of cores, by jobctl’s own name': [
      { tpu: { accelerator: 'v4-16' } },
      { units: { v4: 32 }, chips: 16, hosts: 4 },
      'v4-16',
    ],
    'CPUs, whole ones a pod': [{ workers: 3, cpus: '1500m' }, { units: { cpu: 12 }, chips: 0, hosts: 6 }, 'cpu-6'],
  };
  for (const [name, [section, want, type]] of Object.entries(sizes))
    it(`two slices count as ${name}`, () => {
      const spec = specOf(section, { slices: 2 });
      assert.deepEqual(askedSize(spec), want);
      assert.equal(askedMachines(spec).accelerator, type);
    });

  it('the whole section reaches the plan, and the plan its form', () => {
    const spec = specOf({
      ...{ context: 'gke_p_z_c', namespace: 'ml', workers: 2, gpus: 1, gpu_type: 'a100-80gb', memory: '64Gi', cpus: 8 },
      ...{ node_selector: { pool: 'gpu' }, service_account: 'trainer', priority_class: 'high', labels: { team: 'v' } },
      tolerations: [
        { key: 'gpu', effect: 'NoSchedule' },
        { key: 'team', value: 'vision' },
      ],
      secrets: [{ name: 'hf-token', mount_path: '/secrets/hf' }],
      volumes: [
        { mount_path: '/data', claim: 'corpus', read_only: true },
        { mount_path: '/dev/shm', empty_dir: { medium: 'memory', size: '16Gi' } },
        { mount_path: '/scratch', empty_dir: true },
        { mount_path: '/mnt/ssd', host_path: '/mnt/ssd0' },
      ],
      gang_timeout: '5m',
    });
    const plan = planOf(spec);
    assert.deepEqual(KINDS.kubernetes.planForm().parse(plan), plan);
    assert.deepEqual(plan.ref, {
      ...{ kind: 'kubernetes', context: 'gke_p_z_c', namespace: 'ml', zone: 'gke_p_z_c', name: 'jc-x-g1' },
    });
    assert.deepEqual(plan.pods.gpus, { count: 1, type: 'a100-80gb', resource: 'nvidia.com/gpu' });
    assert.deepEqual(plan.pods.tolerations, [
      { operator: 'Exists', key: 'gpu', effect: 'NoSchedule' },
      { operator: 'Equal', key: 'team', value: 'vision' },
    ]);
    assert.deepEqual(plan.pods.volumes, [
      { mountPath: '/data', claim: 'corpus', readOnly: true },
      { mountPath: '/dev/shm', emptyDir: { medium: 'memory', size: '16Gi' } },
      { mountPath: '/scratch', emptyDir: { medium: 'disk' } },
      { mountPath: '/mnt/ssd', hostPath: '/mnt/ssd0' },
    ]);
    assert.equal(plan.pods.gangSeconds, 300);
  });

  it('another image is another spec, so that its pods are not adopted', () => {
    const hash = (section: object): string => planOf(specOf(section)).ownership.spec;
    assert.equal(hash({}), hash({ context: 'other', namespace: 'ml' }));
    assert.notEqual(hash({}), hash({ image: `${IMAGE}.1` }));
    assert.notEqual(hash({}), hash({ gang_timeout: 60 }));
  });

  const wrong: Record<string, [object, RegExp]> = {
    'no image': [{ image: null }, /kubernetes\.image: is missing/],
    'an address as an image': [{ image: 'https://ghcr.io/x' }, /kubernetes\.image: 'https:\/\/ghcr.io\/x' is no image/],
    'capitals in an image': [{ image: 'Train:1' }, /'Train:1' is no image/],
    'workers: 0': [{ workers: 0 }, /kubernetes\.workers: 0 is not a whole number from 1 to 1024/],
    'gpus without a type': [{ gpus: 8 }, /kubernetes\.gpu_type: is missing/],
    'a type without gpus': [{ gpu_type: 'h100' }, /gpu_type is given without gpus/],
    'a type that quota cannot hold': [{ gpus: 1, gpu_type: 'H100 SXM' }, /is no type of GPU/],
    'gpus and tpu': [
      { gpus: 1, gpu_type: 'h100', tpu: { accelerator: 'v5litepod-16' } },
      /gpus and tpu are both given/,
    ],
    'a TPU that GKE does not have': [{ tpu: { accelerator: 'v2-8' } }, /'v2-8' is not sold on GKE/],
    'an unknown TPU': [{ tpu: { accelerator: 'tpu-v9', topology: '4x4' } }, /'tpu-v9' is no TPU of GKE/],
    'a TPU without its topology': [
      { tpu: { accelerator: 'tpu-v6e-slice' } },
      /kubernetes\.tpu\.topology: is missing\n *usual: 1x1 \(v6e-1\)/,
    ],
    'a topology that is none': [
      { tpu: { accelerator: 'tpu-v6e-slice', topology: '3x3' } },
      /'3x3' is no topology of tpu-v6e-slice/,
    ],
    'other workers than the topology has hosts': [
      { workers: 3, tpu: { accelerator: 'v5litepod-16' } },
      /kubernetes\.workers: 3 is not the 4 hosts of v5litepod-16, one pod each\n *write workers: 4/,
    ],
    'no quantity': [{ memory: '64 GB' }, /kubernetes\.memory: '64 GB' is no quantity/],
    'no namespace': [{ namespace: 'ML_team' }, /kubernetes\.namespace: 'ML_team' is no namespace/],
    'a relative mount': [{ secrets: [{ name: 'a', mount_path: 'etc' }] }, /'etc' is no absolute path/],
    'a mount on the agent': [{ secrets: [{ name: 'a', mount_path: '/jobctl' }] }, /where jobctl's agent lies/],
    'a volume of two sources': [
      { volumes: [{ mount_path: '/d', claim: 'c', host_path: '/x' }] },
      /names 2 of claim, empty_dir and host_path/,
    ],
    'a folder mounted twice': [
      { secrets: [{ name: 'a', mount_path: '/d' }], volumes: [{ mount_path: '/d', claim: 'c' }] },
      /'\/d' is mounted twice/,
    ],
    'a label of Kueue': [
      { labels: { 'kueue.x-k8s.io/queue-name': 'q' } },
      /is a label that is not yours to set\n *jobctl's quota decides/,
    ],
    'a label of ours': [{ labels: { 'jobctl-owner': 'q' } }, /is a label that is not yours to set/],
    'a timeout that no gang meets': [{ gang_timeout: '2s' }, /kubernetes\.gang_timeout: '2s' is too short/],
    'an unknown key': [{ gpu: 8 }, /did you mean .*gpus/],
    'a toleration without a key': [{ tolerations: [{ value: 'x' }] }, /tolerations\[0\].key: is missing/],
  };
  for (const [name, [section, want]] of Object.entries(wrong))
    it(`${name} is refused`, () => assert.match(problemsOf(section), want));

  it('atomic and a second section are refused', () => {
    assert.match(problemsOf({}, { slices: 2, atomic: true }), /atomic: is not for machines of the section kubernetes/);
    assert.match(problemsOf({}, { tpu: { accelerator: 'v6e-1', zone: 'us-east1-d' } }), /tpu and kubernetes are both/);
  });
});

describe('the names of a slice in Kubernetes', () => {
  it('leave room for the index of 1,024 pods in a hostname', () => {
    const long = `jc-${'x'.repeat(50)}-s255-g12`;
    const name = objectName(long);
    assert.ok(`${name}-1023`.length <= 63, name);
    assert.notEqual(name, objectName(`${long}1`));
    assert.equal(objectName('jc-train-g1'), 'jc-train-g1');
  });

  it('an account says its context and namespace, whatever characters a context has', () => {
    for (const place of [{ namespace: 'ml' }, { context: 'arn:aws:eks:us-east-1:1:cluster/a b', namespace: 'ml' }]) {
      const account = accountIn(place);
      assert.equal(account.split('/').length, 2);
      assert.deepEqual(placeOfAccount(account), place);
    }
    assert.throws(() => placeOfAccount('ml'), /wanted CONTEXT\/NAMESPACE/);
  });

  it('only a job names an account', () => {
    const kind = machineKind('kubernetes');
    assert.equal(kind.account({ googleProject: 'g' }), undefined);
    assert.equal(kind.account({ googleProject: 'g' }, specOf({ namespace: 'ml' })), '/ml');
  });
});

describe('the environment of a command in pods', () => {
  const host = (index: number): PodHost => ({
    ...{ reach: 'pod', index, internalIp: `10.0.0.${index}`, namespace: 'ml', pod: `p-${index}`, uid: `u-${index}` },
  });
  const place = (slices: number) => ({
    ...{ job: 'x', attempt: 1, bucket: 'b' },
    slices: [...Array(slices).keys()].map((index) => ({
      ...{ index, name: `n${index}`, zone: 'z', hosts: [host(2 * index), host(2 * index + 1)] },
    })),
  });

  it('has the rank over all slices, as JAX and PyTorch read it', () => {
    const env = runEnvironment(specOf({ workers: 2 }, { slices: 2 }), place(2), 1, 3);
    const { JAX_PROCESS_ID, JAX_NUM_PROCESSES, JAX_COORDINATOR_ADDRESS, RANK, WORLD_SIZE, MASTER_ADDR } = env;
    assert.deepEqual(
      [JAX_PROCESS_ID, JAX_NUM_PROCESSES, JAX_COORDINATOR_ADDRESS, RANK, WORLD_SIZE, MASTER_ADDR],
      ['3', '4', '10.0.0.0:8476', '3', '4', '10.0.0.0'],
    );
    assert.equal(env['PET_NODE_RANK'], '3');
    assert.equal('PET_NPROC_PER_NODE' in env, false);
    assert.equal('MEGASCALE_NUM_SLICES' in env, false);
  });

  it('counts only hosts that run the command', () => {
    const spec = specOf({ workers: 2 }, { command: { run: 'x', workers: 1 } });
    const env = runEnvironment(spec, place(1), 0, 1);
    assert.deepEqual([env['RANK'], env['WORLD_SIZE'], env['MASTER_ADDR']], ['0', '1', '10.0.0.1']);
    assert.equal('RANK' in runEnvironment(spec, place(1), 0, 0), false);
  });

  it('has MEGASCALE_* for TPUs in several slices alone', () => {
    const tpu = { tpu: { accelerator: 'v5litepod-8' } };
    const spec = specOf({ ...tpu }, { slices: 2 });
    assert.equal(runEnvironment(spec, place(2), 1, 2)['MEGASCALE_SLICE_ID'], '1');
    assert.equal('MEGASCALE_SLICE_ID' in runEnvironment(specOf(tpu), place(1), 0, 0), false);
  });
});
