import type { Ownership } from '../../slice.js';
import { shortHash } from '../../content-hash.js';

export const TOLERATION_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'] as const;

/** A Secret of the namespace, mounted read-only into every pod with mode 0400. */
export interface MountedSecret {
  readonly name: string;
  /** Absolute path. */
  readonly mountPath: string;
}

/** A mounted volume: exactly one of `claim`, `emptyDir` and `hostPath`. */
export interface MountedVolume {
  readonly mountPath: string;
  /** Name of a PersistentVolumeClaim of the namespace. All pods of the job mount the same one. */
  readonly claim?: string;
  /** A folder of the pod itself, deleted with it. `memory`: a tmpfs, which counts as the pod's memory. */
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

/** Fields that all pods of a slice share, for every kind of machines made of pods. */
export interface PodFields {
  /** Context of the kubeconfig. Absent: the worker's default cluster. */
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
  /** Seconds after which the slice returns its pods if not all of them run. */
  readonly gangSeconds: number;
}

/** Resources of one pod. */
export interface PodSize {
  readonly gpus?: { readonly count: number; readonly type: string; readonly resource: string };
  /** Kubernetes quantities, both request and limit. */
  readonly cpus?: string;
  readonly memory?: string;
}

/** The `kubernetes` section of a job file after defaults and checks: the pods of one slice. */
export interface KubernetesRequest extends PodFields, PodSize {
  /** Pods of one slice, one host each. */
  readonly workers: number;
  /** GKE's labels of a TPU node pool, and the share of one pod. */
  readonly tpu?: {
    /** jobctl's name, such as `v5litepod-16`. */
    readonly type: string;
    readonly accelerator: string;
    readonly topology: string;
    readonly chips: number;
  };
}

/** The section itself, as part of a job's spec. */
export interface KubernetesSection {
  readonly kubernetes: KubernetesRequest;
}

/** A slice of pods, in a namespace of a cluster. */
export interface PodsRef {
  /** Absent: the worker's default cluster. */
  readonly context?: string;
  readonly namespace: string;
  /** The context, else `DEFAULT_CLUSTER`: a cluster is to pods as a zone is to TPUs. */
  readonly zone: string;
  /** `^[a-z][a-z0-9-]*[a-z0-9]$`, 63 characters at most. */
  readonly name: string;
  /** Never given: each slice is requested alone. */
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
  /** Hours after which the pods end by themselves if nothing runs and jobctl does not call. */
  readonly agentHours: number;
}

/** `zone` of a ref whose job names no context. */
export const DEFAULT_CLUSTER = 'default-cluster';

/** The pod's container. The agent is its PID 1. */
export const CONTAINER = 'main';

/** RFC 1123 label: namespaces, hostnames. */
export const DNS_LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
export const DNS_LABEL_RULE = 'small letters, digits and dashes; 63 at most';

/** RFC 1123 subdomain: most objects. */
export const OBJECT_NAME = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;
export const OBJECT_NAME_RULE = 'small letters, digits, dashes and dots; 253 at most';

/** A positive quantity of Kubernetes (apimachinery's resource.Quantity without exponents). */
const QUANTITY = /^(\d+(?:\.\d+)?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/;
export const QUANTITY_RULE = 'a number with m, k, M, G, T, Ki, Mi, Gi or Ti, such as 4, 500m or 64Gi';

export const isQuantity = (text: string): boolean => Number(QUANTITY.exec(text)?.[1] ?? 0) > 0;

/** Returns a number of CPUs, such as 0.5 for `500m`. @throws RangeError for a text that is not a quantity of CPUs */
export function cpusOf(quantity: string): number {
  const [, number, suffix = ''] = QUANTITY.exec(quantity) ?? [];
  const factor = { '': 1, m: 0.001, k: 1000 }[suffix];
  if (number === undefined || factor === undefined) throw new RangeError(`cpus: '${quantity}' is no number of CPUs`);
  return Number(number) * factor;
}

/**
 * Limit of a slice's name. The hostname of a pod is `<Job>-<index>`, a label of 63 characters, so there is room for `-9999`.
 */
const MOST_CHARACTERS = 58;

/** The name of a slice's objects: the slice's own, or if that is too long, its front and a hash of it. */
export function objectName(name: string, mostCharacters = MOST_CHARACTERS): string {
  if (name.length <= mostCharacters) return name;
  const hash = shortHash(name);
  return `${name.slice(0, mostCharacters - hash.length - 1).replace(/(?<!-)-+$/, '')}-${hash}`;
}
