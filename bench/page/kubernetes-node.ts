import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { messageOf } from '../../domain/errors.js';
import { delaysOf, clockFor, type Delay } from '../logs/followed-delays.js';
import { KUBE_NODE, realCluster } from '../../test/long/kubernetes/kube-node.js';
import { debianImage } from '../../test/long/kubernetes/pod-images.js';
import { openRealCluster } from '../../test/long/kubernetes/real-cluster.js';

/** Suffixes of the namespaces that measures open: `machines-SUFFIX`. */
const [SUBMIT, LOGS] = ['bench', 'bench-logs'];
const POD = 'late';

/** How to get a Kubernetes whose pods are measured, or undefined if one is here. */
export function kubernetesIsAbsent(): string | undefined {
  if (!existsSync(KUBE_NODE)) return 'start a node, and name its program in JOBCTL_KUBE_NODE (bench/kubernetes.ts)';
  try {
    realCluster();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

/** Delays of `kubectl logs -f` of a pod that prints the time for so long. */
export async function podDelays(seconds: number): Promise<readonly Delay[]> {
  const real = await openRealCluster(LOGS);
  try {
    const image = await debianImage(real.cluster);
    const shell = ['--command', '--', 'bash', '-c', clockFor(seconds)];
    real.kubectl('run', POD, `--image=${image}`, '--image-pull-policy=Never', '--restart=Never', ...shell);
    real.kubectl('wait', '--for=condition=Ready', `pod/${POD}`, '--timeout=120s');
    return await delaysOf([KUBE_NODE, 'kubectl', '-n', real.namespace, 'logs', '-f', POD]);
  } finally {
    await real.close();
  }
}

/** Has the namespaces of an interrupted measure deleted. */
export function leaveKubernetes(): void {
  if (kubernetesIsAbsent() !== undefined) return;
  const names = [SUBMIT, LOGS].map((suffix) => `machines-${suffix}`);
  const words = ['kubectl', 'delete', 'namespace', ...names, '--ignore-not-found', '--wait=false'];
  execFileSync(KUBE_NODE, words, { stdio: 'ignore' });
}
