import assert from 'node:assert/strict';
import { createSecretKey, randomBytes } from 'node:crypto';
import { connectingKey, JobKeyUnknown, acceptedPublicKey } from '../../activities/connecting-key.js';
import type { Installation } from '../../activities/dependencies.js';
import { keyReader } from '../../cloud/hosts/private-key.js';
import { jobKeysOf } from '../../cloud/job-keys/open-job-keys.js';
import type { JobKeys } from '../../cloud/job-keys/port.js';
import { createStore, ensureBucket } from '../../cloud/store/gcs.js';
import type { StorePort } from '../../cloud/store/port.js';
import type { ReadySlice } from '../../contract/job-activities.js';
import type { JobSettings } from '../../contract/job.js';
import type { Landlord } from '../../contract/lodging.js';
import type { JobSpec } from '../../domain/job-spec.js';
import type { MachineRequest } from '../../domain/machine-kinds/registry.js';
import { jobKeyObject, runObject } from '../../domain/store-layout.js';
import { type RehearsedCloud, startRehearsedCloud } from '../cloud/rehearsed-cloud.js';
import { makeKeyPair } from '../hosts/ssh-host.js';

const [OLD, NEW] = ['old', 'new'].map((id) => ({ id, secret: createSecretKey(randomBytes(32)) })) as [
  { id: string; secret: ReturnType<typeof createSecretKey> },
  { id: string; secret: ReturnType<typeof createSecretKey> },
];
const NONE = jobKeysOf({ former: [] });
const BEFORE = jobKeysOf({ current: OLD, former: [] });
const DURING = jobKeysOf({ current: NEW, former: [OLD] });
const AFTER = jobKeysOf({ current: NEW, former: [] });
const pair = makeKeyPair();
const installationWith = (jobKeys: JobKeys): Installation =>
  ({
    sshKey: { privateKey: pair.private },
    publicKey: pair.public,
    keys: keyReader,
    jobKeys,
  }) as unknown as Installation;

/** Only the section's name counts here. */
const requestOf = (section: string): MachineRequest => ({ [section]: {} }) as unknown as MachineRequest;
const TPU = requestOf('tpu');
const WITH_A_KEY = ['tpu', 'compute_engine'];
const WITHOUT = ['machines', 'kubernetes', 'ray_cluster'];

describe('the key that a job is accepted with', function () {
  this.timeout(30_000);
  let cloud: RehearsedCloud;
  let store: StorePort;
  before(async () => {
    cloud = await startRehearsedCloud();
    await ensureBucket({ endpoint: cloud.storeEndpoint, bucket: 'jobs', projectId: 'p' });
    store = createStore({ endpoint: cloud.storeEndpoint, bucket: 'jobs' });
  });
  after(() => cloud.stop());

  let jobs = 0;
  const newJob = () => ({ id: `job-${++jobs}`, run: `run-${jobs}` });
  const accept = (jobKeys: JobKeys, job: ReturnType<typeof newJob>, spec = TPU): Promise<string> =>
    acceptedPublicKey({ store, installation: installationWith(jobKeys) }, job, spec);

  it('is its own where a create request takes one, and the installation’s on other machines', async () => {
    for (const section of WITH_A_KEY) {
      const job = newJob();
      assert.equal(await accept(AFTER, job, requestOf(section)), AFTER.newest(job)?.publicKey, section);
    }
    for (const section of WITHOUT) {
      const job = newJob();
      assert.equal(await accept(AFTER, job, requestOf(section)), pair.public, section);
      assert.equal(await store.read(jobKeyObject(job.id, job.run)), undefined, section);
    }
  });

  it('stays the first one, however often it is accepted, whatever the newest secret is', async () => {
    const job = newJob();
    const first = await accept(BEFORE, job);
    await store.write(runObject(job.id), job.run, 'absent', 'text/plain');
    assert.deepEqual([await accept(DURING, job), await accept(BEFORE, job)], [first, first]);
    assert.equal(first, BEFORE.newest(job)?.publicKey);
    const words = new RegExp(
      `job-key secret old \\(gs://jobs/jobs/${job.id}/job-keys/${job.run}\\.json\\), and this worker has new\\n`,
    );
    await assert.rejects(accept(AFTER, job), words);
    await assert.rejects(accept(NONE, job), /and this worker has none\n.*ssh\.formerJobKeySecrets/);
  });

  it('is one for two workers with different secrets that accept it at once', async () => {
    const job = newJob();
    const other = jobKeysOf({ current: OLD, former: [NEW] });
    const keys = await Promise.all([DURING, other, DURING, other].map((jobKeys) => accept(jobKeys, job)));
    assert.equal(new Set(keys).size, 1);
    assert.notEqual(DURING.find(job, keys[0] ?? ''), undefined);
  });

  it('of a job that was accepted before there were such keys stays the installation’s', async () => {
    const job = newJob();
    assert.equal(await accept(NONE, job), pair.public);
    await store.write(runObject(job.id), job.run, 'absent', 'text/plain');
    assert.equal(await accept(AFTER, job), pair.public);
  });

  it('is not taken from a record that somebody else wrote', async () => {
    const forged = JSON.stringify({ v: 1, publicKey: makeKeyPair().public, secret: 'new' });
    for (const text of [forged, 'nonsense', '{"v":1}']) {
      const job = newJob();
      await store.write(jobKeyObject(job.id, job.run), text, 'absent', 'application/json');
      await assert.rejects(accept(AFTER, job), text === forged ? /this worker has new/ : /is no record of a job's key/);
    }
  });

  it('of a job whose id another one has leaves nothing behind', async () => {
    const job = newJob();
    await store.write(runObject(job.id), 'another run', 'absent', 'text/plain');
    await accept(AFTER, job);
    assert.equal(await store.read(jobKeyObject(job.id, job.run)), undefined);
  });
});

describe('the key that connects to the hosts of a job', () => {
  const job = { id: 'a', run: 'r' };
  const connect = (jobKeys: JobKeys, publicKey: string, section = 'tpu', landlord?: Landlord) =>
    connectingKey(installationWith(jobKeys), {
      job,
      spec: { [section]: {} } as unknown as JobSpec,
      settings: { publicKey, bucket: 'b' } as JobSettings,
      slices: landlord === undefined ? [] : [{ landlord } as ReadySlice],
    });
  const own = BEFORE.newest(job) ?? assert.fail('no key');

  it('is the one that its hosts were made with, by whichever secret', async () => {
    for (const jobKeys of [BEFORE, DURING])
      assert.equal((await connect(jobKeys, own.publicKey)).privateKey, own.privateKey);
    for (const jobKeys of [NONE, BEFORE, DURING])
      assert.equal((await connect(jobKeys, `${pair.public} with a comment`)).privateKey, pair.private);
  });

  it('is that of the job that lends the slices, and not its own', async () => {
    const lender = { id: 'exp-3', run: 'r3' };
    const { publicKey, privateKey } = BEFORE.newest(lender) ?? assert.fail('no key');
    const landlord = { job: lender, publicKey };
    assert.equal((await connect(BEFORE, own.publicKey, 'tpu', landlord)).privateKey, privateKey);
    assert.notEqual(privateKey, own.privateKey);
    const ofInstallation = { job: lender, publicKey: pair.public };
    assert.equal((await connect(BEFORE, own.publicKey, 'tpu', ofInstallation)).privateKey, pair.private);
    await assert.rejects(connect(AFTER, own.publicKey, 'tpu', landlord), JobKeyUnknown);
  });

  it('under OS Login is the installation’s, and the job’s own never', async () => {
    assert.deepEqual((await connect(DURING, own.publicKey)).underOsLogin, { privateKey: pair.private });
  });

  it('that no secret here makes is named, and no other one is tried', async () => {
    for (const jobKeys of [AFTER, NONE])
      await assert.rejects(connect(jobKeys, own.publicKey), (error: Error) => {
        assert.ok(error instanceof JobKeyUnknown);
        assert.ok(error.message.includes(keyReader.publicFingerprint(own.publicKey) ?? ''));
        assert.match(error.message, /gs:\/\/b\/jobs\/a\/job-keys\/r\.json/);
        assert.doesNotMatch(error.message, /PRIVATE/);
        return true;
      });
  });

  it('of machines that no create request makes is the installation’s, whatever the job was accepted with', async () => {
    for (const section of WITHOUT)
      assert.equal((await connect(AFTER, own.publicKey, section)).privateKey, pair.private, section);
  });
});
