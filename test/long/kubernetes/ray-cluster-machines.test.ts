import assert from 'node:assert/strict';
import { createRayClusters } from '../../../cloud/machines/ray-cluster/kuberay.js';
import { resolveJob } from '../../../domain/job-file/resolve.js';
import { KINDS } from '../../../domain/machine-kinds/registry.js';
import { rayClusterName } from '../../../domain/machine-kinds/ray-cluster/index.js';
import type { RayClusterPlan } from '../../../domain/machine-kinds/ray-cluster/words.js';
import { formatProblems } from '../../../domain/problem.js';
import { exerciseMachines, makeGone, makeReady, observed } from '../../cloud/machines-conformance.js';
import { eventually } from '../../cloud/eventually.js';
import { startKuberay } from './kuberay.js';
import { openRealCluster } from './real-cluster.js';

const ENDED: ReadonlySet<string> = new Set(['Succeeded', 'Failed']);

/** Of one image and one operator. */
async function openRayClusters(namespacePrefix: string) {
  const real = await openRealCluster(namespacePrefix);
  const { namespace, kubeconfig } = real;
  const kuberay = await startKuberay(real.cluster, kubeconfig, namespace);
  const port = createRayClusters({ cluster: { kubeconfig }, periods: { urgentMs: 200, quietMs: 1000 } });
  const plan = (name: string, workers: object = { min: 1, max: 2 }): RayClusterPlan => {
    const section = {
      ...{ namespace, image: kuberay.image, ray_version: kuberay.version, dashboard: false },
      ...{ head: { memory: '3Gi' }, workers: { memory: '2Gi', ...workers } },
    };
    const job = resolveJob({ ray_cluster: section, command: { run: 'true' } });
    assert.ok(job.ok && 'ray_cluster' in job.spec, job.ok ? '' : formatProblems(job.problems));
    return KINDS['ray-cluster'].plan(job.spec, {
      ...{ owner: 'own-1', googleProject: '', zone: 'default-cluster', name: `jc-${name}-g1`, job: 'train' },
      ...{ run: 'run-1', generation: 1, loginUser: 'me', publicKey: 'k' },
    });
  };
  const close = async (): Promise<void> => {
    await port.close();
    await real.close();
    await kuberay.stop();
  };
  return { real, port, plan, close, deadlineMs: 300_000 };
}

/** The suite of every adapter, on RayClusters of KubeRay's real operator with real Ray. */
describe('the port of machines, on RayClusters', function () {
  this.timeout(600_000);
  exerciseMachines('KubeRay', ['a head and one worker'], async () => {
    const { real, port, plan, close, deadlineMs } = await openRayClusters('ray-cluster');
    return {
      ...{ port, account: `/${real.namespace}`, owner: 'own-1', hosts: 1, deadlineMs, close },
      plan: (name: string) => plan(name),
      uid: /^[0-9a-f]{8}-[0-9a-f-]{27}$/,
      // No quantity, as the definition of RayClusters says too.
      badPlan: (name: string) => {
        const good = plan(name);
        return { ...good, pods: { ...good.pods, workers: { ...good.pods.workers, cpus: 'many' } } };
      },
    };
  });
});

describe('the workers of a RayCluster', function () {
  this.timeout(600_000);
  let clusters: Awaited<ReturnType<typeof openRayClusters>>;
  before(async () => (clusters = await openRayClusters('ray-lease')));
  after(() => clusters?.close());

  it('are on nodes as many as the lease counts, when KubeRay makes one while another ends', async () => {
    const { real, port, deadlineMs } = clusters;
    const { namespace } = real;
    const plan = clusters.plan('replaced', { min: 2, max: 2 });
    const name = rayClusterName(plan.ref.name);
    const workers = async () => {
      const { items } = await real.cluster.core.listNamespacedPod({
        namespace,
        labelSelector: 'ray.io/node-type=worker',
      });
      return items;
    };
    const { uid } = await makeReady({ port, deadlineMs }, plan);
    const first = (await workers()).map(({ metadata }) => metadata?.name ?? '');
    assert.equal(first.length, 2);

    // As Ray's autoscaler does, but that it asks for another one at the same time.
    const group = '/spec/workerGroupSpecs/0/scaleStrategy';
    const ask = JSON.stringify([{ op: 'add', path: group, value: { workersToDelete: [first[0]] } }]);
    real.kubectl('patch', 'raycluster', name, '--type', 'json', '-p', ask);
    let mostMade = 0;
    const isReplaced = async (): Promise<boolean> => {
      assert.equal((await observed({ port }, plan)).kind, 'ready');
      const all = await workers();
      mostMade = Math.max(mostMade, all.length);
      // Kubernetes' own rule: what has ended holds nothing.
      const onNodes = all.filter(({ spec, status }) => spec?.nodeName && !ENDED.has(status?.phase ?? ''));
      assert.ok(onNodes.length <= 2, onNodes.map(({ metadata }) => metadata?.name).join());
      const running = onNodes.filter(({ status }) => status?.phase === 'Running');
      return running.length === 2 && !running.some(({ metadata }) => metadata?.name === first[0]);
    };
    await eventually('the worker is replaced', isReplaced, (is) => is, deadlineMs);
    assert.equal(mostMade, 3, 'KubeRay made the next one beside the one that ended');
    const after = await observed({ port }, plan);
    assert.equal(after.kind === 'ready' ? after.uid : '', uid);
    await makeGone({ port, deadlineMs }, plan);
  });
});
