import { listEveryVm } from '../../cloud/machines/compute-engine/audit.js';
import { listEverything } from '../../cloud/machines/cloud-tpu/audit.js';
import type { AuditedResource, OnUnread } from '../../cloud/machines/audited-resource.js';
import { MACHINE_KINDS, type MachineKindName } from '../../domain/machines.js';
import { type CliContext, bucketOf } from '../place/context.js';
import type { Environment } from '../terminal/home.js';
import { diagnoseCloudTpu } from './cloud-tpu.js';
import type { Diagnosis, DoctorFlags } from './finding.js';
import { diagnoseKubernetes } from './kubernetes.js';
import { listMachinesForAudit } from '../../cloud/machines/own/pool-record.js';
import { openReader } from '../place/connect.js';
import { kubernetesLibrary } from '../place/kubernetes-cluster.js';

/** Operations of the command line at the provider itself, without a worker. Each kind of machines has one `CliKind`. */
export interface CliKind {
  /**
   * Lists everything that an account holds, whoever owns it. The auditor has its own reader, which shares no code with the
   * adapter that it judges.
   * @param onUnread receives each part that could not be read
   * @throws CloudRefused, CloudUnavailable if nothing could be asked
   */
  readonly audit: (account: string, context: CliContext, onUnread: OnUnread) => Promise<readonly AuditedResource[]>;
  /** The flag of `jobctl doctor` that checks the provider. */
  readonly doctorFlag: 'gcp' | 'kubernetes' | 'server';
  /** Absent: another kind serves the flag, or none does. */
  readonly doctor?: {
    readonly looksAt: string;
    readonly diagnose: (file: string | undefined, flags: DoctorFlags, env: Environment) => Promise<Diagnosis>;
  };
}

/** Audits the namespaces in which jobs of this kind ran. */
function auditNamespace(machines: 'kubernetes' | 'ray-cluster'): CliKind['audit'] {
  return async (account, { kubeconfig }, onUnread) => {
    const { listNamespaceForAudit } = await import('../../cloud/machines/kubernetes/audit.js');
    return listNamespaceForAudit(await kubernetesLibrary(), account, machines, kubeconfig, onUnread);
  };
}

/** Endpoint and token file that an auditor uses; empty: Google's. */
function restOf({ tpuRestEndpoint: restEndpoint, accessTokenFile }: CliContext) {
  return {
    ...(restEndpoint === undefined ? {} : { restEndpoint }),
    ...(accessTokenFile === undefined ? {} : { accessTokenFile }),
  };
}

const CLI_KINDS: { readonly [K in MachineKindName]: CliKind } = {
  'cloud-tpu': {
    audit: (googleProject, context, onUnread) => listEverything({ googleProject, ...restOf(context) }, onUnread),
    doctorFlag: 'gcp',
    doctor: {
      looksAt: 'a Google project, its rights, limits and network',
      diagnose: diagnoseCloudTpu,
    },
  },
  kubernetes: {
    audit: auditNamespace('kubernetes'),
    doctorFlag: 'kubernetes',
    doctor: {
      looksAt: 'a Kubernetes cluster: reach, rights, namespace, quota, GPUs',
      diagnose: diagnoseKubernetes,
    },
  },
  machines: {
    audit: async (pool, context) =>
      listMachinesForAudit(await openReader(bucketOf(context, 'own machines cannot be audited')), pool),
    doctorFlag: 'server',
  },
  // The same cluster: `jobctl doctor --kubernetes` also checks for KubeRay.
  'ray-cluster': { audit: auditNamespace('ray-cluster'), doctorFlag: 'kubernetes' },
  'compute-engine': {
    audit: (googleProject, context, onUnread) => listEveryVm({ googleProject, ...restOf(context) }, onUnread),
    doctorFlag: 'gcp',
  },
};

export const cliKind = (kind: MachineKindName): CliKind => CLI_KINDS[kind];
export const cliKinds = (): readonly CliKind[] => MACHINE_KINDS.map(cliKind);
