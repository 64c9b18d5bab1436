import assert from 'node:assert/strict';
import { MockActivityEnvironment } from '@temporalio/testing';
import { keyReader } from '../../../cloud/hosts/private-key.js';
import type { ActivityDependencies } from '../../../activities/dependencies.js';
import { Routes } from '../../../activities/attempt/routes.js';
import { superviseAttempt } from '../../../activities/attempt/supervise.js';
import { memoryHostKeyPins } from '../../../cloud/hosts/host-key-record.js';
import type { HostsPort } from '../../../cloud/hosts/port.js';
import { createSshHosts } from '../../../cloud/hosts/ssh-fleet.js';
import type { Machines } from '../../../cloud/machines/port.js';
import { createStore, ensureBucket } from '../../../cloud/store/gcs.js';
import type { StorePort } from '../../../cloud/store/port.js';
import type { AttemptEnd, AttemptInput, ReadySlice } from '../../../contract/job-activities.js';
import { resolveJob } from '../../../domain/job-file/resolve.js';
import type { JobSpec } from '../../../domain/job-spec.js';
import { DEFAULT_TIMINGS } from '../../../domain/timings.js';
import { jobKeysOf } from '../../../cloud/job-keys/open-job-keys.js';
import { GOOGLE_PROJECT, ownership, slicePlan } from '../../cloud/cloud-tpu-plan.js';
import { type RehearsedCloud, startRehearsedCloud } from '../../cloud/rehearsed-cloud.js';
import { jobFile } from '../../end-to-end/job-files.js';
import { storedLog } from '../../end-to-end/stored-log.js';
import { makeKeyPair } from '../../hosts/ssh-host.js';
import { until } from '../../until.js';

const SAVES = `trap 'echo saved; exit 0' TERM; echo begun; while :; do sleep 0.1; done`;
const ONE_HOST = { tpu: { accelerator: 'v5litepod-8' } };
const timings = { ...DEFAULT_TIMINGS, notFoundApartMs: 200 };

function specOf(command: string, slices: number, grace: string): JobSpec {
  const resolved = resolveJob(jobFile(command, { ...ONE_HOST, slices, grace }));
  return resolved.ok ? resolved.spec : assert.fail(JSON.stringify(resolved.problems));
}

/** The supervision of an attempt, on a rehearsed cloud with its hosts and its store, without a workflow around it. */
describe('the end of an attempt', function () {
  this.timeout(60_000);
  const key = makeKeyPair();
  let cloud: RehearsedCloud;
  let machines: Machines;
  let store: StorePort;
  let hosts: HostsPort;
  let jobs = 0;

  before(async () => {
    cloud = await startRehearsedCloud();
    machines = cloud.tpuPort();
    const place = { endpoint: cloud.storeEndpoint, bucket: 'ends', projectId: GOOGLE_PROJECT };
    await ensureBucket(place);
    store = createStore(place);
    hosts = createSshHosts({ port: 2222, hostKeys: memoryHostKeyPins() });
  });
  after(async () => {
    hosts?.release();
    await cloud?.stop();
  });
  beforeEach(() => cloud.admin('configure', { guestNoticeMs: 20_000, preemptedLagMs: 0, sshAtShutdown: 'open' }));

  async function readySlice(job: string, index: number): Promise<ReadySlice> {
    const plan = slicePlan(`${job}-s${index}`, 'tpu-vm', {
      ownership: ownership({ job }),
      accelerator: 'v5litepod-8',
      metadata: { 'ssh-keys': `ann:${key.public}` },
    });
    await machines.create(plan);
    const ready = await until('the slice to be ready', async () => {
      const seen = await machines.observe(plan);
      return seen.kind === 'ready' ? seen : undefined;
    });
    return { index, ref: plan.ref, ownership: plan.ownership, uid: ready.uid, hosts: ready.hosts };
  }

  interface Watched {
    readonly end: Promise<AttemptEnd>;
    readonly names: readonly string[];
    readonly log: (host?: number) => Promise<string>;
  }

  async function watched(command: string, slices = 1, grace = '5s'): Promise<Watched> {
    const job = `e${(jobs += 1)}`;
    const ready = await Promise.all(Array.from({ length: slices }, (_, index) => readySlice(job, index)));
    const input = {
      job: { id: job, run: 'run-1' },
      spec: specOf(command, slices, grace),
      settings: { publicKey: key.public, loginUser: 'ann', timings, bucket: 'ends' },
      attempt: 1,
      slices: ready,
      files: {},
    } as unknown as AttemptInput;
    const jobKeys = jobKeysOf({ former: [] });
    const installation = { sshKey: { privateKey: key.private }, publicKey: key.public, keys: keyReader, jobKeys };
    const meter = { logLag: () => undefined };
    const dependencies = { machinesOf: () => machines, store, hosts, installation, meter } as unknown;
    const end = new MockActivityEnvironment().run<
      [ActivityDependencies, AttemptInput, Routes],
      AttemptEnd,
      typeof superviseAttempt
    >(superviseAttempt, dependencies as ActivityDependencies, input, new Routes());
    end.catch(() => undefined);
    const log = (host = 0): Promise<string> => storedLog(store, { id: job, stream: 'command', host });
    for (let host = 0; host < slices; host++)
      await Promise.race([end, until(`host ${host} to begin`, async () => (await log(host)).includes('begun'))]);
    return { end, names: ready.map(({ ref }) => ref.name), log };
  }
  const endOf = async ({ end }: Watched): Promise<unknown> => {
    const seen = await end;
    return seen.kind === 'slices-lost' ? seen.slices.map(({ index, cause }) => [index, cause]) : seen;
  };

  it('is a preemption where the command saved and exited 0 as its VM was taken, though the API says READY for a minute', async () => {
    await cloud.admin('configure', { preemptedLagMs: 60_000 });
    const job = await watched(SAVES);
    await cloud.admin('preempt', { name: job.names[0], mode: 'signal' });
    assert.deepEqual(await endOf(job), [[0, 'preempted']]);
    assert.match(await job.log(), /saved\n$/);
  });

  it('is a preemption of the one slice that is taken, and the other is stopped', async () => {
    const job = await watched(SAVES, 2);
    await cloud.admin('preempt', { name: job.names[1], mode: 'signal' });
    assert.deepEqual(await endOf(job), [[1, 'preempted']]);
    for (const host of [0, 1]) assert.match(await job.log(host), /saved\n$/);
  });

  // Whoever waits for these hosts waits for an hour.
  it('is the loss of both slices that are taken at once, and no host of them is waited for', async () => {
    await cloud.admin('configure', { sshAtShutdown: 'silent' });
    const job = await watched(SAVES, 2, '1h');
    await Promise.all(job.names.map((name) => cloud.admin('preempt', { name })));
    const lost = (await endOf(job)) as readonly (readonly [number, string])[];
    assert.deepEqual(
      lost.toSorted(([a], [b]) => a - b),
      [
        [0, 'preempted'],
        [1, 'preempted'],
      ],
    );
  });

  it('is the loss of both slices where the second is taken while its command uses its grace', async () => {
    await cloud.admin('configure', { sshAtShutdown: 'silent' });
    const job = await watched(`trap 'echo told' TERM; echo begun; while :; do sleep 0.1; done`, 2, '1h');
    await cloud.admin('preempt', { name: job.names[0] });
    await until('the second slice to be told to end', async () => (await job.log(1)).includes('told'));
    await cloud.admin('preempt', { name: job.names[1] });
    assert.deepEqual(await endOf(job), [
      [0, 'preempted'],
      [1, 'preempted'],
    ]);
  });

  it('is a preemption where the VM fell silent, by the API alone', async () => {
    await cloud.admin('configure', { preemptedLagMs: 2_000, sshAtShutdown: 'silent' });
    const job = await watched(SAVES);
    await cloud.admin('preempt', { name: job.names[0] });
    assert.deepEqual(await endOf(job), [[0, 'preempted']]);
    assert.equal(await job.log(), 'begun\n');
  });

  it('is code 0 where its host bears it out, though the API answers nothing', async () => {
    const job = await watched('echo begun; until [ -e "$JOBCTL_WARNING_FILE" ]; do sleep 0.1; done; date +%s%3N');
    await cloud.admin('warn', { name: job.names[0] });
    await until('the warning to arrive', async () => (await job.log()) !== 'begun\n');
    for (const method of ['GetNode', 'ListNodes', 'GetQueuedResource', 'ListQueuedResources'])
      await cloud.admin('refuse', { method, code: 'UNAVAILABLE' });
    const end = (await endOf(job)) as { readonly kind: string; readonly code?: number };
    const delayMs = Date.now() - Number((await job.log()).split('\n')[1]);
    console.log(`      from the end of the command to the end of its supervision: ${delayMs} ms`);
    assert.deepEqual([end.kind, end.code], ['exited', 0]);
    await cloud.takeBack('refuse');
  });

  it('is code 0 where the slice is taken while the last lines of a command that has ended are being stored', async () => {
    const job = await watched('echo begun; until [ -e "$JOBCTL_WARNING_FILE" ]; do sleep 0.1; done; echo done');
    await cloud.admin('refuse', { method: 'objects.insert', code: 'UNAVAILABLE' });
    await cloud.admin('warn', { name: job.names[0] });
    // The first may be a cut of what was printed; at the third the exit record has been read.
    const before = (await cloud.journal()).length;
    await until('the store to be asked in vain', async () => {
      const asked = (await cloud.journal()).slice(before);
      return asked.filter(({ details }) => details['method'] === 'objects.insert').length >= 3;
    });
    await cloud.admin('preempt', { name: job.names[0] });
    await cloud.takeBack('refuse');
    const end = (await endOf(job)) as { readonly kind: string; readonly code?: number };
    assert.deepEqual([end.kind, end.code], ['exited', 0]);
  });
});
