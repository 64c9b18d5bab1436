import assert from 'node:assert/strict';
import type { KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import { eventually } from '../../cloud/eventually.js';
import { ConditionsOfPods, type ConditionsPlace, exerciseRefusals, podOf } from '../../cloud/pod-conditions.js';
import { isGone, makeGone, makeReady, observed } from '../../cloud/machines-conformance.js';
import { openRealCluster, type RealCluster } from './real-cluster.js';

const DEADLINE_MS = 120_000;

/** What Kubernetes says of pods that do not start, or do not stay, read as evidence. */
describe('conditions of pods, on a real cluster', function () {
  this.timeout(240_000);
  let real: RealCluster;
  let under: ConditionsPlace;
  const pods = new ConditionsOfPods(() => under);
  before(async () => {
    real = await openRealCluster('conditions');
    under = { ...real, deadlineMs: DEADLINE_MS };
  });
  after(() => real.close());

  const small = (name: string, section: object = {}): KubernetesPlan =>
    real.plan(`jc-${name}-g1`, { cpus: '10m', workers: 2, ...section });

  // Lost ---------------------------------------------------------------------------------------------------------------

  it('a pod that is evicted is a preemption, also when the pod is gone', async () => {
    const plan = small('evicted');
    const name = podOf(await makeReady(under, plan), 1);
    const { namespace } = real;
    await real.cluster.core.createNamespacedPodEviction({ name, namespace, body: { metadata: { name, namespace } } });
    const seen = await pods.seenAs(plan, 'lost', ({ kind }) => kind === 'lost');
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
    const seen = await pods.seenAs(plan, 'lost', ({ kind }) => kind === 'lost');
    assert.ok(seen.kind === 'lost' && seen.cause === 'failed', JSON.stringify(seen));
    await makeGone(under, plan);
  });

  it('a first process that ends is a failure with its exit code', async () => {
    const plan = small('ended');
    const name = podOf(await makeReady(under, plan), 0);
    // What sends the signal is told to end too, and may hear it first.
    const command = 'trap "" TERM; kill -TERM 1';
    real.kubectl('exec', name, '--', 'sh', '-c', command);
    const seen = await pods.seenAs(plan, 'lost', ({ kind }) => kind === 'lost');
    assert.ok(seen.kind === 'lost' && seen.cause === 'failed', JSON.stringify(seen));
    assert.match(seen.message, /first process has ended by itself: exit code 143/);
    await makeGone(under, plan);
  });

  it('pods whose Job was deleted without them are still removed', async () => {
    const plan = small('orphaned');
    await makeReady(under, plan);
    real.kubectl('delete', 'job', plan.ref.name, '--cascade=orphan');
    await pods.seenAs(plan, 'left behind', (seen) => seen.kind === 'missing' && seen.isRequestLeft === true);
    const owned = async (): Promise<readonly string[]> =>
      (await real.port.listOwned(`/${real.namespace}`, 'own-1')).map(({ ref }) => ref.name);
    assert.ok((await owned()).includes(plan.ref.name));
    await makeGone(under, plan);
    assert.ok(!(await owned()).includes(plan.ref.name));
  });

  // Refused ------------------------------------------------------------------------------------------------------------

  exerciseRefusals(pods, { small, gpus: 1, nodes: String.raw`\d+` });

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
    await pods.becomes(plan, /"scope":"request".*something has suspended the Job/);
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
    await pods.seenAs(plan, 'half', (seen) => seen.kind === 'missing' && seen.isRequestLeft === true);
    await pods.created(plan);
    await pods.seenAs(plan, 'ready', ({ kind }) => kind === 'ready');
    await makeGone(under, plan);
    assert.equal(real.kubectl('get', 'jobs,pods,services,configmaps', '-l', 'jobctl-owner', '-o', 'name'), '');
  });
});
