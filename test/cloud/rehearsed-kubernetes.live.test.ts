import assert from 'node:assert/strict';
import type { KubernetesPlan } from '../../domain/machine-kinds/kubernetes/words.js';
import type { Condition } from '../../domain/slice.js';
import { conditionOf } from '../../cloud/machines/kubernetes/condition.js';
import { lookAt } from '../../cloud/machines/kubernetes/namespace-api.js';
import { seenJob, seenPod } from '../../cloud/machines/kubernetes/observation.js';
import { needsConfinement } from '../../rehearsal/test/needs-confinement.js';
import { eventually } from './eventually.js';
import { isGone, makeGone, makeReady, observed } from './machines-conformance.js';
import { ConditionsOfPods, type ConditionsPlace, exerciseRefusals, podOf } from './pod-conditions.js';
import { rehearsedPlan, type RehearsedKubernetes, startRehearsedKubernetes } from './rehearsed-kubernetes.js';

const DEADLINE_MS = 20_000;
const namespace = 'default';

/** What test/long/kubernetes/conditions.test.ts and gangs.test.ts see on a real cluster. */
describe('conditions of pods, on the rehearsed Kubernetes', function () {
  this.timeout(60_000);
  let rehearsed: RehearsedKubernetes;
  let under: ConditionsPlace;
  const pods = new ConditionsOfPods(() => under);
  before(async function () {
    needsConfinement(this);
    rehearsed = await startRehearsedKubernetes();
    const { cluster, port } = rehearsed;
    under = { cluster, port, namespace, deadlineMs: DEADLINE_MS };
  });
  after(() => rehearsed?.stop());

  const small = (name: string, section: object = {}): KubernetesPlan =>
    rehearsedPlan(`jc-${name}-g1`, { cpus: '10m', workers: 2, ...section });
  const lost = (seen: Condition, cause: string): void =>
    assert.ok(seen.kind === 'lost' && seen.cause === cause, JSON.stringify(seen));

  it('a pod that is evicted is a preemption, also when the pod is gone', async () => {
    const plan = small('evicted');
    const name = podOf(await makeReady(under, plan), 1);
    const { core } = rehearsed.cluster;
    await core.createNamespacedPodEviction({ name, namespace, body: { metadata: { name, namespace } } });
    lost(await pods.seenAs(plan, 'lost', ({ kind }) => kind === 'lost'), 'preempted');
    const left = async (): Promise<number> => (await core.listNamespacedPod({ namespace })).items.length;
    await eventually('its pods are gone', left, (count) => count === 0, DEADLINE_MS);
    const later = await observed(under, plan);
    lost(later, 'preempted');
    assert.match(JSON.stringify(later), /has condition DisruptionTarget matching FailJob rule/);
    await makeGone(under, plan);
  });

  it('of a gang that is evicted while somebody looks, the eviction is seen, and not that its other pods are deleted', async () => {
    const plan = small('looked-at');
    const name = podOf(await makeReady(under, plan), 1);
    const { cluster } = rehearsed;
    const { core, batch } = cluster;
    const podsOf = async (): Promise<readonly string[]> =>
      (await core.listNamespacedPod({ namespace })).items.map((pod) => pod.metadata?.name ?? '');
    const listNamespacedPod: typeof core.listNamespacedPod = async (wanted) => {
      await core.createNamespacedPodEviction({ name, namespace, body: { metadata: { name, namespace } } });
      await eventually('the pod is gone', podsOf, (names) => !names.includes(name), DEADLINE_MS);
      return core.listNamespacedPod(wanted);
    };
    const slow = Object.create(core, { listNamespacedPod: { value: listNamespacedPod } }) as typeof core;
    const owner = {
      nameOf: () => plan.ref.name,
      podLabel: 'batch.kubernetes.io/job-name',
      read: async () => seenJob(await batch.readNamespacedJob({ namespace, name: plan.ref.name })),
      seenPod,
    };
    const seen = await lookAt({ ...cluster, core: slow }, owner, plan.ref);
    lost(conditionOf(seen, plan.ownership, namespace), 'preempted');
    await makeGone(under, plan);
  });

  it('a pod that a person deletes is a failure', async () => {
    const plan = small('deleted');
    const name = podOf(await makeReady(under, plan), 0);
    await rehearsed.cluster.core.deleteNamespacedPod({ name, namespace, gracePeriodSeconds: 0 });
    lost(await pods.seenAs(plan, 'lost', ({ kind }) => kind === 'lost'), 'failed');
    await makeGone(under, plan);
  });

  it('pods whose Job was deleted without them are still removed', async () => {
    const plan = small('orphaned');
    await makeReady(under, plan);
    const { batch } = rehearsed.cluster;
    await batch.deleteNamespacedJob({ name: plan.ref.name, namespace, propagationPolicy: 'Orphan' });
    await pods.seenAs(plan, 'left behind', (seen) => seen.kind === 'missing' && seen.isRequestLeft === true);
    await makeGone(under, plan);
  });

  // Its four nodes have eight GPUs each.
  exerciseRefusals(pods, { small, gpus: 9, nodes: '4' });

  it('a slice waits for the room that another one has, and gets it', async () => {
    await rehearsed.setNodes([{ name: 'one', cpus: 4, gpus: 8 }]);
    const [first, second] = ['first', 'second'].map((name) => small(name, { gpus: 4, gpu_type: 'h100' }));
    assert.ok(first && second);
    await makeReady(under, first);
    await pods.created(second);
    await pods.becomes(
      second,
      /0 of 2 pods run; 2 cannot be scheduled: .*0\/1 nodes are available: 1 Insufficient nvidia/,
    );
    await makeGone(under, first);
    await pods.seenAs(second, 'ready', ({ kind }) => kind === 'ready');
    await makeGone(under, second);
  });

  it('a Job of our name that somebody else made is never touched', async () => {
    const plan = small('theirs');
    const { name } = plan.ref;
    const spec = { containers: [{ name: 'main', image: 'x:1', command: ['sleep', '1000'] }], restartPolicy: 'Never' };
    const body = { metadata: { name }, spec: { completionMode: 'Indexed', template: { spec } } };
    const made = await rehearsed.cluster.batch.createNamespacedJob({ namespace, body });
    assert.deepEqual(await rehearsed.port.create(plan), { kind: 'exists' });
    assert.equal((await observed(under, plan)).kind, 'foreign');
    const answer = await rehearsed.port.remove(plan.ref, { owner: 'own-1', job: 'train', run: 'run-1' });
    assert.equal(answer.kind, 'refused', JSON.stringify(answer));
    const found = await rehearsed.cluster.batch.readNamespacedJob({ name, namespace });
    assert.equal(found.metadata?.uid, made.metadata?.uid);
    await rehearsed.cluster.batch.deleteNamespacedJob({ name, namespace, propagationPolicy: 'Background' });
    await makeGone(under, plan);
    assert.ok(isGone(await observed(under, plan)));
  });
});
