import type { AdoptedHosts } from '../cloud/machines/cloud-tpu/adopted-nodes.js';
import { createCloudTpu } from '../cloud/machines/cloud-tpu/google-tpu.js';
import { createComputeEngine } from '../cloud/machines/compute-engine/compute-engine.js';
import { KubernetesBuilds } from '../cloud/builds/kubernetes-builds.js';
import type { Builds } from '../cloud/builds/port.js';
import { createKubernetes } from '../cloud/machines/kubernetes/kubernetes.js';
import { createRayClusters } from '../cloud/machines/ray-cluster/kuberay.js';
import { type ClusterConfig, openCluster } from '../cloud/machines/kubernetes/cluster.js';
import type { MachineAdapters, GuestAttributesPort, Machines } from '../cloud/machines/port.js';
import type { WorkerConfig } from './config.js';
import { machineKind, type MachineKindName, type MachineRef } from '../domain/machines.js';
import type { CloudCallHook, WorkerMeter } from './telemetry.js';
import { GoogleRest } from '../cloud/google-project/rest.js';
import { GuestHostKeys, StoredHostKeys } from '../cloud/hosts/stored-host-keys.js';
import { hostsByReach, type Fleet } from '../cloud/hosts/host-fleet.js';
import { OsLogin } from '../cloud/hosts/os-login.js';
import { createPodHosts } from '../cloud/hosts/pod-fleet.js';
import { type HostsPort, HostUnreachable, type SshTarget } from '../cloud/hosts/port.js';
import { createSshHosts } from '../cloud/hosts/ssh-fleet.js';
import * as library from '../cloud/machines/kubernetes/library.js';
import type { SecretStore } from '../cloud/secrets/port.js';
import type { StorePort } from '../cloud/store/port.js';
import { secretNamed } from '../domain/secrets.js';

/** The parts of a configuration that say where the providers are. */
interface ProviderConfig {
  readonly cloud: WorkerConfig['cloud'];
  readonly kubernetes: ClusterPlace & Pick<WorkerConfig['kubernetes'], 'listingPeriods'>;
}
type ClusterPlace = Pick<WorkerConfig['kubernetes'], 'kubeconfig' | 'context'>;

/**
 * Makes the adapter of each kind of machines that a provider has, by the configuration. Each connects at its first call.
 * @param adoptedHosts absent: nothing is adopted
 */
export function openMachines(
  { cloud, kubernetes }: ProviderConfig,
  meter: Pick<WorkerMeter, 'cloudCalls'>,
  adoptedHosts?: () => AdoptedHosts,
): Omit<MachineAdapters, 'machines'> {
  const callsOf = (kind: MachineKindName): CloudCallHook => meter.cloudCalls(machineKind(kind).metricsName ?? kind);
  const { accessTokenFile } = cloud;
  const token = accessTokenFile === undefined ? {} : { accessTokenFile };
  const rest = cloud.tpuRestEndpoint === undefined ? {} : { rest: cloud.tpuRestEndpoint };
  const pods = {
    cluster: { onCall: callsOf('kubernetes'), ...clusterConfig(kubernetes) },
    ...(kubernetes.listingPeriods === undefined ? {} : { periods: kubernetes.listingPeriods }),
  };
  const rates = {
    ...(cloud.callsPerSecond === undefined ? {} : { budget: callRate(cloud.callsPerSecond) }),
    ...(cloud.listingPeriods === undefined ? {} : { periods: cloud.listingPeriods }),
  };
  return {
    'cloud-tpu': createCloudTpu({
      onCall: callsOf('cloud-tpu'),
      ...(adoptedHosts && { adoptedHosts }),
      ...(cloud.tpuEndpoint === undefined
        ? {}
        : { endpoint: { ...endpointOf(cloud.tpuEndpoint, cloud.insecure), ...rest, ...token } }),
      ...rates,
    }),
    'compute-engine': createComputeEngine({
      onCall: callsOf('compute-engine'),
      ...(cloud.tpuRestEndpoint === undefined ? {} : { endpoint: cloud.tpuRestEndpoint, ...token }),
      ...rates,
    }),
    kubernetes: createKubernetes(pods),
    'ray-cluster': createRayClusters(pods),
  };
}

/** Images that clusters build, in the same clusters as pods. */
export function openBuilds({ kubernetes }: WorkerConfig, meter: WorkerMeter): Builds {
  const { cpus, memory, serviceAccount, ...builds } = kubernetes.builds;
  const settings = {
    ...builds,
    ...(cpus === undefined ? {} : { cpus }),
    ...(memory === undefined ? {} : { memory }),
    ...(serviceAccount === undefined ? {} : { serviceAccount }),
  };
  return new KubernetesBuilds(settings, { onCall: meter.cloudCalls('kubernetes'), ...clusterConfig(kubernetes) });
}

/** The address of the cluster. @param context the job's, if it names one */
function clusterConfig({ kubeconfig, context: usual }: ClusterPlace, context = usual): ClusterConfig {
  return { ...(kubeconfig === undefined ? {} : { kubeconfig }), ...(context === undefined ? {} : { context }) };
}

/** Allows bursts of four seconds' calls, like the adapter's default rate. */
const callRate = (callsPerSecond: number) => ({ callsPerSecond, burst: callsPerSecond * 4 });

function endpointOf(address: string, insecure: boolean) {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)), insecure };
}

/** Asks the adapter of the ref's kind. Some providers tell nothing about their hosts. */
export function guestAttributesOf(adapters: Partial<MachineAdapters>): GuestAttributesPort {
  const ofKind = ({ kind }: MachineRef): Machines | undefined => adapters[kind];
  return {
    readGuestAttributes: async (ref) =>
      (await ofKind(ref)?.readGuestAttributes?.(ref)) ?? {
        kind: 'disabled',
        message: `${machineKind(ref.kind).provider} tells no host keys`,
      },
    readNodeMetadata: async (ref) => (await ofKind(ref)?.readNodeMetadata?.(ref)) ?? {},
  };
}

/** The fleets that the worker's configuration describes. Known host keys are kept in the store. */
interface OpenHosts {
  readonly hosts: HostsPort;
  /** Hosts that SSH reaches, for the code that looks after a pool's own machines. */
  readonly ssh: Fleet<SshTarget>;
}

/** @param secrets holds the keys of single machines; absent: no store is configured */
export function openHosts(
  { ssh: settings, cloud, kubernetes }: WorkerConfig,
  store: StorePort,
  machines: GuestAttributesPort,
  secrets: SecretStore | undefined,
): OpenHosts {
  const { port, address, proxyCommand, hostKeyPolicy, hostKeyWaitMs } = settings;
  const guest = new GuestHostKeys(machines, hostKeyWaitMs);
  // A Cloud TPU endpoint that is not Google's has no OS Login either.
  const osLogin =
    cloud.tpuEndpoint === undefined
      ? new OsLogin((googleProject) => new GoogleRest({ googleProject }), machines)
      : undefined;
  const ssh = withKeysOfMachines(
    secrets,
    createSshHosts({
      port,
      address,
      hostKeys: new StoredHostKeys({ store, guest, policy: hostKeyPolicy }),
      ...(proxyCommand !== undefined && { proxyCommand }),
      hostnameOf: (target) => guest.hostnameOf(target),
      ...(osLogin && { otherUserOf: (target, publicKey) => osLogin.userOf(target, publicKey) }),
    }),
  );
  const podHosts = createPodHosts(async (context) => openCluster(library, clusterConfig(kubernetes, context)));
  return { hosts: hostsByReach({ ssh, pod: podHosts }), ssh };
}

/** If the pool file names a key for a machine, that key is used whichever key the job's other hosts take. */
function withKeysOfMachines(secrets: SecretStore | undefined, fleet: Fleet<SshTarget>): Fleet<SshTarget> {
  return {
    ...fleet,
    connect: async (target, key, signal) => {
      const reference = target.own?.key;
      if (reference === undefined) return fleet.connect(target, key, signal);
      const privateKey = await secrets?.read(secretNamed(reference) ?? '').catch((error: unknown) => error as Error);
      if (typeof privateKey === 'string') return fleet.connect(target, { privateKey }, signal);
      const why = privateKey?.message ?? (secrets ? 'there is no such secret' : 'this worker has no secret store');
      throw new HostUnreachable(`machine at ${target.address}: its key ${reference} cannot be read: ${why}`);
    },
  };
}
