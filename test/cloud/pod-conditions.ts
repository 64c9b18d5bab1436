import assert from 'node:assert/strict';
import type { Cluster } from '../../cloud/machines/kubernetes/cluster.js';
import type { Machines } from '../../cloud/machines/port.js';
import type { KubernetesPlan } from '../../domain/machine-kinds/kubernetes/words.js';
import type { Condition } from '../../domain/slice.js';
import { eventually } from './eventually.js';
import { makeGone, observed } from './machines-conformance.js';

/** A cluster in which slices of pods are made and looked at, for one test file. */
export interface ConditionsPlace {
  readonly cluster: Cluster;
  readonly port: Machines<'kubernetes'>;
  readonly namespace: string;
  readonly deadlineMs: number;
}

/** Slices of pods, and what is seen of them until the place's deadline. The place is there when a test runs. */
export class ConditionsOfPods {
  readonly #place: () => ConditionsPlace;

  constructor(place: () => ConditionsPlace) {
    this.#place = place;
  }

  get under(): ConditionsPlace {
    return this.#place();
  }

  async created(plan: KubernetesPlan): Promise<KubernetesPlan> {
    const answer = await this.under.port.create(plan);
    assert.equal(answer.kind, 'accepted', JSON.stringify(answer));
    return plan;
  }

  seenAs(plan: KubernetesPlan, what: string, isSo: (seen: Condition) => boolean): Promise<Condition> {
    const { under } = this;
    return eventually(`${plan.ref.name}: ${what}`, () => observed(under, plan), isSo, under.deadlineMs);
  }

  becomes(plan: KubernetesPlan, words: RegExp): Promise<Condition> {
    return this.seenAs(plan, String(words), (seen) => words.test(JSON.stringify(seen)));
  }
}

export function podOf(seen: Condition, index: number): string {
  const host = seen.kind === 'ready' ? seen.hosts[index] : undefined;
  assert.ok(host?.reach === 'pod');
  return host.pod;
}

interface RefusalOptions {
  /** A slice of two pods. */
  readonly small: (name: string, section?: object) => KubernetesPlan;
  /** More than a node has. */
  readonly gpus: number;
  /** How many nodes there are, as a pattern. */
  readonly nodes: string;
}

/** What every Kubernetes refuses, in its own words. */
export function exerciseRefusals(seen: ConditionsOfPods, { small, gpus, nodes }: RefusalOptions): void {
  const wrong: Record<string, [object, RegExp, RegExp]> = {
    'GPUs that no node has': [
      { gpus, gpu_type: 'h100', gang_timeout: 10 },
      new RegExp(
        `"waiting".*0 of 2 pods run; 2 cannot be scheduled: Unschedulable: 0/${nodes} nodes are available: .*Insufficient nvidia`,
      ),
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
      const plan = await seen.created(small(`wrong-${Object.keys(wrong).indexOf(name)}`, section));
      await seen.becomes(plan, first);
      await seen.becomes(plan, last);
      await makeGone(seen.under, plan);
    });

  it('an image name that is none is refused', async () => {
    const plan = small('image');
    await seen.created({ ...plan, pods: { ...plan.pods, image: 'Train:1' } });
    await seen.becomes(plan, /"scope":"request".*InvalidImageName/);
    await makeGone(seen.under, plan);
  });

  it('a quota of the namespace is refused for the zone, and takes nothing', async function () {
    const { cluster, namespace, deadlineMs } = seen.under;
    this.timeout(2 * Math.max(deadlineMs, MOST_GRACE_MS));
    const body = { metadata: { name: 'few' }, spec: { hard: { pods: '1' } } };
    await cluster.core.createNamespacedResourceQuota({ namespace, body });
    const plan = await seen.created(small('quota'));
    await seen.becomes(plan, /"scope":"zone".*exceeded quota: few/);
    // The kernel drops a SIGTERM for which the agent of the one pod that fits has no trap yet: its grace of 60 s would be waited for.
    const pods = async (): Promise<readonly string[]> =>
      (await cluster.core.listNamespacedPod({ namespace })).items.map(({ status }) => status?.phase ?? '');
    await eventually('the pod that fits runs', pods, (phases) => phases.includes('Running'), deadlineMs);
    await makeGone({ ...seen.under, deadlineMs: Math.max(deadlineMs, MOST_GRACE_MS) }, plan);
    await cluster.core.deleteNamespacedResourceQuota({ name: 'few', namespace });
  });
}

/** The grace of a pod is 60 s. */
const MOST_GRACE_MS = 90_000;
