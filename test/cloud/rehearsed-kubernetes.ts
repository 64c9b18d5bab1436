import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Cluster, openCluster } from '../../cloud/machines/kubernetes/cluster.js';
import { createKubernetes } from '../../cloud/machines/kubernetes/kubernetes.js';
import { createRayClusters } from '../../cloud/machines/ray-cluster/kuberay.js';
import * as library from '../../cloud/machines/kubernetes/library.js';
import type { Machines } from '../../cloud/machines/port.js';
import { resolveJob } from '../../domain/job-file/resolve.js';
import type { KubernetesPlan } from '../../domain/machine-kinds/kubernetes/words.js';
import type { RayClusterPlan } from '../../domain/machine-kinds/ray-cluster/words.js';
import { KINDS } from '../../domain/machine-kinds/registry.js';
import { formatProblems } from '../../domain/problem.js';
import { startTestRehearsal } from '../../rehearsal/test/test-rehearsal.js';

/** A rehearsed Kubernetes for one test file, reached over the wire alone. */
export interface RehearsedKubernetes {
  readonly cluster: Cluster;
  readonly port: Machines<'kubernetes'>;
  readonly kubeconfig: string;
  readonly rayPort: Machines<'ray-cluster'>;
  /** What the nodes offer from now on. */
  setNodes(nodes: readonly object[]): Promise<void>;
  /** A verb of the rehearsal's admin interface. */
  admin(verb: string, body: object): Promise<void>;
  takeBack(verb: string): Promise<void>;
  stop(): Promise<void>;
}

const PERIODS = { urgentMs: 50, quietMs: 200 };

export async function startRehearsedKubernetes(): Promise<RehearsedKubernetes> {
  const stateDir = await mkdtemp(join(tmpdir(), 'kubernetes-test-'));
  const rehearsal = await startTestRehearsal({ stateDir, kubernetesPort: 0 });
  const { kubeconfig = '', admin } = rehearsal.endpoints;
  const tell = async (method: 'POST' | 'DELETE', verb: string, body?: object): Promise<void> => {
    const sent = body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) };
    const response = await fetch(`${admin}/admin/${verb}`, { method, ...sent });
    assert.ok(response.ok, await response.text());
  };
  const options = { cluster: { kubeconfig }, periods: PERIODS };
  const port = createKubernetes(options);
  const rayPort = createRayClusters(options);
  const cluster = openCluster(library, { kubeconfig });
  return {
    ...{ cluster, port, rayPort, kubeconfig },
    setNodes: (nodes) => tell('POST', 'kubernetes', { nodes }),
    admin: (verb, body) => tell('POST', verb, body),
    takeBack: (verb) => tell('DELETE', verb),
    async stop() {
      await Promise.all([port.close(), rayPort.close()]);
      await rehearsal.stop();
      // Processes of pods that are just ending may still write there.
      await rm(stateDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
}

/** A plan of one slice in `default`, from a section of a job file. */
export function rehearsedPlan(name: string, section: object = {}): KubernetesPlan {
  const job = resolveJob({ kubernetes: { image: 'train:1', ...section }, command: { run: 'true' } });
  assert.ok(job.ok && 'kubernetes' in job.spec, job.ok ? '' : formatProblems(job.problems));
  return KINDS.kubernetes.plan(job.spec, placeOf(name));
}

/** The same, with Ray's stand-in in its image. */
export function rehearsedRayPlan(name: string, section: object = {}): RayClusterPlan {
  const full = { image: 'ray-train:1', ray_version: '2.60.0', workers: { max: 2 }, ...section };
  const job = resolveJob({ ray_cluster: full, command: { run: 'true' } });
  assert.ok(job.ok && 'ray_cluster' in job.spec, job.ok ? '' : formatProblems(job.problems));
  return KINDS['ray-cluster'].plan(job.spec, placeOf(name));
}

const placeOf = (name: string) => ({
  ...{ owner: 'own-1', googleProject: '', zone: 'default-cluster', name, job: 'train', run: 'run-1', generation: 1 },
  ...{ loginUser: 'me', publicKey: 'k' },
});
