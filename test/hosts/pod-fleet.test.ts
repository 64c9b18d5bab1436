import assert from 'node:assert/strict';
import { createPodHosts } from '../../cloud/hosts/pod-fleet.js';
import { HostUnreachable, type PodTarget } from '../../cloud/hosts/port.js';
import { never } from './session.js';

describe('pods of several clusters', () => {
  it('each is looked for in the context that its job names, and in the default cluster without one', async () => {
    const asked: (string | undefined)[] = [];
    const fleet = createPodHosts(async (context) => {
      asked.push(context);
      throw new Error('no cluster here');
    });
    const pod = (context?: string): PodTarget => ({
      ref: {
        ...{ kind: 'kubernetes', namespace: 'ml', zone: context ?? 'default-cluster', name: 'jc-x-g1' },
        ...(context !== undefined && { context }),
      },
      ...{ reach: 'pod', uid: 'u', slice: 0, index: 0, namespace: 'ml', pod: 'jc-x-g1-0', podUid: context ?? '' },
    });
    for (const target of [pod('east'), pod()])
      await assert.rejects(fleet.connect(target, { privateKey: '' }, never), HostUnreachable);
    assert.deepEqual([...new Set(asked)], ['east', undefined]);
    fleet.release();
  });
});
