import assert from 'node:assert/strict';
import { buildCondition, type SeenBuild } from '../../cloud/builds/kubernetes-builds.js';
import type { SeenEvent, SeenJob, SeenPod } from '../../cloud/machines/kubernetes/observation.js';

const JOB: SeenJob = {
  ...{ uid: 'job-1', createdAt: 0, workers: 1, gangSeconds: Infinity, isDeleting: false, isSuspended: false },
  ...{ kueue: [], isWhole: false, isComplete: false, succeeded: 0 },
};
const POD: SeenPod = {
  ...{ name: 'build-0-x', uid: 'pod-1', jobUid: 'job-1', phase: 'Running', isDeleting: false, isReady: true },
};
const DIGEST = `sha256:${'1f'.repeat(32)}`;
const METADATA = JSON.stringify({ 'containerimage.digest': DIGEST, 'image.name': 'train:1' });
const FAILED = ['#7 12.3 missing header.h', '------', 'error: failed to solve: process "/bin/sh -c make"'].join('\n');

const seen = (pod?: Partial<SeenPod>, job: Partial<SeenJob> = {}, events: readonly SeenEvent[] = []): SeenBuild => ({
  job: { ...JOB, ...job },
  isOwn: true,
  pods: pod === undefined ? [] : [{ ...POD, ...pod }],
  events,
});
const ended = (exitCode: number, message: string, reason = 'Error'): Partial<SeenPod> => ({
  phase: exitCode === 0 ? 'Succeeded' : 'Failed',
  ended: { exitCode, reason, message },
});

describe('what is seen of a build in a cluster', () => {
  const CASES: Readonly<Record<string, readonly [SeenBuild, kind: string, what?: RegExp]>> = {
    'no Job': [{ ...seen(), job: 'not-found' }, 'missing'],
    'a pod that has outlived its Job': [{ ...seen({}), job: 'not-found' }, 'deleting'],
    'a Job of somebody else': [{ ...seen({}), isOwn: false }, 'foreign'],
    'a Job that is being deleted': [seen(ended(0, METADATA), { isDeleting: true }), 'deleting'],
    'no pod yet': [seen(), 'waiting', /0 of 1 pods run; 1 are not made yet/],
    'a pod that no node takes': [
      seen({ phase: 'Pending', unscheduled: { reason: 'Unschedulable', message: '0/3 nodes are available' } }),
      'waiting',
      /Unschedulable: 0\/3 nodes/,
    ],
    'a pod that a quota of the namespace holds back': [
      seen(undefined, {}, [{ of: 'job', uid: 'job-1', reason: 'FailedCreate', message: 'exceeded quota: small' }]),
      'waiting',
      /exceeded quota: small/,
    ],
    'a pod that the namespace refuses': [
      seen(undefined, {}, [
        { of: 'job', uid: 'job-1', reason: 'FailedCreate', message: 'violates PodSecurity "restricted"' },
      ]),
      'refused',
      /"scope":"request".*violates PodSecurity/,
    ],
    'an image of BuildKit that is not there': [
      seen({ phase: 'Pending', waiting: { reason: 'ErrImagePull', message: 'manifest unknown' } }),
      'refused',
      /manifest unknown/,
    ],
    'a pod that runs': [seen({}), 'running', /build-0-x/],
    'a pod of an earlier Job of the name': [seen({ jobUid: 'job-0' }), 'waiting'],
    'a digest': [seen(ended(0, METADATA, 'Completed')), 'built', new RegExp(DIGEST)],
    'code 0 without a digest': [seen(ended(0, '', 'Completed')), 'lost', /told no digest/],
    'a digest that is none': [seen(ended(0, '{"containerimage.digest":"latest"}')), 'lost', /told no digest/],
    'a build that failed': [seen(ended(1, FAILED)), 'failed', /ended with code 1.*missing header\.h.*failed to solve/],
    'a daemon that did not come up': [seen(ended(1, 'could not connect after 60 trials')), 'lost', /could not connect/],
    'an end without a word': [seen(ended(1, '')), 'lost', /BuildKit ended with code 1/],
    'a shell that is not there': [seen(ended(128, 'exec: "/bin/sh": not found', 'StartError')), 'lost', /not found/],
    'a kill for memory': [seen(ended(137, '#7 12.3 linking', 'OOMKilled')), 'failed', /kubernetes\.builds\.memory/],
    'an eviction': [
      seen({ ...ended(137, FAILED), disruption: { reason: 'EvictionByEvictionAPI', message: 'drained' } }),
      'lost',
      /EvictionByEvictionAPI: drained/,
    ],
    'a pod that is being deleted': [seen({ isDeleting: true }), 'lost', /is being deleted/],
    'a pod that has gone': [
      seen(undefined, { failure: { reason: 'BackoffLimitExceeded', message: 'reached' } }),
      'lost',
      /its pod is gone: BackoffLimitExceeded/,
    ],
    'a pod that has gone after it ended well': [seen(undefined, { isComplete: true, succeeded: 1 }), 'lost'],
    'a build that takes too long': [
      seen(undefined, { failure: { reason: 'DeadlineExceeded', message: 'Job was active longer' } }),
      'failed',
      /it took too long: Job was active longer/,
    ],
  };
  for (const [name, [look, kind, what = /./]] of Object.entries(CASES))
    it(`${name}: ${kind}`, () => {
      const condition = buildCondition(look);
      assert.equal(condition.kind, kind, JSON.stringify(condition));
      assert.match(JSON.stringify(condition), what);
    });

  it('brings the last 15 lines of a build that failed', () => {
    const all = Array.from({ length: 40 }, (_, at) => `#7 ${at}`).join('\r\n\n');
    const condition = buildCondition(seen(ended(1, all)));
    assert.ok(condition.kind === 'failed');
    assert.deepEqual([condition.lines.length, condition.lines.at(-1)], [15, '#7 39']);
  });
});
