import { createCloudTpu } from '../cloud/machines/cloud-tpu/google-tpu.js';
import { createComputeEngine } from '../cloud/machines/compute-engine/compute-engine.js';
import { KubernetesBuilds } from '../cloud/builds/kubernetes-builds.js';
import type { Builds } from '../cloud/builds/port.js';
import { createKubernetes } from '../cloud/machines/kubernetes/kubernetes.js';
import { createRayClusters } from '../cloud/machines/ray-cluster/kuberay.js';
import type { ClusterConfig } from '../cloud/machines/kubernetes/cluster.js';
import type { MachineAdapters } from '../cloud/machines/port.js';
import type { WorkerConfig } from './config.js';
import { machineKind, type MachineKindName } from '../domain/machines.js';
import type { CloudCallHook, WorkerMeter } from './metrics.js';

/** The parts of a configuration that say where the providers are. */
interface ProviderConfig {
  readonly cloud: WorkerConfig['cloud'];
  readonly kubernetes: ClusterPlace & Pick<WorkerConfig['kubernetes'], 'listingPeriods'>;
}
type ClusterPlace = Pick<WorkerConfig['kubernetes'], 'kubeconfig' | 'context'>;

/** Makes the adapter of each kind of machines that a provider has, by the configuration. Each connects at its first call. */
export function openMachines(
  { cloud, kubernetes }: ProviderConfig,
  meter: Pick<WorkerMeter, 'cloudCalls'>,
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
export function clusterConfig({ kubeconfig, context: usual }: ClusterPlace, context = usual): ClusterConfig {
  return { ...(kubeconfig === undefined ? {} : { kubeconfig }), ...(context === undefined ? {} : { context }) };
}

/** Allows bursts of four seconds' calls, like the adapter's default rate. */
const callRate = (callsPerSecond: number) => ({ callsPerSecond, burst: callsPerSecond * 4 });

function endpointOf(address: string, insecure: boolean) {
  const colon = address.lastIndexOf(':');
  return { host: address.slice(0, colon), port: Number(address.slice(colon + 1)), insecure };
}
