import assert from 'node:assert/strict';
import { AGENT } from '../../cloud/machines/kubernetes/pod-template.js';
import type { Observation, SeenJob, SeenPod } from '../../cloud/machines/kubernetes/observation.js';
import { rayClusterCondition, seenCluster, seenRayPod } from '../../cloud/machines/ray-cluster/kuberay.js';
import { workersWithPlace, rayClusterManifest } from '../../cloud/machines/ray-cluster/manifest.js';
import { askedSize } from '../../domain/machines.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import { KINDS } from '../../domain/machine-kinds/registry.js';
import { formatProblems } from '../../domain/problem.js';
import type { Condition, Ownership } from '../../domain/slice.js';

const MINIMAL = { image: 'train:1', ray_version: '2.60.0', workers: { max: 4 } };

function resolved(section: object) {
  const job = resolveJob({ ray_cluster: { ...MINIMAL, ...section }, command: { run: 'true' } });
  assert.ok(job.ok && 'ray_cluster' in job.spec, job.ok ? '' : formatProblems(job.problems));
  return job.spec;
}
function manifest(section: object = {}, name = 'jc-x-g1') {
  const place = { owner: 'o', googleProject: '', zone: 'default-cluster', name, job: 'x', run: 'r', generation: 1 };
  return rayClusterManifest(
    KINDS['ray-cluster'].plan(resolved(section), { ...place, loginUser: 'me', publicKey: 'k' }),
  );
}
const problems = (section: object): string => {
  const job = resolveJob({ ray_cluster: section, command: { run: 'true' } });
  return job.ok ? '' : formatProblems(job.problems);
};

describe('the section ray_cluster', () => {
  it('quota counts max workers, the head only if CPUs are counted, and the autoscaler with it', () => {
    const units = (section: object) => askedSize(resolved(section)).units;
    assert.deepEqual(units({}), { cpu: 2 + 4 });
    assert.deepEqual(units({ workers: { min: 4, max: 4 } }), { cpu: 1 + 4 });
    assert.deepEqual(units({ head: { cpus: 4 }, workers: { max: 2, cpus: '1500m' } }), { cpu: 5 + 2 * 2 });
    assert.deepEqual(units({ workers: { min: 0, max: 4, gpus: 2, gpu_type: 'h100' } }), { h100: 8 });
  });

  it('what is wrong is named with its place and what to do', () => {
    for (const [section, text] of [
      [{ ...MINIMAL, workers: {} }, /ray_cluster\.workers\.max.* such as workers: \{min: 1, max: 8\}/s],
      [{ ...MINIMAL, workers: { min: 5, max: 4 } }, /ray_cluster\.workers\.min.*more than max, which is 4/s],
      [{ ...MINIMAL, workers: { max: 4, gpus: 1 } }, /ray_cluster\.workers\.gpu_type.*such as gpu_type: h100/s],
      [{ ...MINIMAL, workers: { max: 4, cpus: 'many' } }, /ray_cluster\.workers\.cpus/],
      [{ ...MINIMAL, ray_version: 2.6 }, /ray_cluster\.ray_version.*such as 2\.60\.0/s],
      [{ ...MINIMAL, ray_version: '2.51.0' }, /ray_cluster\.ray_version.*2\.52\.0 is the first that asks for a token/s],
      [{ image: 'a', workers: { max: 1 } }, /ray_cluster\.ray_version.*KubeRay has to know/s],
      [
        { ...MINIMAL, volumes: [{ mount_path: 'data' }] },
        /ray_cluster\.volumes\.0\.mount_path|ray_cluster\.volumes\[0\]/,
      ],
      [{ ...MINIMAL, labels: { 'ray.io/cluster': 'x' } }, /not yours to set/],
    ] as const)
      assert.match(problems(section), text);
  });

  it('the module ray is refused: Ray runs already', () => {
    const job = resolveJob({ ray_cluster: MINIMAL, ray: {}, command: { run: 'true' } });
    assert.match(job.ok ? '' : formatProblems(job.problems), /the hosts of ray_cluster run Ray already/);
  });
});

describe('the objects of a RayCluster', () => {
  it('the agent is the first process of the head, and KubeRay is told to leave it so', () => {
    const { configMap, cluster } = manifest();
    const { template, rayStartParams } = cluster.spec?.headGroupSpec ?? assert.fail();
    assert.equal(configMap.data?.['agent'], AGENT);
    assert.equal(template.metadata?.annotations?.['ray.io/overwrite-container-cmd'], 'true');
    assert.deepEqual(template.spec?.containers[0]?.command, ['/bin/sh', '/jobctl/head']);
    assert.equal(template.spec.restartPolicy, 'Never');
    assert.deepEqual(rayStartParams, { 'num-cpus': '0' });
  });

  it('there is an autoscaler only if the cluster may grow, and a token always', () => {
    const { spec } = manifest({ workers: { min: 2, max: 8, idle_timeout: '5m' } }).cluster;
    assert.deepEqual(spec?.autoscalerOptions, { version: 'v2', idleTimeoutSeconds: 300 });
    const [group] = spec?.workerGroupSpecs ?? [];
    assert.deepEqual([group?.replicas, group?.minReplicas, group?.maxReplicas], [2, 2, 8]);
    assert.deepEqual(group?.rayStartParams, { 'num-cpus': '1' }, 'without CPUs Ray scales nothing');
    const fixed = manifest({ workers: { min: 8, max: 8 } }).cluster.spec;
    assert.equal(fixed?.enableInTreeAutoscaling, undefined);
    assert.deepEqual([spec?.authOptions, fixed?.authOptions], [{ mode: 'token' }, { mode: 'token' }]);
  });

  it('GPUs are the workers’ alone, and names are short enough for all that KubeRay makes of them', () => {
    const { cluster } = manifest({ workers: { max: 4, gpus: 2, gpu_type: 'h100' } }, `jc-${'x'.repeat(60)}`);
    assert.deepEqual(cluster.spec?.workerGroupSpecs?.[0]?.template.spec?.containers[0]?.resources?.limits, {
      'nvidia.com/gpu': '2',
    });
    assert.deepEqual(cluster.spec?.headGroupSpec?.template.spec?.containers[0]?.resources?.limits, {});
    assert.equal(cluster.metadata?.name?.length, 50);
    assert.equal(cluster.metadata?.labels?.['jobctl-machines'], 'ray-cluster');
  });
});

const OWN: Ownership = { owner: 'o', job: 'train', run: 'r', generation: 1, spec: 's' };
const AT = 1_000_000;
const WHOLE: SeenJob = {
  ...{ uid: 'c', ownership: OWN, createdAt: AT - 60_000, workers: 2, gangSeconds: 900, isWhole: true },
  ...{ provisionedAt: AT - 30_000, isDeleting: false, isSuspended: false, kueue: [], isComplete: false, succeeded: 0 },
};
const { provisionedAt: _, ...STARTING } = { ...WHOLE, isWhole: false };
const worker: SeenPod = {
  ...{ name: 'w', uid: 'w', jobUid: 'c', phase: 'Running', ip: '10.0.0.2', isDeleting: false, isReady: true },
  createdAt: AT - 50_000,
};
const head: SeenPod = { ...worker, name: 'h', uid: 'h-uid', index: 0, ip: '10.0.0.1' };
const probe = (message: string) => ({ of: 'pod' as const, uid: 'h-uid', reason: 'Unhealthy', message });

describe('what a RayCluster is seen as', () => {
  const condition = (over: Partial<Observation>): Condition =>
    rayClusterCondition(
      { ...{ at: AT, job: WHOLE, parts: [], pods: [head, worker], events: [], neighbours: [] }, ...over },
      OWN,
      'ml',
    );
  const cases: Record<string, [Partial<Observation>, Partial<Condition>, RegExp?]> = {
    'the head and its workers run': [{}, { kind: 'ready', uid: 'h-uid' }],
    'KubeRay has not seen all ready yet': [{ job: STARTING }, { kind: 'waiting' }, /2 of 2 pods run/],
    'a worker less than min is a warning': [{ pods: [head] }, { kind: 'ready' }, /0 of at least 1 workers run/],
    'a silent head is a warning': [
      { pods: [{ ...head, isReady: false }, worker] },
      { kind: 'ready' },
      /h, is not Ready/,
    ],
    'the head is evicted': [
      { pods: [{ ...head, isDeleting: true, disruption: { reason: 'EvictionByEvictionAPI', message: '' } }, worker] },
      { kind: 'lost', cause: 'preempted' },
    ],
    'a worker is evicted': [
      { pods: [head, { ...worker, disruption: { reason: 'EvictionByEvictionAPI', message: '' } }] },
      { kind: 'ready' },
    ],
    'the head is gone': [{ pods: [worker] }, { kind: 'lost', cause: 'failed' }, /head is gone/],
    'KubeRay has made another head': [
      { pods: [{ ...head, createdAt: AT - 1_000 }, worker] },
      { kind: 'lost', cause: 'failed' },
      /another one, pod h/,
    ],
    'the agent has ended': [
      { pods: [{ ...head, ended: { reason: 'Error', message: '', exitCode: 143 } }, worker] },
      { kind: 'lost', cause: 'failed' },
      /exit code 143/,
    ],
    'somebody has raised maxReplicas': [
      { job: { ...WHOLE, excess: 'its worker groups may have 9 workers' } },
      { kind: 'lost', cause: 'refused', scope: 'request' },
    ],
    'something has suspended it': [
      { job: { ...WHOLE, isSuspended: true } },
      { kind: 'lost', cause: 'refused' },
      /RayCluster/,
    ],
    'Ray cannot be started in this image': [
      { job: STARTING, events: [probe('Readiness probe failed: jobctl: Ray has ended on the head with code 127')] },
      { kind: 'lost', cause: 'refused', scope: 'request' },
    ],
    'Ray has ended before it was ready': [
      { job: STARTING, events: [probe('Readiness probe failed: jobctl: Ray has ended on the head with code 1')] },
      { kind: 'lost', cause: 'failed' },
    ],
    'its autoscaler has ended before it was ready': [
      { job: STARTING, pods: [{ ...head, sidecarEnded: { reason: 'Error', message: '' } }, worker] },
      { kind: 'lost', cause: 'failed' },
      /autoscaler has ended \(Error\)/,
    ],
    'its autoscaler has ended': [
      { pods: [{ ...head, sidecarEnded: { reason: 'Error', message: '' } }, worker] },
      { kind: 'ready' },
      /no workers are added/,
    ],
    'it is being deleted': [{ job: { ...WHOLE, isDeleting: true } }, { kind: 'deleting' }],
    'its workers are left': [{ job: 'not-found', pods: [{ ...worker, isDeleting: true }] }, { kind: 'deleting' }],
    'nothing is left': [{ job: 'not-found', pods: [] }, { kind: 'missing' }],
    'another’s': [
      { job: { ...WHOLE, ownership: { ...OWN, run: 'x' } } },
      { kind: 'foreign' },
      /the RayCluster of this name/,
    ],
  };
  for (const [name, [over, wanted, text]] of Object.entries(cases))
    it(name, () => {
      const found = condition(over);
      assert.deepEqual({ ...found, ...wanted }, found);
      assert.match(JSON.stringify(found), text ?? /./);
    });

  it('what was made is read back: the gang is the head and min, and a raised maxReplicas is seen', () => {
    const { cluster } = manifest({ workers: { min: 2, max: 4, gpus: 1, gpu_type: 'h100' } });
    const seen = seenCluster(cluster);
    assert.deepEqual([seen.workers, seen.gangSeconds, seen.device, seen.excess], [3, 900, 'nvidia.com/gpu', undefined]);
    const [group] = cluster.spec?.workerGroupSpecs ?? [];
    const raised = {
      ...cluster,
      spec: { ...cluster.spec, workerGroupSpecs: [{ ...(group ?? assert.fail()), maxReplicas: 9 }] },
    };
    assert.match(seenCluster(raised).excess ?? '', /9 workers, and the lease counts 4/);
  });

  it('pods that were read before KubeRay saw all of them ready are no reason to warn', () => {
    const told = (over: Partial<SeenPod>, phase = 'Running'): string | undefined => {
      const [first, second] = [head, worker].map((pod) => ({ ...pod, isReady: false, ...over }));
      const seen = condition({ pods: [first ?? assert.fail(), { ...(second ?? assert.fail()), phase }] });
      return seen.kind === 'ready' ? seen.warning : assert.fail(JSON.stringify(seen));
    };
    assert.equal(told({ readySince: AT - 30_000 }), undefined);
    assert.equal(told({ readySince: AT - 40_000 }, 'Pending'), undefined);
    assert.match(told({ readySince: AT - 29_000 }) ?? '', /h, is not Ready/);
    assert.match(told({ isReady: true, readySince: AT - 40_000 }, 'Pending') ?? '', /0 of at least 1 workers run/);
  });

  it('a pod that could not be let in is told', () => {
    const notLetIn = 'worker w waits: pods is forbidden';
    const waiting = condition({ job: STARTING, pods: [head, { ...worker, gate: 0 }], notLetIn });
    assert.match(waiting.kind === 'waiting' ? waiting.detail : '', /worker w waits: pods is forbidden/);
    const ready = condition({ notLetIn });
    assert.equal(ready.kind === 'ready' ? ready.warning : '', notLetIn);
  });

  it('the head is the one host', () => {
    const typed = (type: string) => seenRayPod({ metadata: { labels: { 'ray.io/node-type': type } } }).index;
    assert.deepEqual([typed('head'), typed('worker')], [0, undefined]);
  });
});

describe('workers that the lease has a place for', () => {
  const look = (pods: readonly SeenPod[], job: Partial<SeenJob> = {}): readonly string[] =>
    workersWithPlace({
      ...{ at: AT, job: { ...WHOLE, mostWorkers: 3, ...job }, parts: [], events: [], neighbours: [] },
      pods: [head, ...pods],
    }).map(({ name }) => name);
  const placed = (name: string, over: Partial<SeenPod> = {}): SeenPod => ({ ...worker, name, ...over });
  const gated = (name: string, createdAt: number, over: Partial<SeenPod> = {}): SeenPod => ({
    ...{ ...worker, name, createdAt, phase: 'Pending', gate: 0 },
    ...over,
  });

  it('are let in oldest first, up to what the lease counts; the head takes no place', () => {
    const four = [gated('d', 4), gated('b', 2), gated('a', 2), gated('c', 3)];
    assert.deepEqual(look(four), ['a', 'b', 'c']);
    assert.deepEqual(look([placed('x'), ...four]), ['a', 'b']);
    assert.deepEqual(look([placed('x'), placed('y'), placed('z'), ...four]), []);
    assert.deepEqual(look(['v', 'w', 'x', 'y', 'z'].map((name) => placed(name))), []);
  });

  it('a worker that is ending has its place until it is gone, one whose containers have ended has none', () => {
    const three = ['x', 'y', 'z'].map((name) => placed(name, { isDeleting: true }));
    assert.deepEqual(look([...three, gated('a', 1)]), []);
    assert.deepEqual(look([...three.slice(1), gated('a', 1)]), ['a']);
    assert.deepEqual(look([...three.map((pod) => ({ ...pod, phase: 'Succeeded' })), gated('a', 1)]), ['a']);
    assert.deepEqual(look([...three.map((pod) => ({ ...pod, phase: 'Failed' })), gated('a', 1)]), ['a']);
  });

  it('a worker that is deleted before it was let in, or is of another RayCluster, gets and takes none', () => {
    assert.deepEqual(look([gated('a', 1, { isDeleting: true }), gated('b', 2)]), ['b']);
    assert.deepEqual(look([gated('a', 1, { jobUid: 'older' })]), []);
    const older = ['x', 'y', 'z'].map((name) => placed(name, { jobUid: 'older' }));
    assert.deepEqual(look([...older, gated('a', 1)]), ['a']);
  });

  it('nobody is let into a RayCluster that is being deleted, or of which the lease counts nothing', () => {
    assert.deepEqual(look([gated('a', 1)], { isDeleting: true }), []);
    assert.deepEqual(look([gated('a', 1)], { mostWorkers: 0 }), []);
  });

  it('every worker that is made has the gate, beside others, and is seen with it', () => {
    const { cluster } = manifest();
    const [group] = cluster.spec?.workerGroupSpecs ?? [];
    const spec = group?.template.spec ?? assert.fail();
    assert.deepEqual(spec.schedulingGates, [{ name: 'jobctl/lease' }]);
    assert.equal(cluster.spec?.headGroupSpec?.template.spec?.schedulingGates, undefined);
    assert.equal(seenCluster(cluster).mostWorkers, 4);
    const gateAmong = (...names: string[]): number | undefined =>
      seenRayPod({ spec: { containers: [], schedulingGates: names.map((name) => ({ name })) } }).gate;
    assert.deepEqual(
      [gateAmong('jobctl/lease'), gateAmong('a/b', 'jobctl/lease'), gateAmong('a/b')],
      [0, 1, undefined],
    );
  });
});
