/** Kubernetes objects in JSON, as far as the rehearsal reads them. Other fields that a client sends are kept. */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface Metadata {
  readonly name: string;
  /** Absent for an object of the cluster. */
  readonly namespace?: string;
  readonly generateName?: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly generation?: number;
  /** RFC 3339, whole seconds. */
  readonly creationTimestamp: string;
  /** End of a deletion's grace period. */
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
}

export interface KubeObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Metadata;
  readonly [key: string]: unknown;
}

export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False';
  readonly reason?: string;
  readonly message?: string;
  readonly lastProbeTime?: string | null;
  readonly lastTransitionTime?: string;
}

// Pods -----------------------------------------------------------------------------------------------------------------

export interface EnvVar {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: {
    readonly fieldRef?: { readonly fieldPath: string };
    readonly secretKeyRef?: { readonly name: string; readonly key: string };
  };
}

export interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly workingDir?: string;
  readonly terminationMessagePolicy?: 'File' | 'FallbackToLogsOnError';
  readonly env?: readonly EnvVar[];
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string | number>>;
    readonly limits?: Readonly<Record<string, string | number>>;
  };
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
  readonly readinessProbe?: Probe;
}

export interface Probe {
  readonly exec?: { readonly command: readonly string[] };
  readonly initialDelaySeconds?: number;
  readonly periodSeconds?: number;
  readonly timeoutSeconds?: number;
  readonly failureThreshold?: number;
}

export interface Volume {
  readonly name: string;
  readonly configMap?: { readonly name: string; readonly defaultMode?: number };
  readonly secret?: { readonly secretName: string; readonly defaultMode?: number };
  readonly persistentVolumeClaim?: { readonly claimName: string };
  readonly emptyDir?: object;
  readonly hostPath?: { readonly path: string };
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly hostname?: string;
  readonly subdomain?: string;
  readonly restartPolicy?: string;
  readonly serviceAccountName?: string;
  readonly automountServiceAccountToken?: boolean;
  readonly priorityClassName?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly nodeSelector?: Readonly<Record<string, string>>;
  readonly schedulingGates?: readonly { readonly name: string }[];
  readonly containers: readonly Container[];
  readonly volumes?: readonly Volume[];
}

export interface ContainerState {
  readonly waiting?: { readonly reason: string; readonly message?: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: {
    readonly exitCode: number;
    readonly signal?: number;
    readonly reason: string;
    readonly message?: string;
    readonly startedAt: string | null;
    readonly finishedAt: string;
  };
}

export interface ContainerStatus {
  readonly name: string;
  readonly image: string;
  readonly imageID: string;
  readonly ready: boolean;
  readonly started: boolean;
  readonly restartCount: number;
  readonly state: ContainerState;
  readonly lastState: object;
}

export type PodPhase = 'Pending' | 'Running' | 'Succeeded' | 'Failed';

export interface PodStatus {
  readonly phase: PodPhase;
  readonly conditions?: readonly Condition[];
  readonly reason?: string;
  readonly message?: string;
  readonly hostIP?: string;
  readonly podIP?: string;
  readonly podIPs?: readonly { readonly ip: string }[];
  readonly startTime?: string;
  readonly containerStatuses?: readonly ContainerStatus[];
  readonly qosClass?: string;
}

export interface Pod extends KubeObject {
  readonly spec: PodSpec;
  readonly status: PodStatus;
}

export const isOver = ({ status }: Pod): boolean => status.phase === 'Succeeded' || status.phase === 'Failed';

// Jobs -----------------------------------------------------------------------------------------------------------------

export interface PodFailureRule {
  readonly action: string;
  readonly onPodConditions?: readonly { readonly type: string; readonly status?: string }[];
}

export interface JobSpec {
  readonly completionMode?: string;
  readonly completions: number;
  readonly parallelism: number;
  readonly backoffLimit: number;
  readonly suspend?: boolean;
  readonly podFailurePolicy?: { readonly rules: readonly PodFailureRule[] };
  readonly template: PodTemplate;
}

export interface JobStatus {
  readonly startTime?: string;
  readonly completionTime?: string;
  readonly active?: number;
  readonly ready?: number;
  readonly terminating?: number;
  readonly succeeded?: number;
  readonly failed?: number;
  /** Such as `0,2-4`. */
  readonly completedIndexes?: string;
  readonly uncountedTerminatedPods?: object;
  readonly conditions?: readonly Condition[];
}

export interface Job extends KubeObject {
  readonly spec: JobSpec;
  readonly status: JobStatus;
}

// RayClusters ----------------------------------------------------------------------------------------------------------

export interface PodTemplate {
  readonly metadata?: Partial<Metadata>;
  readonly spec: PodSpec;
}

export interface WorkerGroup {
  readonly groupName: string;
  readonly replicas?: number;
  readonly minReplicas?: number;
  readonly maxReplicas?: number;
  readonly rayStartParams?: Readonly<Record<string, string>>;
  readonly template: PodTemplate;
}

export interface RayCluster extends KubeObject {
  readonly spec: {
    readonly authOptions?: { readonly mode?: string };
    readonly headGroupSpec: {
      readonly rayStartParams?: Readonly<Record<string, string>>;
      readonly template: PodTemplate;
    };
    readonly workerGroupSpecs?: readonly WorkerGroup[];
  };
  readonly status?: { readonly conditions?: readonly Condition[]; readonly state?: string };
}

// Conditions and times -------------------------------------------------------------------------------------------------

/** Formats a time as Kubernetes does. */
export const timestamp = (at = Date.now()): string => `${new Date(at).toISOString().slice(0, 19)}Z`;

/** Returns the conditions with this one set. Its time stays if the status is the same as before. */
export function withCondition(all: readonly Condition[] | undefined, condition: Condition): readonly Condition[] {
  const before = all?.find(({ type }) => type === condition.type);
  const same = before?.status === condition.status;
  const since = same && before?.lastTransitionTime ? before.lastTransitionTime : timestamp();
  const others = all?.filter(({ type }) => type !== condition.type) ?? [];
  return [...others, { ...condition, lastProbeTime: null, lastTransitionTime: since }].toSorted((a, b) =>
    a.type < b.type ? -1 : 1,
  );
}

export const isTrue = (conditions: readonly Condition[] | undefined, type: string): boolean =>
  conditions?.some((condition) => condition.type === type && condition.status === 'True') ?? false;
