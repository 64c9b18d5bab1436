import assert from 'node:assert/strict';
import type { KubernetesPlan } from '../../domain/machine-kinds/kubernetes/words.js';
import type { Condition } from '../../domain/slice.js';
import { detectConfinement } from '../../rehearsal/vm/confinement.js';
import { eventually } from './eventually.js';
import { isGone, makeGone, makeReady, observed } from './machines-conformance.js';
import { rehearsedPlan, type RehearsedKubernetes, startRehearsedKubernetes } from './rehearsed-kubernetes.js';

const DEADLINE_MS = 20_000;
const namespace = 'default';

/** What test/long/kubernetes/conditions.test.ts and gangs.test.ts see on a real cluster. */
describe('conditions of pods, on the rehearsed Kubernetes', function () {
  this.timeout(60_000);
  let rehearsed: RehearsedKubernetes;
  let under: { readonly port: RehearsedKubernetes['port']; readonly deadlineMs: number };
  before(async function () {
    if (detectConfinement().kind === 'none') this.skip();
    rehearsed = await startRehearsedKubernetes(119);
    under = { port: rehearsed.port, deadlineMs: DEADLINE_MS };
  });
  after(() => rehearsed?.stop());

  const small = (name: string, section: object = {}): KubernetesPlan =>
    rehearsedPlan(`jc-${name}-g1`, { cpus: '10m', workers: 2, ...section });
  async function created(plan: KubernetesPlan): Promise<KubernetesPlan> {
    const answer = await rehearsed.port.create(plan);
    assert.equal(answer.kind, 'accepted', JSON.stringify(answer));
    return plan;
  }
  const seenAs = (plan: KubernetesPlan, what: string, isSo: (seen: Condition) => boolean): Promise<Condition> =>
    eventually(`${plan.ref.name}: ${what}`, () => observed(under, plan), isSo, DEADLINE_MS);
  const becomes = (plan: KubernetesPlan, words: RegExp): Promise<Condition> =>
    seenAs(plan, String(words), (seen) => words.test(JSON.stringify(seen)));
  const podOf = (seen: Condition, index: number): string => {
    const host = seen.kind === 'ready' ? seen.hosts[index] : undefined;
    assert.ok(host?.reach === 'pod');
    return host.pod;
  };
  const lost = (seen: Condition, cause: string): void =>
    assert.ok(seen.kind === 'lost' && seen.cause === cause, JSON.stringify(seen));

  it('a pod that is evicted is a preemption, also when the pod is gone', async () => {
    const plan = small('evicted');
    const name = podOf(await makeReady(under, plan), 1);
    const { core } = rehearsed.cluster;
    await core.createNamespacedPodEviction({ name, namespace, body: { metadata: { name, namespace } } });
    lost(await seenAs(plan, 'lost', ({ kind }) => kind === 'lost'), 'preempted');
    const pods = async (): Promise<number> => (await core.listNamespacedPod({ namespace })).items.length;
    await eventually('its pods are gone', pods, (count) => count === 0, DEADLINE_MS);
    const later = await observed(under, plan);
    lost(later, 'preempted');
    assert.match(JSON.stringify(later), /has condition DisruptionTarget matching FailJob rule/);
    await makeGone(under, plan);
  });

  it('a pod that a person deletes is a failure', async () => {
    const plan = small('deleted');
    const name = podOf(await makeReady(under, plan), 0);
    await rehearsed.cluster.core.deleteNamespacedPod({ name, namespace, gracePeriodSeconds: 0 });
    lost(await seenAs(plan, 'lost', ({ kind }) => kind === 'lost'), 'failed');
    await makeGone(under, plan);
  });

  it('pods whose Job was deleted without them are still removed', async () => {
    const plan = small('orphaned');
    await makeReady(under, plan);
    const { batch } = rehearsed.cluster;
    await batch.deleteNamespacedJob({ name: plan.ref.name, namespace, propagationPolicy: 'Orphan' });
    await seenAs(plan, 'left behind', (seen) => seen.kind === 'missing' && seen.isRequestLeft === true);
    await makeGone(under, plan);
  });

  const wrong: Record<string, [object, RegExp, RegExp]> = {
    'GPUs that no node has': [
      { gpus: 9, gpu_type: 'h100', gang_timeout: 10 },
      /"waiting".*0 of 2 pods run; 2 cannot be scheduled: Unschedulable: 0\/4 nodes are available: .*Insufficient nvidia/,
      /"refused","scope":"zone".*not all pods run after 10 s.*Insufficient nvidia/,
    ],
    'a secret that is not there': [
      { secrets: [{ name: 'hf-token', mount_path: '/secrets' }] },
      /./,
      /"scope":"request".*FailedMount.*secret \\"hf-token\\" not found/,
    ],
    'a claim that is not there': [
      { volumes: [{ claim: 'corpus', mount_path: '/data' }] },
      /./,
      /"scope":"request".*persistentvolumeclaim \\"corpus\\" not found/,
    ],
    'a service account that is not there': [
      { service_account: 'trainer' },
      /./,
      /"scope":"request".*FailedCreate.*serviceaccount \\"trainer\\" not found/,
    ],
    'a priority class that is not there': [
      { priority_class: 'urgent' },
      /./,
      /"scope":"request".*no PriorityClass with name urgent/,
    ],
  };
  for (const [name, [section, first, last]] of Object.entries(wrong))
    it(`${name}: refused in Kubernetes' own words`, async () => {
      const plan = await created(small(`wrong-${Object.keys(wrong).indexOf(name)}`, section));
      await becomes(plan, first);
      await becomes(plan, last);
      await makeGone(under, plan);
    });

  it('an image name that is none is refused', async () => {
    const plan = small('image');
    await created({ ...plan, pods: { ...plan.pods, image: 'Train:1' } });
    await becomes(plan, /"scope":"request".*InvalidImageName/);
    await makeGone(under, plan);
  });

  it('a quota of the namespace is refused for the zone, and takes nothing', async function () {
    this.timeout(120_000);
    const body = { metadata: { name: 'few' }, spec: { hard: { pods: '1' } } };
    await rehearsed.cluster.core.createNamespacedResourceQuota({ namespace, body });
    const plan = await created(small('quota'));
    await becomes(plan, /"scope":"zone".*exceeded quota: few/);
    // The one pod that fits is starting: until its agent has a trap the kernel drops SIGTERM, and its grace of 60 s is waited for.
    await makeGone({ ...under, deadlineMs: 90_000 }, plan);
    await rehearsed.cluster.core.deleteNamespacedResourceQuota({ name: 'few', namespace });
  });

  it('a slice waits for the room that another one has, and gets it', async () => {
    await rehearsed.setNodes([{ name: 'one', cpus: 4, gpus: 8 }]);
    const [first, second] = ['first', 'second'].map((name) => small(name, { gpus: 4, gpu_type: 'h100' }));
    assert.ok(first && second);
    await makeReady(under, first);
    await created(second);
    await becomes(second, /0 of 2 pods run; 2 cannot be scheduled: .*0\/1 nodes are available: 1 Insufficient nvidia/);
    await makeGone(under, first);
    await seenAs(second, 'ready', ({ kind }) => kind === 'ready');
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
