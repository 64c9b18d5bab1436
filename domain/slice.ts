import type { EpochMs } from './units.js';

/** Slices of one job. */
export const MOST_SLICES = 256;

/** Hosts of one job, as far as a number that came from outside is believed: the largest has some thousands. */
export const MOST_HOSTS = 100_000;

/**
 * How a slice is paid for. `preemptible` is Google's old form of spot and lives 24 hours at most. `flex-start` waits in a queue of
 * Google's and lives as long as was asked, 7 days at most (docs/adr/0117).
 */
export const PRICINGS = ['spot', 'ondemand', 'preemptible', 'reserved', 'flex-start'] as const;
export type Pricing = (typeof PRICINGS)[number];

/** What the tier of a lease buys, as the grant says it. A tier without a pricing leaves the pricing to the job. */
export interface TierPurchase {
  readonly pricing?: Pricing;
  /** With pricing `reserved` only. */
  readonly reservation?: string;
}

/** The job that machines belong to. */
export interface Owner {
  /** The installation's random id. */
  readonly owner: string;
  /** The job's id. */
  readonly job: string;
  /** The first run id of the job's chain. */
  readonly run: string;
}

/** Whose machines are. Only those that carry all of our own values are ever adopted (DESIGN.md 2, "Nothing leaks"). */
export interface Ownership extends Owner {
  readonly generation: number;
  /** Short hash of what was asked for: machines of another spec are not adopted. */
  readonly spec: string;
}

/** One host of a slice. `reach` says how it is reached; a host that is reached in another way is another member of this union. */
export type SliceHost = SshHost | PodHost;

/** A host that an SSH connection reaches. */
export interface SshHost {
  readonly reach: 'ssh';
  /** Position in the slice, from 0. On Cloud TPU: what Google's tools call the worker. */
  readonly index: number;
  /** Address in the slice's own network: hosts of a job reach each other here. */
  readonly internalIp: string;
  readonly externalIp?: string;
  /** Of a machine that outlives its slices. */
  readonly own?: OwnHost;
}

/** How a machine of a pool's inventory is reached, and whose it has to be. */
export interface OwnHost {
  readonly pool: string;
  /** In the inventory. */
  readonly name: string;
  readonly port: number;
  readonly user: string;
  /** `secret:NAME` of the private key that connects. Absent: the job's. */
  readonly key?: string;
  /** Id of the claim without which nothing of the slice begins on it (docs/adr/0070). */
  readonly claim: string;
}

/** Where a host is reached from outside of its network, if it is. */
export const externalIpOf = (
  host: Pick<SshHost, 'reach' | 'externalIp'> | Pick<PodHost, 'reach'>,
): string | undefined => (host.reach === 'ssh' ? host.externalIp : undefined);

/** A pod of an Indexed Job, reached by exec through the API server of its slice's cluster. */
export interface PodHost {
  readonly reach: 'pod';
  /** JOB_COMPLETION_INDEX, from 0. */
  readonly index: number;
  /** The pod's own address: hosts of a job reach each other here. */
  readonly internalIp: string;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
}

/** What the provider's answer about one slice amounts to. A failed call is not an answer: ports throw instead. */
export type Condition =
  /** Asked for, not there yet. `detail` is the provider's state in its own words. */
  | {
      readonly kind: 'waiting';
      readonly detail: string;
      /** The provider calls it ready, but has not said where all of its hosts are. */
      readonly isIncomplete?: true;
      /** `detail` says why it is not there yet: people want to read it, once it has taken so long. Absent: it says nothing. */
      readonly tellAfterMs?: number;
      /** Of a provider that queues requests: it is in the queue; or chips were chosen for it, in the provider's word for that. */
      readonly place?: 'queued' | { readonly granted: string };
    }
  | ReadyCondition
  /** Positive evidence that the slice will not serve any more. */
  | { readonly kind: 'lost'; readonly cause: LostCause; readonly message: string }
  /** The request was accepted and came to nothing: Google fails an operation, or a queued resource, with what it refuses. */
  | { readonly kind: 'lost'; readonly cause: 'refused'; readonly scope: RefusalScope; readonly message: string }
  | { readonly kind: 'deleting' }
  /**
   * The machines do not exist. It is evidence only if it is seen twice, apart, or once after a removal that is done.
   * `isRequestLeft`: the request for them still exists, or another slice of it, so there is still something to remove.
   */
  | { readonly kind: 'missing'; readonly isRequestLeft?: true }
  /** Something of this name exists and belongs to somebody else. */
  | { readonly kind: 'foreign'; readonly message: string };

/** The machines of one slice. */
export interface SliceMachines {
  /** Provider's id of these very machines. Machines that are made anew under the same name have another one. */
  readonly uid: string;
  readonly hosts: readonly SliceHost[];
}

/** Of a request for several slices these are the first slice's machines. */
export interface SlicesMachines extends SliceMachines {
  /** Those of its other slices, in their order. Absent: the request is for one slice. */
  readonly others?: readonly SliceMachines[];
  /** Of machines that the provider sells for a time: from then on it may delete them. Absent: they have no such end. */
  readonly endsAt?: EpochMs;
}

/** Of each slice of a request. */
export const machinesOfSlices = ({ uid, hosts, others = [] }: SlicesMachines): readonly SliceMachines[] => [
  { uid, hosts },
  ...others,
];

export interface ReadyCondition extends SlicesMachines {
  readonly kind: 'ready';
  /** The provider's own doubt about machines that still serve. */
  readonly warning?: string;
}

export type LostCause = 'preempted' | 'failed';

/**
 * The provider's answer to a create request. `unanswered` means that the outcome is unknown: the request may have taken
 * effect, and the caller must go on looking (DESIGN.md 2, `create_settle`).
 */
export type CreateAnswer =
  /** `operation`: the adapter's own handle of the request, for later observations. Absent if the answer carried none. */
  | { readonly kind: 'accepted'; readonly operation?: string }
  /** Something of that name exists. An observation tells whose it is. */
  | { readonly kind: 'exists' }
  | CreateRefused
  | { readonly kind: 'unanswered'; readonly message: string };

export interface CreateRefused {
  readonly kind: 'refused';
  readonly scope: RefusalScope;
  /** The provider's own text, or jobctl's for rights and credentials. */
  readonly message: string;
  /** Of a request for several things one was refused, and others may exist. Absent: nothing was made. */
  readonly isPartial?: true;
}

/**
 * How far a refusal reaches (DESIGN.md 11, docs/adr/0042).
 * `request`: this request is wrong wherever it is sent. `zone`: this zone has no capacity or quota now. `zone-lasting`: this
 * zone does not have what is asked for. `moment`: the same request may be accepted later. `installation`: rights, credentials
 * or billing are missing, so that every request is refused until a person acts. `permission`: refused as a matter of rights, in words
 * that do not say how far they reach; the installation's if every zone says so. `unknown`: nobody has seen this text yet.
 */
export const REFUSAL_SCOPES = [
  'request',
  'zone',
  'zone-lasting',
  'moment',
  'installation',
  'permission',
  'unknown',
] as const;
export type RefusalScope = (typeof REFUSAL_SCOPES)[number];

/** Whether all that `wanted` names is so. An `Owner` names no generation and no spec. */
export const isOf = (found: Ownership, wanted: Owner | Ownership): boolean =>
  Object.entries(wanted).every(([key, value]) => found[key as keyof Ownership] === value);
