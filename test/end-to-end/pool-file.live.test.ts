import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { JobInvalid } from '../../client/errors.js';
import type { janitor } from '../../workflows/janitor.js';
import { programArguments } from '../built.js';
import { quotaFileText } from '../quota/quota-file-text.js';
import { TEMPORAL_START_MS } from '../temporal-server.js';
import { cloudIsEmpty } from './nothing-left.js';
import { until } from '../until.js';
import { RehearsalAdmin } from './rehearsal-admin.js';
import { TestStack } from './test-stack.js';
import { tpuJob, tpuRef } from '../tpu-job.js';

const POOL = 'pool-file';
const POOL_FILE = `
google_project = "pool-project"
zones = ["us-east5-a", "us-east5-b"]
[tpu]
network = "projects/host-project/global/networks/team"
subnetwork = "team-east5"
external_ips = false
service_account = "trainer@pool-project.iam.gserviceaccount.com"
scopes = ["cloud-platform"]
pricing = "ondemand"
allocation_mode = "queued-resources"
tags = ["ssh"]
data_disks = [{ source = "corpus", mode = "read-only" }]
[tpu.labels]
team = "vision"
[tpu.metadata]
cost-center = 7
[[tiers]]
pricing = "ondemand"
[largest_slice.us-east5-a]
v5litepod = 16
[largest_slice.us-east5-b]
v5litepod = 8
`;
const QUOTA_FILE = quotaFileText({ v5litepod: 64 }, { vision: { members: ['.*'], share: 1 } });

describe('the pool file', function () {
  this.timeout(90_000);
  let stack: TestStack;
  let admin: RehearsalAdmin;

  before(async function () {
    this.timeout(TEMPORAL_START_MS);
    stack = await TestStack.start({
      pool: POOL,
      quota: QUOTA_FILE,
      poolFile: 'zones = ["us-east5"]\n',
      isNotReady: true,
    });
    admin = new RehearsalAdmin(stack.rehearsal.endpoints.admin);
  });
  after(() => stack.stop());

  const job = (command: string, tpu: object = {}): object => ({
    name: 'pooled',
    pool: POOL,
    tpu: { accelerator: 'v5litepod-1', ...tpu },
    command: { run: command },
  });
  const submit = async (file: object): Promise<string> => (await stack.jobs.submit({ job: file })).id;

  /** The node as the API itself shows it. */
  async function node(googleProject: string, zone: string, name: string): Promise<Record<string, unknown>> {
    const path = `v2/projects/${googleProject}/locations/${zone}/nodes/${name}`;
    return (await (await fetch(`${stack.rehearsal.endpoints.rest}/${path}`)).json()) as Record<string, unknown>;
  }
  const running = (id: string) =>
    until('it runs', async () => {
      const view = await stack.jobs.describe(id);
      return view.phase === 'running' ? view : undefined;
    });
  const nothingLeft = (): Promise<void> => cloudIsEmpty(admin);

  it('a worker that starts with a bad one is not ready, and says where it is wrong', async () => {
    stack.spawnWorker();
    const reasons = await until('it says what is wrong', async () => {
      const answer = await stack.readiness().catch(() => undefined);
      return answer && answer.reasons[0] !== 'starting' ? answer.reasons : undefined;
    });
    assert.match(
      reasons.join('\n'),
      /^pool pool-file: .*pool\.toml:1:10: zones\[0\]: 'us-east5' is no zone\n {2}us-east5 is a region/,
    );
    stack.writePoolFile(POOL_FILE);
    await until('it is ready', async () => (await stack.readiness()).ready, 30_000);
  });

  it('a job without zone and project lands in the first zone of its pool, with all defaults in the node', async () => {
    const id = await submit(job('sleep 60'));
    const { spec, slices, granted } = await running(id);
    assert.deepEqual(granted, { tier: 0, pricing: 'ondemand' });
    assert.deepEqual(
      [tpuJob(spec).tpu.zones, tpuJob(spec).tpu.project, tpuJob(spec).tpu.pricing],
      [['us-east5-a', 'us-east5-b'], 'pool-project', 'ondemand'],
    );
    const seen = await node('pool-project', 'us-east5-a', slices[0]?.ref.name ?? '');
    assert.equal(seen['state'], 'READY', JSON.stringify(seen));
    assert.deepEqual(
      [seen['networkConfig'], seen['serviceAccount'], seen['dataDisks'], seen['tags']],
      [
        // Proto3 JSON leaves out what is false.
        { network: 'projects/host-project/global/networks/team', subnetwork: 'team-east5' },
        {
          email: 'trainer@pool-project.iam.gserviceaccount.com',
          scope: ['https://www.googleapis.com/auth/cloud-platform'],
        },
        [{ sourceDisk: 'projects/pool-project/zones/us-east5-a/disks/corpus', mode: 'READ_ONLY' }],
        ['ssh'],
      ],
    );
    assert.equal((seen['labels'] as Record<string, string>)['team'], 'vision');
    assert.equal((seen['metadata'] as Record<string, string>)['cost-center'], '7');
    await stack.jobs.cancel(id);
    await nothingLeft();
    assert.deepEqual((await stack.jobs.describe(id)).granted, { tier: 0, pricing: 'ondemand' }, 'after its end');
  });

  it('what went wrong with the file later changes nothing; a combination that cannot be is refused with its file', async () => {
    stack.writePoolFile('zones = [\n');
    const id = await submit(job('true'));
    assert.equal((await stack.jobs.wait(id)).result, 'succeeded', stack.tail());
    assert.equal(tpuJob((await stack.jobs.describe(id)).spec).tpu.zones[0], 'us-east5-a');
    stack.writePoolFile(`${POOL_FILE.replace('"read-only"', '"read-write"')}`);
    const refused = await submit(job('true', { accelerator: 'v5litepod-16' }));
    await assert.rejects(stack.jobs.wait(refused), (error) => {
      assert.ok(error instanceof JobInvalid);
      assert.match(error.message, /pool\.toml: tpu\.data_disks\[0\]\.mode: only one host can write to a disk/);
      return true;
    });
    stack.writePoolFile(POOL_FILE);
    await nothingLeft();
  });

  it('a job that could never start is refused, with the zones of its pool and the pricing that it names', async () => {
    const refusals: [object, RegExp][] = [
      [
        { accelerator: 'v5litepod-32' },
        /v5litepod-32 can never start: a slice of 32 v5litepod asked, the largest of us-east5-a, us-east5-b is 16/,
      ],
      [{ pricing: 'spot' }, /v5litepod-1 can never start: no tier of the pool is bought as spot/],
      [{ accelerator: 'v6e-1' }, /v6e-1 can never start: the pool has no v6e \(it has v5litepod\)/],
    ];
    for (const [tpu, why] of refusals) {
      const id = await submit(job('true', tpu));
      await assert.rejects(stack.jobs.wait(id), (error) => error instanceof JobInvalid && why.test(error.message));
    }
  });

  it('a job is submitted when its workflow starts, whatever its starter says', async () => {
    const { workflow } = stack.client;
    const early = { submittedAt: 1 };
    const lies = [
      ['early', early, /submittedAt: no such key/],
      ['carried', { carry: early }, /input\.carry: is set by the workflow/],
    ] as const;
    for (const [workflowId, more, why] of lies) {
      const input = { v: 1, job: job('true'), ...more };
      const started = workflow.execute('job', { workflowId, taskQueue: stack.taskQueue, args: [input] });
      await assert.rejects(started, ({ cause }: Error) => why.test((cause as Error).message));
    }
    const id = await submit(job('true'));
    await stack.jobs.wait(id);
    const { startTime } = await workflow.getHandle(id).describe();
    assert.equal((await stack.jobs.describe(id)).submittedAt, startTime.getTime());
    await nothingLeft();
  });

  it('what a job leaves in another Google project is seen by the audit and reclaimed by the janitor', async () => {
    const id = await submit(job('sleep 60', { project: 'far-project' }));
    const [slice] = (await running(id)).slices;
    assert.equal(tpuRef(slice?.ref).googleProject, 'far-project');
    await admin.post('hold', { state: 'DELETING' });
    for (const workflow of [`quota/${POOL}`, id, `slice/${slice?.ref.name}`])
      await stack.client.workflow.getHandle(workflow).terminate('test');
    const leak = new RegExp(`node +${slice?.ref.name} +far-project +us-east5-a`);
    const { code, stdout } = await auditLeaks();
    assert.equal(code, 1, stdout);
    assert.match(stdout, leak);
    const no = { code: 'PERMISSION_DENIED', message: 'no' };
    const parts: Record<string, [() => Promise<unknown>, RegExp]> = {
      'a zone': [
        () => admin.post('configure', { unreachableZones: ['us-central2-b'] }),
        /not looked at: Cloud TPU of project far-project: nodes in us-central2-b: .*did not reach it; ask again/,
      ],
      'a project': [
        () => admin.post('refuse', { method: 'List*', ...no, nameMatches: 'rehearsal' }),
        /not looked at: Cloud TPU of project rehearsal: nodes: .*no; may this login list it\? .jobctl doctor --gcp/,
      ],
      'one of two listings of the very project': [
        () => admin.post('refuse', { method: 'ListQueuedResources', ...no }),
        /not looked at: Cloud TPU of project far-project: queuedResources: .*no; may this login/,
      ],
      'a pool that does not answer': [
        () =>
          stack.client.workflow.start('quota', {
            workflowId: 'quota/mute',
            taskQueue: 'nobody',
            args: [{ v: 1, pool: 'mute' }],
          }),
        /not looked at: the leases of quota\/mute: .*; is a worker up\?/,
      ],
    };
    for (const [part, [takeAway, named]] of Object.entries(parts)) {
      await takeAway();
      const incomplete = await auditLeaks();
      assert.equal(incomplete.code, 5, `${part}: ${incomplete.stdout}`);
      assert.match(incomplete.stdout, leak, part);
      assert.match(incomplete.stdout, named, part);
      await admin.stopRefusing();
      await admin.post('configure', { unreachableZones: [] });
    }
    await stack.client.workflow.getHandle('quota/mute').terminate('test');
    // A zone that Google does not reach keeps nobody from what is found in the others.
    await admin.post('configure', { unreachableZones: ['us-central2-b'] });
    const report = await sweep();
    assert.deepEqual(report.reclaimed, [slice?.ref.name]);
    assert.ok(report.unlisted.includes('us-central2-b of far-project'), JSON.stringify(report.unlisted));
    await admin.post('configure', { unreachableZones: [] });
    await admin.post('release', {});
    await nothingLeft();
  });

  it('a Google project that refuses to be listed stops neither the janitor nor the others, and is named', async () => {
    for (const code of ['PERMISSION_DENIED', 'UNAVAILABLE']) {
      await admin.post('refuse', { method: 'ListNodes', code, message: 'no', nameMatches: 'far-project' });
      const { unlisted, resources } = await sweep();
      assert.deepEqual([unlisted, resources], [['far-project'], 0], code);
      await admin.stopRefusing();
    }
    assert.deepEqual((await sweep()).unlisted, []);
  });

  it('a janitor that does not see its own project fails, as an alert tells, and has swept the others before', async () => {
    const id = await submit(job('sleep 60', { project: 'far-project' }));
    const [slice] = (await running(id)).slices;
    for (const workflow of [id, `slice/${slice?.ref.name}`])
      await stack.client.workflow.getHandle(workflow).terminate('test');
    await admin.post('refuse', { method: 'List*', code: 'PERMISSION_DENIED', message: 'no', nameMatches: 'rehearsal' });
    await assert.rejects(sweep());
    await nothingLeft();
    await admin.stopRefusing();
    assert.deepEqual((await sweep()).unlisted, []);
  });

  it('the janitor wakes no pool of another installation in the namespace', async () => {
    const { client, taskQueue } = stack;
    const started: { readonly terminate: (why: string) => Promise<unknown> }[] = [];
    for (const [pool, queue] of [
      ['of-nobody-here', `${taskQueue}-of-others`],
      ['of-ours', taskQueue],
    ] as const)
      started.push(
        await client.workflow.start('job', {
          workflowId: `waits-in-${pool}-${Date.now()}`,
          taskQueue: queue,
          args: [{ v: 1, job: job('true') }],
          // No worker takes its first task before it is over.
          startDelay: '1 hour',
          searchAttributes: { JobPool: [pool] },
        }),
      );
    const woken = await until('ours is seen', async () => {
      const { wokenPools } = await sweep();
      return wokenPools.includes('of-ours') && wokenPools;
    });
    assert.ok(!woken.includes('of-nobody-here'), woken.join(', '));
    for (const each of started) await each.terminate('test');
    await client.workflow.getHandle('quota/of-ours').terminate('test');
  });

  const sweep = () =>
    stack.client.workflow.execute<typeof janitor>('janitor', {
      workflowId: `sweep-${Date.now()}`,
      taskQueue: stack.taskQueue,
      args: [{ v: 1 }],
    });

  async function auditLeaks(): Promise<{ readonly code: number; readonly stdout: string }> {
    const { address, namespace } = stack.server;
    const { rest, store } = stack.rehearsal.endpoints;
    const flags = {
      '--temporal-address': address,
      '--namespace': namespace,
      '--bucket': stack.store.bucket,
      '--store-endpoint': store,
      '--tpu-rest-endpoint': rest,
      '--grace': '0s',
    };
    const args = [...programArguments('cli/main'), 'audit', 'leaks', ...Object.entries(flags).flat()];
    const env = { ...process.env, JOBCTL_GOOGLE_PROJECT: 'rehearsal' };
    return promisify(execFile)(process.execPath, args, { env }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) => ({
        code,
        stdout: stdout + stderr,
      }),
    );
  }
});
