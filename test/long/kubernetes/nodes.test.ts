import assert from 'node:assert/strict';
import type { KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import type { Condition } from '../../../domain/slice.js';
import { eventually } from '../../cloud/eventually.js';
import { makeGone, observed } from '../../cloud/machines-conformance.js';
import { openRealCluster, type RealCluster } from './real-cluster.js';

const NODE = 'machines-ghost';
const OWN = { 'jobctl.test/ghost': 'true' };

/**
 * A node object without a kubelet, so that it is silent from its first minute on. The pods' status is what a kubelet would have
 * written; scheduler, node lifecycle and pod garbage collection are the cluster's own.
 */
describe('a node that does not answer, on a real cluster', function () {
  this.timeout(400_000);
  let real: RealCluster;
  let plan: KubernetesPlan;
  before(async () => {
    real = await openRealCluster('nodes');
    const taint = { key: 'jobctl.test/ghost', effect: 'NoSchedule' };
    const { core } = real.cluster;
    await core.deleteNode({ name: NODE }).catch(() => undefined);
    await core.createNode({ body: { metadata: { name: NODE, labels: OWN }, spec: { taints: [taint] } } });
    plan = real.plan('jc-ghost-g1', {
      ...{ workers: 2, node_selector: OWN, tolerations: [{ key: 'jobctl.test/ghost', operator: 'Exists' }] },
    });
  });
  after(async () => {
    await real.cluster.core.deleteNode({ name: NODE }).catch(() => undefined);
    await real.close();
  });

  const seenAs = (what: string, isSo: (seen: Condition) => boolean): Promise<Condition> =>
    eventually(what, () => observed(real, plan), isSo, 300_000);
  const now = (): string => new Date().toISOString();

  function nodeIsReady(): void {
    const room = { cpu: '8', memory: '16Gi', pods: '20' };
    const ready = {
      type: 'Ready',
      status: 'True',
      reason: 'KubeletReady',
      lastHeartbeatTime: now(),
      lastTransitionTime: now(),
    };
    const patch = JSON.stringify({ status: { capacity: room, allocatable: room, conditions: [ready] } });
    real.kubectl('patch', 'node', NODE, '--subresource=status', '-p', patch);
  }
  function podRuns(pod: string, ip: string): void {
    const conditions = ['Ready', 'ContainersReady', 'Initialized'].map((type) => ({ type, status: 'True' }));
    const patch = { status: { phase: 'Running', podIP: ip, podIPs: [{ ip }], startTime: now(), conditions } };
    real.kubectl('patch', 'pod', pod, '--subresource=status', '-p', JSON.stringify(patch));
  }

  it('is unknown and not dead, and lost when its object is gone', async () => {
    nodeIsReady();
    assert.equal((await real.port.create(plan)).kind, 'accepted');
    const pods = await eventually(
      'both pods are on the node',
      async () => {
        const words = [
          'get',
          'pods',
          `--field-selector=spec.nodeName=${NODE}`,
          '-o',
          'jsonpath={.items[*].metadata.name}',
        ];
        return real
          .kubectl(...words)
          .split(' ')
          .filter(Boolean);
      },
      (names) => names.length === 2,
      60_000,
    );
    pods.forEach((pod, index) => podRuns(pod, `10.200.9.${index + 1}`));
    const whole = await seenAs('ready', ({ kind }) => kind === 'ready');
    assert.ok(whole.kind === 'ready' && whole.warning === undefined, JSON.stringify(whole));
    // After 40 to 50 s without a heartbeat the cluster calls the node Unknown, and its pods not Ready.
    const silent = await seenAs('warned', (seen) => seen.kind !== 'ready' || seen.warning !== undefined);
    assert.ok(silent.kind === 'ready', JSON.stringify(silent));
    assert.match(silent.warning ?? '', /is not Ready: its node machines-ghost may not answer/);
    assert.deepEqual(silent.hosts, whole.hosts);
    assert.match(real.kubectl('get', 'node', NODE, '-o', 'jsonpath={.spec.taints[*].key}'), /unreachable/);
    await real.cluster.core.deleteNode({ name: NODE });
    const lost = await seenAs('lost', ({ kind }) => kind !== 'ready');
    assert.ok(lost.kind === 'lost' && lost.cause === 'preempted', JSON.stringify(lost));
    await makeGone({ port: real.port, deadlineMs: 120_000 }, plan);
  });
});
