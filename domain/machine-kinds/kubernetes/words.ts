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

/** What all pods of a slice share, whichever kind of machines they are. */
export interface PodFields {
  /** Of the kubeconfig. Absent: the worker's default cluster. */
  readonly context?: string;
  readonly namespace: string;
  readonly image: string;
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

/** What one pod takes. */
export interface PodSize {
  readonly gpus?: { readonly count: number; readonly type: string; readonly resource: string };
  /** Kubernetes quantities; both request and limit. */
  readonly cpus?: string;
  readonly memory?: string;
}

/** The `kubernetes` section of a job file after defaults and checks: the pods of one slice. */
export interface KubernetesRequest extends PodFields, PodSize {
  /** Pods of one slice, one host each. */
  readonly workers: number;
  /** GKE's labels of a TPU node pool, and what one pod takes of it. */
  readonly tpu?: {
    /** jobctl's name, such as `v5litepod-16`. */
    readonly type: string;
    readonly accelerator: string;
    readonly topology: string;
    readonly chips: number;
  };
}

/** The section itself, as a job's spec has it. */
export interface KubernetesSection {
  readonly kubernetes: KubernetesRequest;
}

/** A slice of pods, in a namespace of a cluster. */
export interface PodsRef {
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

/** An Indexed Job, its headless Service and its ConfigMap, all three called `objectName(name)`. */
export interface KubernetesRef extends PodsRef {
  readonly kind: 'kubernetes';
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
