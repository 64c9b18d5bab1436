import type { Count } from '../../../chaos/oracle/verdict.js';
import type { RecordSet } from '../record-set.js';
import { type Forge, saying } from './scenes.js';

/** As `PLANTED` and `RIGHT`, of a Kubernetes cluster's journal. */

const SLICE = 'jc-a-g1';
const object = (records: RecordSet, plural: string, name: string, at: number, to: string, more: object = {}): void =>
  records.event('kubernetes-state', `namespaces/default/${plural}/${name}`, at, { to, ...more });
const pod = (records: RecordSet, at: number, to: string, slice = SLICE, cpus = 4): void =>
  object(records, 'pods', `${slice}-0-x`, at, to, { job: slice, cpus });

/** @param agent of the call; absent: jobctl's */
function asked(records: RecordSet, at: number, path: string, agent?: string): void {
  const details = { method: 'DELETE', ...(agent !== undefined && { agent }) };
  records.event('kubernetes-call', `/apis/batch/v1/namespaces/default/${path}`, at, details);
}

/** Its Job and its pod are made, and its command begins. */
function runs(records: RecordSet, code?: number): void {
  records.job('a');
  object(records, 'jobs', SLICE, 0, 'Active');
  pod(records, 0, 'Running');
  records.command('a', 1, code === undefined ? {} : { code });
}

function gone(records: RecordSet, at: number): void {
  pod(records, at, 'Terminating');
  pod(records, at, 'gone');
  object(records, 'jobs', SLICE, at, 'gone');
}

function runsAgain(records: RecordSet): void {
  records.command('a', 10, { attempt: 2, code: 0, node: 'jc-a-g2' });
  records.ended('a', 'succeeded');
}

/** Pods of two jobs, the second made beside the first, until both are gone. */
function twoPods(records: RecordSet, ...pods: readonly (readonly [to: string, cpus: number])[]): void {
  const slices = pods.map(([to, cpus], index) => {
    const slice = `jc-${'ab'[index]}-g1`;
    pod(records, index, to, slice, cpus);
    return slice;
  });
  for (const slice of slices) pod(records, 9, 'gone', slice);
}

function foreignMap(records: RecordSet): void {
  records.deed(0, 'foreign', { resource: `configmaps/${SLICE}` });
  object(records, 'configmaps', SLICE, 0, 'Active');
}

export const PLANTED_OF_PODS: Readonly<Record<string, readonly [count: Count, forge: Forge]>> = {
  'a ConfigMap that nobody deleted': ['leaked resources', (r) => object(r, 'configmaps', 'jc-a-g7', 0, 'Active')],
  'a pod that is Failed and stays': ['leaked resources', (r) => pod(r, 0, 'Failed')],
  'pods that are more than the pool has': ['chips overcommitted', (r) => twoPods(r, ['Running', 12], ['Pending', 5])],
  'pods that are counted until their processes have ended': [
    'chips overcommitted',
    (r) => twoPods(r, ['Terminating', 12], ['Pending', 5]),
  ],
  'a foreign ConfigMap that jobctl asked to delete': [
    'foreign resources touched',
    (r) => {
      foreignMap(r);
      asked(r, 3, `configmaps/${SLICE}`);
    },
  ],
  'a foreign ConfigMap that is gone': [
    'foreign resources touched',
    (r) => {
      foreignMap(r);
      object(r, 'configmaps', SLICE, 3, 'gone');
    },
  ],
  'a healthy gang of pods that was given up': [
    'false recoveries',
    (r) => {
      runs(r);
      asked(r, 4, `jobs/${SLICE}`);
      gone(r, 5);
      runsAgain(r);
    },
  ],
  'work of a pod that had ended, and ran again': [
    'ended work run again',
    (r) => {
      r.readWithinMs = 2_000;
      runs(r, 0);
      asked(r, 8, `jobs/${SLICE}`);
      gone(r, 9);
      runsAgain(r);
    },
  ],
  'a preemption of pods that was none': [
    'untrue reasons',
    (r) => {
      saying(r, 'evicting: slice 0 was preempted by the provider: pod jc-a-g1-0-x: DisruptionTarget; trying again');
      asked(r, 1, `jobs/${SLICE}`);
      pod(r, 2, 'Terminating');
      pod(r, 2, 'gone');
    },
  ],
};

export const RIGHT_OF_PODS: Readonly<Record<string, Forge>> = {
  'a pod that Kubernetes evicted': (r) => {
    runs(r);
    pod(r, 3, 'Terminating');
    asked(r, 4, `jobs/${SLICE}`);
    gone(r, 5);
    runsAgain(r);
  },
  'a Job that somebody else deleted': (r) => {
    runs(r);
    asked(r, 3, `jobs/${SLICE}`, 'somebody');
    gone(r, 3);
    runsAgain(r);
  },
  'work of a pod that was done a moment before the pod was lost': (r) => {
    r.readWithinMs = 2_000;
    runs(r, 0);
    pod(r, 5, 'Failed');
    gone(r, 6);
    runsAgain(r);
  },
  'a foreign ConfigMap that is left alone': (r) => foreignMap(r),
  'pods that have ended, and hold nothing': (r) => twoPods(r, ['Failed', 12], ['Running', 16]),
  'a credential that the API server refused': (r) => {
    saying(r, 'provisioning: Kubernetes refused slice 0 in c: Unauthorized: it is so; c is asked again in 1 s');
    r.event('kubernetes-call', '/api/v1/namespaces/default/pods', 4, { method: 'GET', code: '401' });
  },
};
