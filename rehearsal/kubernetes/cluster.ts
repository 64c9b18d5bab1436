import { randomBytes } from 'node:crypto';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { makeFolderSync } from '../folders.js';
import { openCertificates } from '../access/certificates.js';
import { loadSnapshot, Snapshot } from '../snapshot.js';
import { detectConfinement } from '../vm/confinement.js';
import { createObject, type Draft } from './admission.js';
import { Events } from './events.js';
import { collectGarbage, defaultAccount } from './garbage.js';
import { JobController } from './job-controller.js';
import { writeKubeconfig } from './kubeconfig.js';
import { Kubelet } from './kubelet.js';
import { DEFAULT_SETTINGS, type KubernetesSettings, nodeObject } from './nodes.js';
import { recordObjects } from './object-journal.js';
import { ObjectStore, type StoredObjects } from './object-store.js';
import { PodAddresses } from './pod-addresses.js';
import { RayClusterController } from './ray-cluster-controller.js';
import { DEFINITIONS, NAMESPACES, NODES, qualified, RAY_CLUSTERS, type Resource } from './resources.js';
import { Retries } from './retries.js';
import { schedulePods } from './scheduler.js';
import { type RefusalOf, startApiServer } from './server.js';

export interface KubernetesOptions {
  /** Absolute path. Its content is kept over restarts: objects, pods' disks, the token and the kubeconfig. */
  readonly folder: string;
  /** 0: any free port. */
  readonly port: number;
  readonly subnetOctet: number;
  /** Names of this computer that callers may use beside those of loopback. */
  readonly hostNames: readonly string[];
  /** Environment of every container. */
  readonly environment: Readonly<Record<string, string>>;
  readonly record: (kind: string, subject: string, details: Readonly<Record<string, unknown>>) => void;
  readonly refusalOf: RefusalOf;
}

export interface RehearsedKubernetes {
  readonly url: string;
  /** A file with the cluster, its authority and its one token; mode 0600. */
  readonly kubeconfig: string;
  readonly settings: KubernetesSettings;
  /** Sets the nodes from now on. Pods of a removed node go on where they are. */
  configure(settings: KubernetesSettings): Promise<void>;
  /** Ends every pod's processes and the server. The state is kept. */
  close(): Promise<void>;
}

interface StoredState {
  readonly settings: KubernetesSettings;
  readonly objects: StoredObjects;
}

/** Interval between searches for events older than an hour, ms. */
const FORGET_MS = 60_000;

/**
 * A thin Kubernetes: an API server with the calls that jobctl makes, controllers of Indexed Jobs and of RayClusters, a scheduler
 * that counts, the garbage collector, and kubelets whose pods are processes of this computer (docs/adr/0067).
 */
export async function startKubernetes(options: KubernetesOptions): Promise<RehearsedKubernetes> {
  const { folder, record } = options;
  makeFolderSync(folder, 0o700);
  const file = join(folder, 'state.json');
  const stored = loadSnapshot<StoredState>(file);
  let settings = stored?.settings ?? DEFAULT_SETTINGS;
  const store = new ObjectStore(stored?.objects);
  const snapshot = new Snapshot<StoredState>(file, () => ({ settings, objects: store.stored() }));
  recordObjects(store, record);
  const events = new Events(store);
  const addresses = new PodAddresses(store, options.subnetOctet);
  const kubelet = new Kubelet(store, events, {
    ...{ folder, confinement: detectConfinement(folder), environment: options.environment, addresses, record },
  });
  const make = (resource: Resource, draft: object, namespace = ''): void =>
    void createObject(store, resource, namespace, draft as Draft);
  const loop = new ControlLoop(() => {
    defaultAccount(store, (resource, object) => make(resource, object, (object as Draft).metadata?.namespace));
    jobs.sync();
    rayClusters.sync();
    schedulePods(store, events);
    kubelet.sync();
    collectGarbage(store);
    addresses.free();
    snapshot.saveSoon();
  });
  const retries = new Retries(() => loop.wake());
  const jobs = new JobController(store, events, retries);
  const rayClusters = new RayClusterController(store, events, { retries, subnetOctet: options.subnetOctet });
  const setNodes = (): void => {
    for (const node of store.list(NODES)) store.remove(NODES, node);
    for (const node of settings.nodes) make(NODES, nodeObject(node));
  };
  setNodes();
  if (!store.get(NAMESPACES, '', 'default')) make(NAMESPACES, { metadata: { name: 'default' } });
  if (stored === undefined) make(DEFINITIONS, { metadata: { name: qualified(RAY_CLUSTERS) } });
  kubelet.adopt();
  store.onChange(() => loop.wake());
  loop.wake();
  const tls = await openCertificates(folder);
  const token = openToken(folder);
  const server = await startApiServer(
    {
      ...{ store, kubelet, token, tls, record },
      ...{ hostNames: options.hostNames, refusalOf: options.refusalOf, save: () => snapshot.save() },
    },
    options.port,
  );
  const forgetting = setInterval(() => events.forget(), FORGET_MS).unref();
  return {
    url: server.url,
    kubeconfig: writeKubeconfig(folder, { server: server.url, caFile: tls.caFile, token }),
    get settings() {
      return settings;
    },
    async configure(wanted) {
      settings = wanted;
      setNodes();
      await snapshot.save();
    },
    async close() {
      clearInterval(forgetting);
      await server.close();
      loop.stop();
      await kubelet.stop();
      await snapshot.save();
    },
  };
}

/** Runs the controllers after changes, until they make none. */
class ControlLoop {
  readonly #pass: () => void;
  #isAwake = false;
  #isStopped = false;

  constructor(pass: () => void) {
    this.#pass = pass;
  }

  wake(): void {
    if (this.#isAwake || this.#isStopped) return;
    this.#isAwake = true;
    setImmediate(() => {
      this.#isAwake = false;
      if (!this.#isStopped) this.#pass();
    });
  }

  stop(): void {
    this.#isStopped = true;
  }
}

/** The cluster's one token, made at the first start. */
function openToken(folder: string): string {
  const file = join(folder, 'token');
  if (!existsSync(file)) writeFileSync(file, randomBytes(24).toString('base64url'), { mode: 0o600 });
  return readFileSync(file, 'utf8');
}
