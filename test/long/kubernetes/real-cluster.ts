import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Cluster } from '../../../cloud/machines/kubernetes/cluster.js';
import { createKubernetes } from '../../../cloud/machines/kubernetes/kubernetes.js';
import type { Machines } from '../../../cloud/machines/port.js';
import { resolveJob } from '../../../domain/job-file/resolve.js';
import { KINDS } from '../../../domain/machine-kinds/registry.js';
import type { KubernetesPlan } from '../../../domain/machine-kinds/kubernetes/words.js';
import { formatProblems } from '../../../domain/problem.js';
import { until } from '../../until.js';
import { importImage, KUBE_NODE, realCluster } from './kube-node.js';

/** An image with a shell and nothing else, imported by name: no registry can be reached. */
export const IMAGE = 'docker.io/local/jobctl-machines:1';

function importShell(): void {
  const root = mkdtempSync(join(tmpdir(), 'jobctl-image-'));
  for (const folder of ['bin', 'tmp', 'root', 'etc']) mkdirSync(join(root, folder));
  copyFileSync('/bin/busybox', join(root, 'bin/busybox'));
  for (const tool of ['sh', 'sleep', 'cat', 'rm', 'kill', 'tail', 'head', 'dd'])
    symlinkSync('busybox', join(root, 'bin', tool));
  importImage(IMAGE, root);
  rmSync(root, { recursive: true });
}

/** Shared with other tests: all happens in namespaces of our own. */
export interface RealCluster {
  readonly cluster: Cluster;
  readonly port: Machines<'kubernetes'>;
  readonly kubeconfig: string;
  readonly namespace: string;
  /** A plan of one slice in the namespace, from a section of a job file. */
  plan(name: string, section?: object, ownership?: object): KubernetesPlan;
  kubectl(...words: string[]): string;
  close(): Promise<void>;
}

export async function openRealCluster(suffix: string): Promise<RealCluster> {
  const { cluster, kubeconfig } = realCluster();
  importShell();
  const namespace = `machines-${suffix}`;
  const periods = { urgentMs: 200, quietMs: 1000 };
  const port = createKubernetes({ cluster: { kubeconfig }, periods });
  const kubectl = (...words: string[]): string =>
    execFileSync(KUBE_NODE, ['kubectl', '-n', namespace, ...words], { encoding: 'utf8', stdio: 'pipe' });
  await deleteNamespace(cluster, namespace);
  await cluster.core.createNamespace({ body: { metadata: { name: namespace } } });
  await until('the namespace has its service account', async () =>
    cluster.core.readNamespacedServiceAccount({ namespace, name: 'default' }).catch(() => undefined),
  );
  return {
    ...{ cluster, port, kubeconfig, namespace, kubectl },
    plan: (name, section = {}, ownership = {}) => planIn(namespace, name, section, ownership),
    close: async () => {
      await port.close();
      await deleteNamespace(cluster, namespace);
    },
  };
}

async function deleteNamespace({ core }: Cluster, name: string): Promise<void> {
  await core.deleteNamespace({ name }).catch(() => undefined);
  const isGone = async (): Promise<boolean> =>
    core.readNamespace({ name }).then(
      () => false,
      () => true,
    );
  await until(`namespace ${name} is gone`, isGone, 90_000);
}

function planIn(namespace: string, name: string, section: object, ownership: object): KubernetesPlan {
  const job = resolveJob({ kubernetes: { namespace, image: IMAGE, ...section }, command: { run: 'true' } });
  assert.ok(job.ok && 'kubernetes' in job.spec, job.ok ? '' : formatProblems(job.problems));
  const plan = KINDS.kubernetes.plan(job.spec, {
    ...{ owner: 'own-1', googleProject: '', zone: 'default-cluster', name, job: 'train', run: 'run-1', generation: 1 },
    ...{ loginUser: 'me', publicKey: 'k' },
  });
  return { ...plan, ownership: { ...plan.ownership, ...ownership } };
}
