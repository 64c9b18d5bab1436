import assert from 'node:assert/strict';
import { rayClusterName } from '../../domain/machine-kinds/ray-cluster/index.js';
import type { Condition } from '../../domain/slice.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { eventually } from './eventually.js';
import { exerciseMachines, makeGone, makeReady, type MachinesUnderTest, observed } from './machines-conformance.js';
import { type RehearsedKubernetes, rehearsedRayPlan, startRehearsedKubernetes } from './rehearsed-kubernetes.js';

const DEADLINE_MS = 20_000;

/** The suite of every adapter, as with the real KubeRay (test/long/kubernetes/ray-cluster-machines.test.ts). */
describe('the port of machines, on rehearsed RayClusters', function () {
  this.timeout(60_000);
  before(function () {
    needsConfinement(this);
  });
  exerciseMachines('the rehearsed KubeRay', ['a head and one worker'], async () => {
    const rehearsed = await startRehearsedKubernetes();
    const under: MachinesUnderTest<'ray-cluster'> = {
      ...{ port: rehearsed.rayPort, account: '/default', owner: 'own-1', hosts: 1, deadlineMs: DEADLINE_MS },
      plan: (name) => rehearsedRayPlan(`jc-${name}-g1`),
      uid: /^[0-9a-f]{8}-[0-9a-f-]{27}$/,
      badPlan: (name) => {
        const good = rehearsedRayPlan(`jc-${name}-g1`);
        return { ...good, pods: { ...good.pods, workers: { ...good.pods.workers, cpus: 'many' } } };
      },
      close: () => rehearsed.stop(),
    };
    return under;
  });
});

/** What ends what (docs/ray-cluster.md), by the wire. */
describe('a RayCluster of the rehearsed KubeRay', function () {
  this.timeout(60_000);
  let rehearsed: RehearsedKubernetes;
  before(async function () {
    needsConfinement(this);
    rehearsed = await startRehearsedKubernetes();
  });
  after(() => rehearsed?.stop());

  const under = () => ({ port: rehearsed.rayPort, deadlineMs: DEADLINE_MS });
  const podsOf = async (name: string) => {
    const labelSelector = `ray.io/cluster=${rayClusterName(`jc-${name}-g1`)}`;
    return (await rehearsed.cluster.core.listNamespacedPod({ namespace: 'default', labelSelector })).items;
  };
  const podOf = async (name: string, type: 'head' | 'worker') => {
    const found = (await podsOf(name)).find(({ metadata }) => metadata?.labels?.['ray.io/node-type'] === type);
    return found?.metadata?.name ?? assert.fail(`${name} has no ${type}`);
  };
  const deletePod = (name: string) => rehearsed.cluster.core.deleteNamespacedPod({ name, namespace: 'default' });
  /** Runs a command in the first process's place of a pod. */
  const inPod = async (name: string, line: string): Promise<void> => {
    const exec = new rehearsed.cluster.library.Exec(rehearsed.cluster.config);
    await new Promise<void>((resolve, reject) => {
      exec.exec('default', name, 'main', ['sh', '-c', line], null, null, null, false, () => resolve()).catch(reject);
    });
  };
  const becomes = (name: string, claim: string, is: (seen: Condition) => boolean, section: object = {}) =>
    eventually(claim, () => observed(under(), rehearsedRayPlan(`jc-${name}-g1`, section)), is, DEADLINE_MS);
  const made = (name: string, section: object = {}) => makeReady(under(), rehearsedRayPlan(`jc-${name}-g1`, section));
  const gone = (name: string, section: object = {}) => makeGone(under(), rehearsedRayPlan(`jc-${name}-g1`, section));

  it('a worker that is lost is replaced, and the slice stays as it is', async () => {
    const { uid } = await made('worker');
    const lost = await podOf('worker', 'worker');
    await deletePod(lost);
    const isReplaced = async (): Promise<boolean> => {
      const seen = await observed(under(), rehearsedRayPlan('jc-worker-g1'));
      assert.ok(seen.kind === 'ready' && seen.uid === uid, JSON.stringify(seen));
      const pods = await podsOf('worker');
      const running = pods.filter(({ status }) => status?.phase === 'Running');
      return running.length === 2 && !pods.some(({ metadata }) => metadata?.name === lost);
    };
    await eventually('another worker runs', isReplaced, (is) => is, DEADLINE_MS);
    await gone('worker');
  });

  it('a head that is deleted is a loss, and the one that KubeRay makes in its place does not take it back', async () => {
    await made('head');
    const lost = await podOf('head', 'head');
    await deletePod(lost);
    await becomes('head', 'the loss is seen', ({ kind }) => kind === 'lost');
    const isAnother = async (): Promise<boolean> =>
      (await podsOf('head')).some(
        ({ metadata, status }) =>
          metadata?.name !== lost && metadata?.labels?.['ray.io/node-type'] === 'head' && status?.phase === 'Running',
      );
    await eventually('another head runs', isAnother, (is) => is, DEADLINE_MS);
    const seen = await observed(under(), rehearsedRayPlan('jc-head-g1'));
    assert.match(seen.kind === 'lost' ? seen.message : seen.kind, /KubeRay has made another one/);
    await gone('head');
  });

  it('Ray that ends on the head ends the slice', async () => {
    await made('stopped');
    await inPod(await podOf('stopped', 'head'), 'ray stop');
    const seen = await becomes('stopped', 'the end is seen', ({ kind }) => kind === 'lost');
    // KubeRay deletes a head that has ended at once, with its last words.
    assert.match(JSON.stringify(seen), /"cause":"failed".*(Ray has ended on the head with code 1|the head is gone)/);
    await gone('stopped');
  });

  it('an image without Ray is refused, and told so', async () => {
    const section = { image: 'train:1' };
    const answer = await rehearsed.rayPort.create(rehearsedRayPlan('jc-bare-g1', section));
    assert.equal(answer.kind, 'accepted');
    const seen = await becomes('bare', 'it is refused', ({ kind }) => kind === 'lost', section);
    assert.match(JSON.stringify(seen), /"cause":"refused".*is ray in the image\?/);
    await gone('bare', section);
  });

  it('a worker is let in by jobctl alone, and why it may not is told', async () => {
    await rehearsed.admin('refuse', {
      method: 'kubernetes.patch',
      code: 'PERMISSION_DENIED',
      message: 'may not patch',
    });
    try {
      await rehearsed.rayPort.create(rehearsedRayPlan('jc-gated-g1'));
      const isTold = (seen: Condition): boolean => seen.kind === 'waiting' && /may not patch/.test(seen.detail);
      await becomes('gated', 'the refusal is told', isTold);
      const worker = (await podsOf('gated')).find(({ spec }) => spec?.schedulingGates !== undefined);
      assert.equal(worker?.status?.conditions?.[0]?.reason, 'SchedulingGated');
    } finally {
      await rehearsed.takeBack('refuse');
    }
    await becomes('gated', 'it is ready', ({ kind }) => kind === 'ready');
    await gone('gated');
  });

  it('a cluster without KubeRay is told so', async () => {
    const definition = { group: 'apiextensions.k8s.io', version: 'v1', plural: 'customresourcedefinitions' };
    const { custom } = rehearsed.cluster;
    await custom.deleteClusterCustomObject({ ...definition, name: 'rayclusters.ray.io' });
    try {
      const answer = await rehearsed.rayPort.create(rehearsedRayPlan('jc-none-g1'));
      assert.match(answer.kind === 'refused' ? answer.message : answer.kind, /knows no RayCluster .*install KubeRay/);
    } finally {
      await custom.createClusterCustomObject({ ...definition, body: { metadata: { name: 'rayclusters.ray.io' } } });
    }
  });
});
