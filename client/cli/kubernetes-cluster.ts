import type { Cluster, ClusterConfig, KubernetesLibrary } from '../../cloud/machines/kubernetes/cluster.js';
import type { CliContext } from './context.js';
import { loadFrom } from './dev/fetch-packages.js';

/** The Kubernetes client, which is brought when first needed (docs/adr/0061). @throws CliError if it cannot be */
export const kubernetesLibrary = (): Promise<KubernetesLibrary> =>
  loadFrom<KubernetesLibrary>('@jobctl/worker', 'kubernetes-library');

/** Opens clusters of the kubeconfig that holds where a verb talks to: the local stack has one of its own. */
export const clustersOf =
  ({ kubeconfig }: Pick<CliContext, 'kubeconfig'>) =>
  (context: string | undefined): Promise<Cluster> =>
    kubeconfig === undefined ? openCluster(context) : opened({ kubeconfig, ...(context !== undefined && { context }) });

/**
 * A cluster of this computer's kubeconfig, as the person who types.
 * @param context absent: JOBCTL_KUBE_CONTEXT, as a worker started here takes it, else the kubeconfig's current one
 */
export async function openCluster(
  context = process.env['JOBCTL_KUBE_CONTEXT'] || undefined,
  config: Omit<ClusterConfig, 'context'> = {},
): Promise<Cluster> {
  return opened({ ...config, ...(context !== undefined && { context }) });
}

async function opened(config: ClusterConfig): Promise<Cluster> {
  const library = await kubernetesLibrary();
  const cluster = await import('../../cloud/machines/kubernetes/cluster.js');
  return cluster.openCluster(library, config);
}
