import type { EtcPlan } from '../vm/etc-files.js';
import { INDEX_KEY } from './admission.js';
import type { Job, Pod } from './objects.js';
import type { ObjectStore } from './object-store.js';
import { HEAD, headService, NODE_TYPE_LABEL } from './ray-pods.js';
import { JOBS, PODS, RAY_CLUSTERS } from './resources.js';

/** Third octets of the pods' addresses 127.S.a.b. TPU VMs get there only after 60,000 other addresses. */
const [FIRST, LAST] = [240, 254];

/**
 * The pods' addresses. The first pod of a Job or a RayCluster reserves addresses for all indexes of the Job, or for the cluster's
 * head. So each pod's /etc/hosts can have the names that a cluster's DNS would give (`JOB-0.SERVICE`, the head's Service).
 */
export class PodAddresses {
  readonly #store: ObjectStore;
  readonly #subnetOctet: number;
  /** Keyed by owner and index. */
  readonly #given = new Map<string, string>();
  #last = 0;

  constructor(store: ObjectStore, subnetOctet: number) {
    [this.#store, this.#subnetOctet] = [store, subnetOctet];
    for (const pod of store.list<Pod>(PODS)) if (pod.status.podIP) this.#given.set(keyOf(pod), pod.status.podIP);
  }

  of(pod: Pod): string {
    return this.#addressOf(keyOf(pod));
  }

  namesOf(pod: Pod): Pick<EtcPlan, 'hosts' | 'hostname'> {
    const { metadata, spec } = pod;
    const hostname = spec.hostname ?? metadata.name;
    const cluster = ownerOf(pod, 'RayCluster');
    if (cluster !== undefined) {
      const service = `${headService(cluster.name)}.${metadata.namespace}`;
      const head = {
        hostname: [`${service}.svc.cluster.local`, service, headService(cluster.name)].join(' '),
        address: this.#addressOf(`${cluster.uid}/${HEAD}`),
      };
      return { hostname, hosts: [{ hostname, address: this.of(pod) }, head] };
    }
    const job = ownerOf(pod, 'Job');
    const found = job && (this.#store.byUid(JOBS, job.uid) as Job | undefined);
    if (job === undefined || found === undefined) return { hostname, hosts: [{ hostname, address: this.of(pod) }] };
    const hosts = Array.from({ length: found.spec.completions }, (_, index) => {
      const own = `${job.name}-${index}`;
      const service = spec.subdomain === undefined ? [] : [`${own}.${spec.subdomain}`];
      const full = service.map((name) => `${name}.${metadata.namespace}.svc.cluster.local`);
      return { hostname: [...full, ...service, own].join(' '), address: this.#addressOf(`${job.uid}/${index}`) };
    });
    return { hostname, hosts };
  }

  /** Frees the addresses of Jobs, RayClusters and pods that are gone. */
  free(): void {
    const pods = this.#store.list<Pod>(PODS);
    const owners = new Set(
      [JOBS, RAY_CLUSTERS].flatMap((owner) => this.#store.list(owner).map(({ metadata }) => metadata.uid)),
    );
    const used = new Set(pods.map(keyOf));
    for (const key of this.#given.keys())
      if (!used.has(key) && !owners.has(key.split('/')[0] ?? '')) this.#given.delete(key);
  }

  #addressOf(key: string): string {
    const address = this.#given.get(key) ?? this.#next();
    this.#given.set(key, address);
    return address;
  }

  #next(): string {
    const taken = new Set(this.#given.values());
    const count = (LAST - FIRST + 1) * 254;
    for (let tries = 0; tries < count; tries += 1) {
      this.#last = (this.#last + 1) % count;
      const address = `127.${this.#subnetOctet}.${FIRST + Math.floor(this.#last / 254)}.${(this.#last % 254) + 1}`;
      if (!taken.has(address)) return address;
    }
    throw new RangeError(`more than ${count} pods: no address is left in 127.${this.#subnetOctet}.${FIRST}.0`);
  }
}

const ownerOf = ({ metadata }: Pod, wanted: 'Job' | 'RayCluster') =>
  metadata.ownerReferences?.find(({ kind }) => kind === wanted);

function keyOf(pod: Pod): string {
  const { metadata } = pod;
  const job = ownerOf(pod, 'Job');
  if (job !== undefined) return `${job.uid}/${metadata.annotations?.[INDEX_KEY] ?? ''}`;
  const cluster = ownerOf(pod, 'RayCluster');
  return cluster !== undefined && metadata.labels?.[NODE_TYPE_LABEL] === HEAD ? `${cluster.uid}/${HEAD}` : metadata.uid;
}
