import type { FastifyInstance } from 'fastify';
import type { Journal } from '../journal.js';
import type { RehearsedKubernetes } from '../kubernetes/cluster.js';
import { kubernetesSettings } from '../kubernetes/nodes.js';
import { AdminError, parse } from './admin-error.js';

export interface KubernetesParts {
  readonly journal: Journal;
  readonly kubernetes: RehearsedKubernetes | undefined;
}

/** GET returns the rehearsed nodes; POST replaces them. */
export function addKubernetes(app: FastifyInstance, { journal, kubernetes }: KubernetesParts): void {
  const cluster = (): RehearsedKubernetes => {
    if (kubernetes !== undefined) return kubernetes;
    throw new AdminError(404, 'this rehearsal runs no Kubernetes; start it with --kubernetes-port');
  };
  app.get('/admin/kubernetes', () => cluster().settings);
  app.post('/admin/kubernetes', (request) => setNodes(journal, cluster(), request.body ?? {}));
}

async function setNodes(journal: Journal, cluster: RehearsedKubernetes, body: unknown): Promise<object> {
  await cluster.configure(parse(kubernetesSettings, body));
  journal.record('admin', 'kubernetes', { ...(body as object) });
  return cluster.settings;
}
