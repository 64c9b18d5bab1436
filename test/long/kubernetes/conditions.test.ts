import assert from 'node:assert/strict';
import type { KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { Condition } from '../../../domain/slice.js';
import { eventually } from '../../cloud/eventually.js';
import { isGone, makeGone, makeReady, observed } from '../../cloud/machines-conformance.js';
import { openRealCluster, type RealCluster } from './real-cluster.js';

const DEADLINE_MS = 120_000;

/** What Kubernetes says of pods that do not start, or do not stay, read as evidence. */
describe('conditions of pods, on a real cluster', function () {
  this.timeout(240_000);
  let real: RealCluster;
  let under: { readonly port: RealCluster['port']; readonly deadlineMs: number };
  before(async () => {
    real = await openRealCluster('conditions');
    under = { port: real.port, deadlineMs: DEADLINE_MS };
  });
  after(() => real.close());

  const small = (name: string, section: object = {}): KubernetesPlan =>
    real.plan(`jc-${name}-g1`, { cpus: '10m', workers: 2, ...section });
  async function created(plan: KubernetesPlan): Promise<KubernetesPlan> {
    const answer = await real.port.create(plan);
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

  // Lost ---------------------------------------------------------------------------------------------------------------

  it('a pod that is evicted is a preemption, also when the pod is gone', async () => {
    const plan = small('evicted');
    const name = podOf(await makeReady(under, plan), 1);
    const { namespace } = real;
    await real.cluster.core.createNamespacedPodEviction({ name, namespace, body: { metadata: { name, namespace } } });
    const seen = await seenAs(plan, 'lost', ({ kind }) => kind === 'lost');
    assert.ok(seen.kind === 'lost' && seen.cause === 'preempted', JSON.stringify(seen));
    await eventually(
      'its pods are gone',
      async () => real.kubectl('get', 'pods', '-o', 'name'),
      (text) => text === '',
      DEADLINE_MS,
    );
    const later = await observed(under, plan);
    assert.ok(later.kind === 'lost' && later.cause === 'preempted', JSON.stringify(later));
    assert.match(later.message, /DisruptionTarget/);
    await makeGone(under, plan);
  });

  it('a pod that a person deletes is a failure', async () => {
    const plan = small('deleted');
    const name = podOf(await makeReady(under, plan), 0);
    real.kubectl('delete', 'pod', name, '--grace-period=0', '--force');
    const seen = await seenAs(plan, 'lost', ({ kind }) => kind === 'lost');
    assert.ok(seen.kind === 'lost' && seen.cause === 'failed', JSON.stringify(seen));
    await makeGone(under, plan);
  });

  it('a first process that ends is a failure with its exit code', async () => {
    const plan = small('ended');
    const name = podOf(await makeReady(under, plan), 0);
    // What sends the signal is told to end too, and may hear it first.
    const command = 'trap "" TERM; kill -TERM 1';
    real.kubectl('exec', name, '--', 'sh', '-c', command);
    const seen = await seenAs(plan, 'lost', ({ kind }) => kind === 'lost');
    assert.ok(seen.kind === 'lost' && seen.cause === 'failed', JSON.stringify(seen));
    assert.match(seen.message, /first process has ended by itself: exit code 143/);
    await makeGone(under, plan);
  });

  it('pods whose Job was deleted without them are still removed', async () => {
    const plan = small('orphaned');
    await makeReady(under, plan);
    real.kubectl('delete', 'job', plan.ref.name, '--cascade=orphan');
    await seenAs(plan, 'left behind', (seen) => seen.kind === 'missing' && seen.isRequestLeft === true);
    const owned = async (): Promise<readonly string[]> =>
      (await real.port.listOwned(`/${real.namespace}`, 'own-1')).map(({ ref }) => ref.name);
    assert.ok((await owned()).includes(plan.ref.name));
    await makeGone(under, plan);
    assert.ok(!(await owned()).includes(plan.ref.name));
  });

  // Refused ------------------------------------------------------------------------------------------------------------

  const wrong: Record<string, [object, RegExp, RegExp]> = {
    'GPUs that no node has': [
      { gpus: 1, gpu_type: 'h100', gang_timeout: 10 },
      /"waiting".*0 of 2 pods run; 2 cannot be scheduled: Unschedulable: 0\/\d+ nodes are available: .*Insufficient nvidia/,
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

  it('a quota of the namespace is refused for the zone, and takes nothing', async () => {
    const { namespace } = real;
    const body = { metadata: { name: 'few' }, spec: { hard: { pods: '1' } } };
    await real.cluster.core.createNamespacedResourceQuota({ namespace, body });
    const plan = await created(small('quota'));
    await becomes(plan, /"scope":"zone".*exceeded quota: few/);
    await makeGone(under, plan);
    await real.cluster.core.deleteNamespacedResourceQuota({ name: 'few', namespace });
  });

  it('a namespace that does not exist is refused, with what to do', async () => {
    const plan = small('nowhere');
    const answer = await real.port.create({ ...plan, ref: { ...plan.ref, namespace: 'machines-nowhere' } });
    assert.ok(answer.kind === 'refused' && answer.scope === 'request', JSON.stringify(answer));
    assert.match(answer.message, /namespace machines-nowhere does not exist: make it with 'kubectl create namespace/);
  });

  it('a Job that something suspends is refused', async () => {
    const plan = small('suspended');
    await makeReady(under, plan);
    real.kubectl('patch', 'job', plan.ref.name, '-p', '{"spec":{"suspend":true}}');
    await becomes(plan, /"scope":"request".*something has suspended the Job/);
    await makeGone(under, plan);
  });

  it('a namespace that Kueue manages is refused before anything is made', async () => {
    real.kubectl('label', 'namespace', real.namespace, 'kueue.x-k8s.io/managed-namespace=true');
    const answer = await real.port.create(small('kueue'));
    real.kubectl('label', 'namespace', real.namespace, 'kueue.x-k8s.io/managed-namespace-');
    assert.ok(answer.kind === 'refused' && answer.scope === 'request', JSON.stringify(answer));
    assert.match(answer.message, /is managed by Kueue \(its label kueue\.x-k8s\.io\/managed-namespace\)/);
    assert.ok(isGone(await observed(under, small('kueue'))));
  });

  // Names --------------------------------------------------------------------------------------------------------------

  for (const what of ['job', 'configmap', 'service'])
    it(`a ${what} of our name that somebody else made is never touched`, async () => {
      const plan = small(`theirs-${what}`);
      const name = plan.ref.name;
      if (what === 'job') real.kubectl('create', 'job', name, '--image=x', '--', 'true');
      if (what === 'configmap') real.kubectl('create', 'configmap', name, '--from-literal=a=b');
      if (what === 'service') real.kubectl('create', 'service', 'clusterip', name, '--clusterip=None');
      const uid = (): string => real.kubectl('get', what, name, '-o', 'jsonpath={.metadata.uid}');
      const before = uid();
      assert.deepEqual(await real.port.create(plan), { kind: 'exists' });
      assert.equal((await observed(under, plan)).kind, 'foreign');
      const answer = await real.port.remove(plan.ref, { owner: 'own-1', job: 'train', run: 'run-1' });
      assert.equal(answer.kind, 'refused', JSON.stringify(answer));
      assert.equal(uid(), before);
      real.kubectl('delete', what, name);
      // What a create call made before it met the other's Job.
      await makeGone(under, plan);
    });

  it('a create call whose answer was lost after its first object is completed by the next', async () => {
    const plan = small('half');
    await makeReady(under, plan);
    real.kubectl('delete', 'job', plan.ref.name, '--wait=true');
    await seenAs(plan, 'half', (seen) => seen.kind === 'missing' && seen.isRequestLeft === true);
    await created(plan);
    await seenAs(plan, 'ready', ({ kind }) => kind === 'ready');
    await makeGone(under, plan);
    assert.equal(real.kubectl('get', 'jobs,pods,services,configmaps', '-l', 'jobctl-owner', '-o', 'name'), '');
  });
});
