import type { V1Container } from '@kubernetes/client-node';
import { createPodHosts } from '../../../cloud/hosts/pod-fleet.js';
import type { HostConnection, PodTarget } from '../../../cloud/hosts/port.js';
import { AGENT } from '../../../cloud/machines/kubernetes/pod-template.js';
import type { Cluster } from '../../../cloud/machines/kubernetes/cluster.js';
import { until } from '../../until.js';
import { never } from '../../hosts/session.js';
import { realCluster } from './kube-node.js';

/** Pods as a slice has them, in a namespace of the test's. */
export class PodsForTest {
  readonly cluster: Cluster;
  readonly kubeconfig: string;
  readonly namespace: string;
  readonly fleet;
  #made = 0;

  /** @param place absent: the real cluster */
  constructor({ cluster, kubeconfig } = realCluster()) {
    this.cluster = cluster;
    this.kubeconfig = kubeconfig;
    this.namespace = `hosts-${process.pid}-${Date.now() % 100_000}`;
    this.fleet = createPodHosts(async () => cluster);
  }

  async open(): Promise<void> {
    const { core } = this.cluster;
    const { namespace } = this;
    await core.createNamespace({ body: { metadata: { name: namespace } } });
    await core.createNamespacedConfigMap({ namespace, body: { metadata: { name: 'slice' }, data: { agent: AGENT } } });
    await until('its service account', () =>
      core.readNamespacedServiceAccount({ namespace, name: 'default' }).then(() => true),
    );
  }

  async close(): Promise<void> {
    this.fleet.release();
    await this.cluster.core.deleteNamespace({ name: this.namespace, gracePeriodSeconds: 0 });
  }

  /** Runs when it resolves. */
  async pod(image: string, container: Partial<V1Container> = {}): Promise<PodTarget> {
    const { namespace } = this;
    const pod = `p${(this.#made += 1)}`;
    const { core } = this.cluster;
    await core.createNamespacedPod({
      namespace,
      body: {
        metadata: { name: pod },
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 30,
          volumes: [{ name: 'jobctl', configMap: { name: 'slice', defaultMode: 0o555 } }],
          containers: [
            {
              name: 'main',
              image,
              imagePullPolicy: 'Never',
              command: ['/bin/sh', '/jobctl/agent'],
              volumeMounts: [{ name: 'jobctl', mountPath: '/jobctl' }],
              ...container,
            },
          ],
        },
      },
    });
    const found = await until(
      `pod ${pod} to run`,
      async () => {
        const seen = await core.readNamespacedPod({ namespace, name: pod });
        return seen.status?.containerStatuses?.[0]?.state?.running ? seen : undefined;
      },
      120_000,
    );
    const podUid = found.metadata?.uid ?? '';
    return { reach: 'pod', uid: 'slice', slice: 0, index: 0, namespace, pod, podUid };
  }

  connect(target: PodTarget): Promise<HostConnection> {
    return this.fleet.connect(target, { privateKey: '' }, never);
  }

  /** What `kubectl logs` shows. */
  logs({ namespace, pod: name }: PodTarget): Promise<string> {
    return this.cluster.core.readNamespacedPodLog({ namespace, name });
  }
}
