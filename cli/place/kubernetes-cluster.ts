import type { Cluster, ClusterConfig, KubernetesLibrary } from '../../cloud/machines/kubernetes/cluster.js';
import type { CliContext } from './context.js';
import { loadFrom } from './packages.js';

/** Loads the Kubernetes client, which is installed when first needed (docs/adr/0061). @throws CliError if it cannot be */
export const kubernetesLibrary = (): Promise<KubernetesLibrary> =>
  loadFrom<KubernetesLibrary>('@jobctl/worker', 'kubernetes-library');

/** Opens clusters of the kubeconfig for the verb's context: the local stack has a separate kubeconfig. */
export const clustersOf =
  ({ kubeconfig }: Pick<CliContext, 'kubeconfig'>) =>
  (context: string | undefined): Promise<Cluster> =>
    kubeconfig === undefined ? openCluster(context) : opened({ kubeconfig, ...(context !== undefined && { context }) });

/**
 * Opens a cluster of this computer's kubeconfig, with the rights of the user who types.
 * @param context absent: JOBCTL_KUBE_CONTEXT, as for a worker started here, or else the kubeconfig's current context
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
