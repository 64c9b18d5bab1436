import assert from 'node:assert/strict';
import { quotaFileText } from '../../quota/quota-file-text.js';
import { until } from '../../until.js';
import { type Kuberay, startKuberay } from './kuberay.js';
import { POD_JOBS_START_MS, PodJobs, STEP_MS } from './pod-jobs.js';

const MOST_WORKERS = 4;
/** Of two projects, so that the job that scales borrows. */
const QUOTA = quotaFileText(
  { h100: MOST_WORKERS },
  { a: { members: ['alice'], share: 0.5 }, b: { members: ['bob'], share: 0.5 } },
);
/** More than the lease, so that nothing but KubeRay and jobctl keeps to it. */
const GPUS_OF_NODE = '8';
const SHORT_TIMES = '[quota]\nmin_runtime = "1s"\n';

/** Asks Ray for four workers, gives them back, asks for three, and waits to be told. */
const PROGRAM = `
import os, signal, sys, time
import ray
ray.init()
# Ray has put its own in place of an earlier one.
signal.signal(signal.SIGTERM, lambda *_: (print('told:', open(os.environ['JOBCTL_NOTICE_FILE']).read()), sys.exit(0)))
@ray.remote(num_cpus=0, num_gpus=1, max_retries=0)
def hold():
    time.sleep(3600)
def workers():
    return len([node for node in ray.nodes() if node['Alive'] and node['Resources'].get('GPU')])
def use(count):
    held = [hold.remote() for _ in range(count)]
    while workers() != count:
        time.sleep(0.5)
    print(count, 'workers')
    return held
print('began')
held = use(4)
for each in held:
    ray.cancel(each, force=True)
while workers() > 1:
    time.sleep(0.5)
print('1 worker')
held = use(3)
while True:
    time.sleep(0.2)
`;
const COMMAND = `if [ "$JOBCTL_ATTEMPT" -gt 1 ]; then python3 -c 'import ray; ray.init(); print("again")'; exit $?; fi
exec python3 -u - <<'PROGRAM'
${PROGRAM}
PROGRAM`;

interface Sample {
  /** Ray's, on a node. */
  readonly workers: number;
  /** GPUs that pods on a node have. */
  readonly units: number;
  readonly pods: string;
}

describe('a job on a RayCluster of the real operator', function () {
  this.timeout(6 * STEP_MS);
  let jobs: PodJobs;
  let kuberay: Kuberay;
  const samples: Sample[] = [];
  let sampling: Promise<void> | undefined;
  const ended = new AbortController();
  before(async function () {
    this.timeout(POD_JOBS_START_MS);
    jobs = await PodJobs.start('ray-jobs');
    kuberay = await startKuberay(jobs.real.cluster, jobs.real.kubeconfig, jobs.real.namespace);
    giveGpus(GPUS_OF_NODE);
    const quotaFile = { name: 'quota.toml', text: QUOTA };
    const poolFile = { name: 'pool.toml', text: SHORT_TIMES };
    await jobs.stack.jobs.quota('kube').apply({ quotaFile, poolFile }, 'ann');
    sampling = sample();
  });
  after(async () => {
    ended.abort();
    giveGpus(null);
    await sampling;
    await jobs?.stop();
    await kuberay?.stop();
  });

  /** An extended resource: the node has no GPU. */
  function giveGpus(count: string | null): void {
    const gpus = { 'nvidia.com/gpu': count };
    const patch = JSON.stringify({ status: { capacity: gpus, allocatable: gpus } });
    jobs.real.kubectl('patch', 'node', 'node1', '--subresource', 'status', '--type', 'merge', '-p', patch);
  }

  /** All pods that a node has, also those that are ending. Each has one GPU, but for heads. */
  async function sample(): Promise<void> {
    const { cluster, namespace } = jobs.real;
    while (!ended.signal.aborted) {
      const items = await cluster.core.listNamespacedPod({ namespace }).then(
        (list) => list.items,
        () => [],
      );
      const there = items.filter(
        ({ spec, status }) => spec?.nodeName && status?.phase !== 'Failed' && status?.phase !== 'Succeeded',
      );
      const roles = there.map(({ metadata }) => metadata?.labels?.['ray.io/node-type'] ?? 'pod');
      samples.push({
        workers: roles.filter((role) => role === 'worker').length,
        units: roles.filter((role) => role !== 'head').length,
        pods: there
          .map(({ metadata }) => `${metadata?.name}${metadata?.deletionTimestamp ? ' (ending)' : ''}`)
          .join(', '),
      });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }
  const workersNow = (): number => samples.at(-1)?.workers ?? 0;

  it('scales 1 to 4 to 1, is reclaimed at 3 while the operator is dead, and never holds more than its lease', async () => {
    const { namespace } = jobs.real;
    const section = {
      ...{ namespace, image: kuberay.image, ray_version: kuberay.version, dashboard: false },
      head: { memory: '3Gi' },
      workers: { min: 1, max: MOST_WORKERS, gpus: 1, gpu_type: 'h100', memory: '1500Mi', idle_timeout: '5s' },
    };
    const job = { name: 'scales', pool: 'kube', grace: 20, ray_cluster: section, command: { run: COMMAND } };
    const { id } = await jobs.stack.jobs.submit({ job, user: 'alice' });
    const prints = (text: string, attempt = 1): Promise<boolean> =>
      jobs.told(`${id} prints ${text}`, id, async () => (await jobs.log(id, attempt)).includes(text));
    await prints('began');
    assert.equal(workersNow(), 1);

    await until('it scales', () => workersNow() > 1, STEP_MS);
    await kuberay.kill();
    kuberay.start();
    await prints('4 workers');
    await prints('1 worker\n');
    await prints('3 workers');

    await kuberay.kill();
    const other = {
      name: 'owner',
      pool: 'kube',
      kubernetes: { namespace, image: kuberay.image, workers: 2, gpus: 1, gpu_type: 'h100' },
    };
    const owner = await jobs.stack.jobs.submit({
      job: { ...other, command: { run: 'echo mine; sleep 3' } },
      user: 'bob',
    });
    assert.equal((await jobs.stack.jobs.wait(owner.id)).result, 'succeeded');
    assert.match(await jobs.log(id), /told: \{"v":1,"cause":"(preemption|quota|reclaim)/);

    kuberay.start();
    await prints('again', 2);
    const outcome = await jobs.stack.jobs.wait(id);
    assert.deepEqual([outcome.result, outcome.attempts], ['succeeded', 2], JSON.stringify(outcome));

    const most = samples.toSorted((a, b) => b.units - a.units)[0];
    assert.equal(Math.max(...samples.map(({ workers }) => workers)), MOST_WORKERS, most?.pods);
    assert.ok((most?.units ?? 0) <= MOST_WORKERS, `${most?.units} GPUs of ${MOST_WORKERS}: ${most?.pods}`);
    await jobs.untilNothingIsLeft();
    assert.equal(jobs.real.kubectl('get', 'rayclusters,roles,rolebindings', '-o', 'name').trim(), '');
  });
});
