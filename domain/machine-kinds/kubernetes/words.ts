import type { Ownership } from '../../slice.js';

export const TOLERATION_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/** A Secret of the namespace, mounted read-only into every pod with mode 0400. */
export interface MountedSecret {
  readonly name: string;
  /** Absolute. */
  readonly mountPath: string;
}

/** What is mounted: exactly one of `claim`, `emptyDir` and `hostPath`. */
export interface MountedVolume {
  readonly mountPath: string;
  /** Name of a PersistentVolumeClaim of the namespace. All pods of the job mount the same one. */
  readonly claim?: string;
  /** A folder of the pod's own, gone with it. `memory`: a tmpfs, which counts as the pod's memory. */
  readonly emptyDir?: { readonly medium: 'disk' | 'memory'; readonly size?: string };
  /** A folder of the node. */
  readonly hostPath?: string;
  readonly readOnly?: true;
}

export interface Toleration {
  /** Absent: every taint. */
  readonly key?: string;
  readonly operator: 'Equal' | 'Exists';
  readonly value?: string;
  /** Absent: every effect. */
  readonly effect?: (typeof TOLERATION_EFFECTS)[number];
}

/** The `kubernetes` section of a job file after defaults and checks: the pods of one slice. */
export interface KubernetesRequest {
  /** Of the kubeconfig. Absent: the worker's default cluster. */
  readonly context?: string;
  readonly namespace: string;
  readonly image: string;
  /** Pods of one slice, one host each. */
  readonly workers: number;
  /** Per pod. */
  readonly gpus?: { readonly count: number; readonly type: string; readonly resource: string };
  /** Kubernetes quantities, per pod; both request and limit. */
  readonly cpus?: string;
  readonly memory?: string;
  /** GKE's labels of a TPU node pool, and what one pod takes of it. */
  readonly tpu?: {
    /** jobctl's name, such as `v5litepod-16`. */
    readonly type: string;
    readonly accelerator: string;
    readonly topology: string;
    readonly chips: number;
  };
  readonly nodeSelector: Readonly<Record<string, string>>;
  readonly tolerations: readonly Toleration[];
  readonly serviceAccount?: string;
  readonly priorityClass?: string;
  readonly secrets: readonly MountedSecret[];
  readonly volumes: readonly MountedVolume[];
  readonly labels: Readonly<Record<string, string>>;
  /** After this time without all pods running, the slice gives back what it has. Seconds. */
  readonly gangSeconds: number;
}

/** The section itself, as a job's spec has it. */
export interface KubernetesSection {
  readonly kubernetes: KubernetesRequest;
}

/** An Indexed Job, its headless Service and its ConfigMap, all three called `objectName(name)`. */
export interface KubernetesRef {
  readonly kind: 'kubernetes';
  /** Absent: the worker's default cluster. */
  readonly context?: string;
  readonly namespace: string;
  /** The context, else `DEFAULT_CLUSTER`: clusters are to pods what zones are to TPUs. */
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  /** Never given: each slice is asked for alone. */
  readonly slices?: number;
  readonly request?: string;
}

/** One Indexed Job, complete: the same plan always makes the same manifest. */
export interface KubernetesPlan {
  readonly ref: KubernetesRef;
  readonly ownership: Ownership;
  readonly pods: Omit<KubernetesRequest, 'context' | 'namespace'>;
  /** After so many hours without a run and without a word of jobctl, the pods end by themselves. */
  readonly agentHours: number;
}

/** `zone` of a ref whose job names no context. */
export const DEFAULT_CLUSTER = 'default-cluster';

/** The pod's container. The agent is its PID 1. */
export const CONTAINER = 'main';
