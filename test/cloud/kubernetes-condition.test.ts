import assert from 'node:assert/strict';
import { conditionOf } from '../../cloud/machines/kubernetes/condition.js';
import type { Observation, SeenJob, SeenPod } from '../../cloud/machines/kubernetes/observation.js';
import type { Condition, Ownership } from '../../domain/slice.js';

const OWN: Ownership = { owner: 'o', job: 'train', run: 'r', generation: 1, spec: 's' };
const AT = 1_000_000;
const JOB: SeenJob = {
  ...{ uid: 'j', ownership: OWN, createdAt: AT - 60_000, workers: 2, gangSeconds: 900 },
  ...{ isDeleting: false, isSuspended: false, kueue: [], isWhole: false, isComplete: false, succeeded: 0 },
};
const pod = (index: number, over: Partial<SeenPod> = {}): SeenPod => ({
  ...{ name: `p-${index}`, uid: `u-${index}`, jobUid: 'j', index, phase: 'Running', ip: `10.0.0.${index}` },
  ...{ node: 'n1', isDeleting: false, isReady: true },
  ...over,
});
const pending = (index: number, over: Partial<SeenPod> = {}): SeenPod => {
  const { ip: _, ...rest } = pod(index, { phase: 'Pending', isReady: false, ...over });
  return rest;
};
const seen = (over: Partial<Observation> = {}): Observation => ({
  ...{ at: AT, job: JOB, parts: [], pods: [pod(0), pod(1)], events: [], neighbours: [] },
  ...over,
});
const condition = (over: Partial<Observation>, ownership: Parameters<typeof conditionOf>[1] = OWN): Condition =>
  conditionOf(seen(over), ownership, 'ml');
const text = (found: Condition): string =>
  'message' in found ? found.message : 'detail' in found ? found.detail : JSON.stringify(found);
const verdict = (found: Condition): string => {
  if (found.kind !== 'lost') return found.kind === 'missing' && found.isRequestLeft ? 'left' : found.kind;
  return found.cause === 'refused' ? `refused ${found.scope}` : found.cause;
};

const UNSCHEDULABLE = { reason: 'Unschedulable', message: '0/3 nodes are available: 3 Insufficient nvidia.com/gpu.' };
const part = { what: 'ConfigMap', uid: 'c', ownership: OWN, isDeleting: false } as const;
const disrupted = { disruption: { reason: 'EvictionByEvictionAPI', message: 'Eviction API: evicting' } };
const unpulled = (message: string) => pending(0, { waiting: { reason: 'ImagePullBackOff', message } });
const event = (of: 'job' | 'pod', uid: string, reason: string, message: string) => ({ of, uid, reason, message });

const cases: Record<string, [Partial<Observation>, string, RegExp?]> = {
  'all pods run': [{}, 'ready'],
  'a pod is not Ready: its node is silent': [
    { pods: [pod(0), pod(1, { isReady: false })] },
    'ready',
    /p-1 is not Ready/,
  ],
  'a phase Unknown is no loss': [{ pods: [pod(0), pod(1, { phase: 'Unknown', isReady: false })] }, 'ready'],
  'a pod has no address yet': [{ pods: [pod(0), pending(1)] }, 'waiting', /1 of 2 pods run/],
  'the same index twice is not whole': [{ pods: [pod(0), pod(0, { uid: 'x' })] }, 'waiting'],
  'a pod of an older Job does not count': [{ pods: [pod(0), pod(1, { jobUid: 'old' })] }, 'waiting'],
  'the scheduler has no room': [
    { pods: [pod(0), pending(1, { unscheduled: UNSCHEDULABLE })] },
    'waiting',
    /1 of 2 pods run; 1 cannot be scheduled: Unschedulable: 0\/3 nodes are available: 3 Insufficient nvidia/,
  ],
  'an eviction': [{ pods: [pod(0, disrupted), pod(1)] }, 'preempted', /p-0: EvictionByEvictionAPI: Eviction API/],
  'a disruption that only the Job remembers': [
    { pods: [pod(1)], job: { ...JOB, failure: { reason: 'PodFailurePolicy', message: 'Pod ml/p-0 has condition' } } },
    'preempted',
    /Pod ml\/p-0 has condition/,
  ],
  'a failed Job': [
    { pods: [], job: { ...JOB, failure: { reason: 'BackoffLimitExceeded', message: 'has reached it' } } },
    'failed',
    /BackoffLimitExceeded: has reached it/,
  ],
  'PID 1 has ended': [
    { pods: [pod(0), pod(1, { ended: { reason: 'Error', message: '', exitCode: 3 } })] },
    'failed',
    /p-1: its first process has ended by itself: exit code 3, Error/,
  ],
  'PID 1 was killed for memory': [
    { pods: [pod(0, { ended: { reason: 'OOMKilled', message: '', exitCode: 137 } })] },
    'failed',
    /OOMKilled.*raise kubernetes\.memory/,
  ],
  'an image without a tool': [
    { pods: [pod(0, { ended: { reason: 'Error', message: "no 'bash'", exitCode: 78 } })] },
    'refused request',
    /no 'bash'/,
  ],
  'an image without a shell': [
    { pods: [pod(0, { ended: { reason: 'StartError', message: 'exec: "/bin/sh": no such file', exitCode: 128 } })] },
    'refused request',
    /no such file/,
  ],
  'a pod that ended with code 0 and is gone': [{ pods: [pod(1)], job: { ...JOB, succeeded: 1 } }, 'failed', /code 0/],
  'all pods have ended well': [{ pods: [], job: { ...JOB, isComplete: true } }, 'failed', /Complete/],
  'a pod that somebody deletes': [{ pods: [pod(0, { isDeleting: true }), pod(1)] }, 'failed', /p-0 is being deleted/],
  'a Job that is deleted': [{ job: { ...JOB, isDeleting: true } }, 'deleting'],
  'a Job that Kueue manages': [{ job: { ...JOB, kueue: ['kueue.x-k8s.io/queue-name'] } }, 'refused request', /Kueue/],
  'a Job that is held back': [{ pods: [], job: { ...JOB, isSuspended: true } }, 'refused request', /suspended/],
  nothing: [{ job: 'not-found', pods: [] }, 'missing'],
  'a ConfigMap alone': [{ job: 'not-found', pods: [], parts: [part] }, 'left'],
  'pods alone': [{ job: 'not-found', pods: [pod(0)] }, 'left'],
  'pods alone, ending': [{ job: 'not-found', pods: [pod(0, { isDeleting: true })] }, 'deleting'],
  'a Job of another run': [{ job: { ...JOB, ownership: { ...OWN, run: 'x' } } }, 'foreign', /the Job .* run x/],
  'a Service of nobody': [
    { job: 'not-found', pods: [], parts: [{ what: 'Service', uid: 's', isDeleting: false }] },
    'foreign',
    /the Service of this name belongs to somebody else/,
  ],
  'a registry that has no such image': [
    { pods: [unpulled('Back-off pulling image "x:1": ErrImagePull: rpc error: .. "x:1": not found')] },
    'refused request',
    /p-0: ImagePullBackOff: Back-off pulling image "x:1"/,
  ],
  'a registry that does not answer': [
    { pods: [unpulled('ErrImagePull: dial tcp: lookup ghcr.io: i/o timeout')] },
    'waiting',
    /ImagePullBackOff: ErrImagePull: dial tcp/,
  ],
  'a secret that is missing': [
    {
      pods: [pending(0), pending(1)],
      events: [event('pod', 'u-1', 'FailedMount', 'MountVolume.SetUp failed: secret "hf" not found')],
    },
    'refused request',
    /p-1: FailedMount: .*secret "hf" not found/,
  ],
  'a quota of the namespace': [
    {
      pods: [],
      events: [event('job', 'j', 'FailedCreate', 'pods "p-0" is forbidden: exceeded quota: q, requested: cpu=2')],
    },
    'refused zone',
    /FailedCreate: .*exceeded quota/,
  ],
  'an old event of pods that could not be made': [
    { events: [event('job', 'j', 'FailedCreate', 'exceeded quota')], pods: [pod(0), pending(1)] },
    'waiting',
  ],
  'a service account that is missing': [
    {
      pods: [],
      events: [
        event('job', 'j', 'FailedCreate', 'error looking up service account ml/t: serviceaccount "t" not found'),
      ],
    },
    'refused request',
  ],
  'a claim that is missing': [
    {
      pods: [pending(0, { unscheduled: { reason: 'Unschedulable', message: 'persistentvolumeclaim "c" not found' } })],
    },
    'refused request',
  ],
};

describe('what a cluster holds of a slice', () => {
  for (const [name, [over, want, words]] of Object.entries(cases))
    it(`${name}: ${want}`, () => {
      const found = condition(over);
      assert.equal(verdict(found), want, text(found));
      if (words) assert.match(found.kind === 'ready' ? (found.warning ?? '') : text(found), words);
    });

  it('hosts are pods in the order of their index, with the Job’s uid', () => {
    const found = condition({ pods: [pod(1), pod(0)] });
    assert.ok(found.kind === 'ready');
    assert.equal(found.uid, 'j');
    assert.deepEqual(found.hosts[0], {
      ...{ reach: 'pod', index: 0, internalIp: '10.0.0.0', namespace: 'ml', pod: 'p-0', uid: 'u-0' },
    });
    assert.deepEqual(
      found.hosts.map(({ index }) => index),
      [0, 1],
    );
  });

  it('another generation is foreign to its owner, and its job’s to remove', () => {
    assert.equal(condition({}, { ...OWN, generation: 2 }).kind, 'foreign');
    assert.equal(condition({}, { owner: 'o', job: 'train', run: 'r' }).kind, 'ready');
  });
});

describe('a gang that is not whole in time', () => {
  const pods = [pod(0), pending(1, { unscheduled: UNSCHEDULABLE })];
  const aged = (seconds: number, job: string, over: Partial<SeenJob> = {}): SeenJob => ({
    ...{ ...JOB, uid: `${job}-uid`, ownership: { ...OWN, job }, createdAt: AT - seconds * 1000 },
    ...over,
  });
  const gives = (job: SeenJob, ...neighbours: SeenJob[]): boolean => {
    const found = condition(
      { job, neighbours, pods: pods.map((each) => ({ ...each, jobUid: job.uid })) },
      job.ownership,
    );
    if (found.kind === 'lost') assert.ok(found.cause === 'refused' && found.scope === 'zone', text(found));
    return found.kind === 'lost';
  };

  it('gives back what it has at its timeout, with the scheduler’s words', () => {
    assert.equal(gives(aged(899, 'a')), false);
    assert.equal(gives(aged(900, 'a')), true);
    const found = condition({ job: aged(900, 'train'), pods: pods.map((each) => ({ ...each, jobUid: 'train-uid' })) });
    assert.match(text(found), /not all pods run after 900 s.*Insufficient nvidia/);
  });

  it('a younger one leaves when half of the oldest one’s timeout is over, and the oldest one has the other half', () => {
    const young = aged(100, 'b');
    assert.equal(gives(young, aged(449, 'a')), false);
    assert.equal(gives(young, aged(450, 'a')), true);
    assert.equal(gives(aged(899, 'a'), young), false);
    const pending = pods.map((each) => ({ ...each, jobUid: young.uid }));
    const left = condition({ job: young, neighbours: [aged(450, 'a')], pods: pending }, young.ownership);
    assert.match(text(left), /^job a has waited in this namespace for longer, .*gives back the pods that do run: /);
  });

  it('the oldest one stays while a younger one leaves, and when it has left', () => {
    const old = aged(600, 'a');
    assert.equal(gives(old, aged(500, 'b', { isDeleting: true })), false);
    assert.equal(gives(old), false);
  });

  it('two that began in one second do not both leave, nor both stay', () => {
    const [a, b] = [aged(450, 'a'), aged(450, 'b')];
    assert.deepEqual([gives(a, b), gives(b, a)], [false, true]);
  });

  it('a gang that is whole, has ended, leaves, is of the same job or takes another device is no rival', () => {
    const [young, old] = [aged(100, 'b'), (over: Partial<SeenJob>) => aged(800, 'a', over)];
    assert.equal(gives(young, old({ isWhole: true })), false);
    assert.equal(gives(young, old({ isComplete: true })), false);
    assert.equal(gives(young, old({ isDeleting: true })), false);
    assert.equal(gives(young, aged(800, 'b', { uid: 'first-slice' })), false);
    assert.equal(gives(young, old({ device: 'google.com/tpu' })), false);
    assert.equal(gives({ ...young, device: 'google.com/tpu' }, old({ device: 'google.com/tpu' })), true);
  });

  it('the slices of one job leave together', () => {
    const [first, second] = [aged(460, 'b'), aged(440, 'b', { uid: 'second-slice' })];
    const rival = aged(459, 'a');
    assert.deepEqual([gives(first, second, rival), gives(second, first, rival)], [false, false]);
    assert.equal(gives(rival, first, second), true);
  });
});
