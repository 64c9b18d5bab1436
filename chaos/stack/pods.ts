import { KubernetesClient } from '../../rehearsal/test/kubernetes-client.js';

const JOB_LABEL = 'batch.kubernetes.io/job-name';
const JOBCTL_NAME = /^jc-/u;
/** Marks these calls, so that the journal tells them from jobctl's own. */
const SOMEBODY = { 'user-agent': 'somebody' };
const CORE = '/api/v1/namespaces/default';
const BATCH = '/apis/batch/v1/namespaces/default';

export interface RunningPod {
  readonly name: string;
  /** Name of its Job, which is the slice's name. */
  readonly slice: string;
}

interface SeenPod {
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
  };
  readonly status: { readonly phase: string };
}

/** The rehearsed Kubernetes, as a person with kubectl has it. All chaos jobs are in the namespace `default`. */
export class PodsOfStack {
  readonly #kubeconfig: string;

  constructor(kubeconfig: string) {
    this.#kubeconfig = kubeconfig;
  }

  /** Pods that run and are not being deleted. */
  async running(): Promise<readonly RunningPod[]> {
    const { items } = await this.#call<{ items: readonly SeenPod[] }>('GET', `${CORE}/pods`);
    return items.flatMap(({ metadata: { name, labels, deletionTimestamp }, status }) => {
      const slice = labels?.[JOB_LABEL];
      const runs = status.phase === 'Running' && deletionTimestamp === undefined;
      return runs && slice !== undefined ? [{ name, slice }] : [];
    });
  }

  /** Number of Jobs, pods, ConfigMaps and Services with names of jobctl's form. */
  async count(): Promise<number> {
    const paths = [`${BATCH}/jobs`, ...['pods', 'configmaps', 'services'].map((plural) => `${CORE}/${plural}`)];
    const lists = await Promise.all(
      paths.map((path) => this.#call<{ items: readonly Pick<SeenPod, 'metadata'>[] }>('GET', path)),
    );
    return lists.flatMap(({ items }) => items.filter(({ metadata }) => JOBCTL_NAME.test(metadata.name))).length;
  }

  async evict(name: string): Promise<void> {
    await this.#call('POST', `${CORE}/pods/${name}/eviction`, {
      ...{ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace: 'default' } },
    });
  }

  async deletePod(name: string, gracePeriodSeconds: number): Promise<void> {
    await this.#call('DELETE', `${CORE}/pods/${name}`, { gracePeriodSeconds });
  }

  async deleteJob(name: string): Promise<void> {
    await this.#call('DELETE', `${BATCH}/jobs/${name}`, { propagationPolicy: 'Background' });
  }

  async makeConfigMap(name: string, labels: object): Promise<void> {
    await this.#call('POST', `${CORE}/configmaps`, { metadata: { name, labels }, data: { of: 'somebody else' } });
  }

  /** Each call has a new client, because the rehearsal may have been killed and started again since the last one. */
  async #call<Answer>(method: string, path: string, body?: object): Promise<Answer> {
    const { status, text } = await new KubernetesClient(this.#kubeconfig).call(method, path, body, SOMEBODY);
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text) as Answer;
  }
}
