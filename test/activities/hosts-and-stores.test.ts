import assert from 'node:assert/strict';
import { outputsOf } from '../../activities/attempt/outputs.js';
import { hostUpload } from '../../activities/attempt/routes.js';
import type { AttemptInput } from '../../contract/job-activities.js';
import { openStore } from '../../cloud/store/open-store.js';
import { reachesStore, type SshTarget } from '../../cloud/hosts/port.js';
import { startCall } from '../../cloud/hosts/run-payload.js';

/** Which hosts write into which store by themselves; all others go through their worker. */
describe('hosts and stores', () => {
  const vm: SshTarget = { reach: 'ssh', uid: '1', slice: 0, index: 0, address: '10.0.0.1', user: 'u' };
  const own: SshTarget = { ...vm, own: { port: 22, lastingUid: 'machine-p-m' } };
  const pod = { ...{ uid: '1', slice: 0, index: 0 }, reach: 'pod', namespace: 'n', pod: 'p', podUid: '2' } as const;
  const input = {
    job: { id: 'j', run: 'r' },
    attempt: 1,
    spec: { modules: [], command: { run: 'true' } },
  } as unknown as AttemptInput;
  const rows = {
    'jobs: a VM': { bucket: 'jobs', target: vm, as: 'service-account', writes: true },
    'jobs: a machine of one’s own': { bucket: 'jobs', target: own, as: 'worker', writes: true },
    'jobs: a pod': { bucket: 'jobs', target: pod, as: 'worker', writes: true },
    's3://jobs: a VM': { bucket: 's3://jobs/p', target: vm, as: 'worker', writes: false },
    's3://jobs: a machine of one’s own': { bucket: 's3://jobs/p', target: own, as: 'worker', writes: false },
    'file:///jobs: a VM': { bucket: 'file:///jobs', target: vm, as: 'worker', writes: false },
    'file:///jobs: a pod': { bucket: 'file:///jobs', target: pod, as: 'worker', writes: false },
  } as const;
  for (const [name, { bucket, target, as, writes }] of Object.entries(rows))
    it(name, () => {
      const store = openStore({ bucket });
      const host = { target, number: 0 };
      const outputs = outputsOf(store, input, host);
      assert.equal(outputs.as, as);
      assert.equal(reachesStore(target, store.bucket), as !== 'worker');
      assert.equal(outputs.place, `${bucket === 'jobs' ? 'gs://jobs' : bucket}/jobs/j/outputs/`);
      assert.equal(hostUpload(store, host, 'jobs/j/alive/a1/host-0') !== undefined, writes);
      const request = { runId: 'j-a1', epoch: 1, script: 'true', env: {}, outputs };
      assert.doesNotMatch(JSON.stringify(startCall(request, target)), /undefined/);
    });
});
