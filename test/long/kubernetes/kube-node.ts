import { resolve } from 'node:path';

/** The program that runs a one-node Kubernetes and imports images into it: of the developers' folder beside the checkout, unless named. */
export const KUBE_NODE = process.env['JOBCTL_KUBE_NODE'] ?? resolve('../shared/bin/kube-node');
