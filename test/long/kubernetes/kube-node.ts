import { existsSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';
import { type Cluster, openCluster } from '../../../cloud/machines/kubernetes/cluster.js';
import * as library from '../../../cloud/machines/kubernetes/library.js';

/** The program that runs a one-node Kubernetes and imports images into it: of the developers' folder beside the checkout, unless named. */
export const KUBE_NODE = process.env['JOBCTL_KUBE_NODE'] ?? resolve('../shared/bin/kube-node');

const KUBECONFIG = '/var/tmp/kube-node/kubeconfig';

/** A real cluster: of `KUBECONFIG`, or kube-node's. @throws where there is none, with what to do: such tests never skip */
export function realCluster(): { readonly cluster: Cluster; readonly kubeconfig: string } {
  const kubeconfig = process.env['KUBECONFIG'] ?? KUBECONFIG;
  if (existsSync(kubeconfig)) return { cluster: openCluster(library, { kubeconfig }), kubeconfig };
  throw new Error(
    `no Kubernetes: ${kubeconfig} is not there; start one (\`${KUBE_NODE} up\`), or name it in KUBECONFIG`,
  );
}

/** Of a node without a registry: images are imported by name, and pods pull never. */
export function importImage(name: string, rootfs: string): void {
  execFileSync(KUBE_NODE, ['image', name, rootfs], { stdio: ['ignore', 'ignore', 'inherit'] });
}
