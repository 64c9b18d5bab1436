import type { EpochMs } from './units.js';

/** Requests that a job may have at the same time: each takes quota of its provider (docs/adr/0101). */
export const MOST_REQUESTS = 4;
/** Slices of one job. */
export const MOST_SLICES = 256;

/** Most hosts of one job that a number from outside may claim. The largest jobs have some thousands. */
export const MOST_HOSTS = 100_000;

/**
 * Forms of payment for a slice. `preemptible` is Google's old form of spot and lives at most 24 hours. `flex-start` waits in a
 * queue of Google and lives as long as requested, at most 7 days (docs/adr/0117).
 */
export const PRICINGS = ['spot', 'ondemand', 'preemptible', 'reserved', 'flex-start'] as const;
export type Pricing = (typeof PRICINGS)[number];

/** The terms on which slices are bought, from the tier of their lease's grant. A tier without a pricing leaves it to the job. */
export interface TierPurchase {
  readonly pricing?: Pricing;
  /** Only with pricing `reserved`. */
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

/** The owner of machines. Only machines with all of our own values are ever adopted (docs/design.md, "Nothing leaks"). */
export interface Ownership extends Owner {
  readonly generation: number;
  /** Short hash of the request: machines of another spec are not adopted. */
  readonly spec: string;
}

/** One host of a slice. `reach` says how to reach it. A host reached in another way is another member of this union. */
export type SliceHost = SshHost | PodHost;
export type Reach = SliceHost['reach'];

/** A host that an SSH connection reaches. */
export interface SshHost {
  readonly reach: 'ssh';
  /** Position in the slice, from 0. On Cloud TPU: the worker number of Google's tools. */
  readonly index: number;
  /** Address in the slice's own network, by which hosts of a job reach each other. */
  readonly internalIp: string;
  readonly externalIp?: string;
  /** Only for a machine that outlives its slices. */
  readonly own?: OwnHost;
  /** Only for a host of an adopted node: id of the claim that it must hold before anything of the slice begins on it. */
  readonly claim?: string;
}

/** Access to a machine of a pool's inventory, and its required claim. */
export interface OwnHost {
  readonly pool: string;
  /** Name in the inventory. */
  readonly name: string;
  readonly port: number;
  readonly user: string;
  /** `secret:NAME` of the private key that connects. Absent: the job's. */
  readonly key?: string;
  /** Absent: the whole machine. */
  readonly slot?: MachineSlot;
  /** UUIDs of the NVIDIA GPUs that it has, as the driver told them when it was claimed. Absent: no such driver (docs/adr/0177). */
  readonly uuids?: readonly string[];
  /** Id of the claim that the machine must hold before anything of the slice begins on it (docs/adr/0070). */
  readonly claim: string;
}

/** A part of a machine, with a login user of its own (docs/adr/0153). */
export interface MachineSlot {
  /** From 0. */
  readonly number: number;
  /** Number of slots of the machine. */
  readonly of: number;
  /** Indexes of its NVIDIA GPUs at first, as nvidia-smi has them, which is their order on the PCI bus. Empty: it has none. */
  readonly gpus: readonly number[];
}

/** A pod of an Indexed Job, reached by exec through the API server of its slice's cluster. */
export interface PodHost {
  readonly reach: 'pod';
  /** JOB_COMPLETION_INDEX, from 0. */
  readonly index: number;
  /** The pod's own address, by which hosts of a job reach each other. */
  readonly internalIp: string;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
}

/** Facts of a host that only some of the ways to reach hosts have. */
type HostFacts = Pick<SshHost, 'externalIp' | 'own'> & { readonly reach: Reach };

/** Facts about a way to reach hosts. */
interface ReachFacts {
  /** Hosts are containers of an image that the job names. Otherwise they have a system of their own, with logins. */
  readonly areContainers: boolean;
  /** The host's address outside its network, if it has one. */
  externalIp(host: HostFacts): string | undefined;
  /** The machine of a pool's inventory that the host is, if it is one. */
  own(host: HostFacts): OwnHost | undefined;
}

/** A new way to reach hosts is a row here and in `WAYS` of cloud/hosts/reaches.ts. */
const REACHES: { readonly [R in Reach]: ReachFacts } = {
  ssh: { areContainers: false, externalIp: ({ externalIp }) => externalIp, own: ({ own }) => own },
  pod: { areContainers: true, externalIp: () => undefined, own: () => undefined },
};

export const REACH_WORDS = Object.keys(REACHES) as readonly Reach[];
export const reachFacts = (reach: Reach): ReachFacts => REACHES[reach];
export const externalIpOf = (host: HostFacts): string | undefined => REACHES[host.reach].externalIp(host);
export const ownHostOf = (host: HostFacts | undefined): OwnHost | undefined => host && REACHES[host.reach].own(host);

/** The machine of a pool's inventory that a host of these is, if it is one. */
export const ownHostAt = (hosts: readonly SliceHost[], host: number): OwnHost | undefined =>
  ownHostOf(hosts.find(({ index }) => index === host));

/** The provider's answer about one slice, as jobctl understands it. A failed call is not an answer: ports throw instead. */
export type Condition =
  /** Requested, not there yet. `detail` is the provider's state in its own words. */
  | {
      readonly kind: 'waiting';
      readonly detail: string;
      /** The provider calls the slice ready, but has not given the addresses of all its hosts. */
      readonly isIncomplete?: true;
      /** Time after which people are told `detail`, which says why the slice is not there. Absent: `detail` gives no reason. */
      readonly tellAfterMs?: number;
      /** If the provider queues requests: this one is in the queue, or it got chips. `granted`: the provider's word for that. */
      readonly place?: 'queued' | { readonly granted: string };
    }
  | ReadyCondition
  /** Positive evidence that the slice will not serve any more. */
  | { readonly kind: 'lost'; readonly cause: LostCause; readonly message: string }
  /** The request was accepted and then failed: Google fails an operation, or a queued resource, for what it refuses. */
  | { readonly kind: 'lost'; readonly cause: 'refused'; readonly scope: RefusalScope; readonly message: string }
  | { readonly kind: 'deleting' }
  /**
   * The machines do not exist. This is evidence only if seen twice with time between, or once after a completed removal.
   * `isRequestLeft`: their request still exists, or another slice of it, so there is still something to remove.
   */
  | { readonly kind: 'missing'; readonly isRequestLeft?: true }
  /** A resource with this name exists and has another owner. */
  | { readonly kind: 'foreign'; readonly message: string };

export interface SliceMachines {
  /** Provider's id of these very machines. Machines made anew under the same name have another id. */
  readonly uid: string;
  readonly hosts: readonly SliceHost[];
}

/** In a request for several slices, `uid` and `hosts` are those of the first slice. */
export interface SlicesMachines extends SliceMachines {
  /** Machines of its other slices, in order. Absent: the request is for one slice. */
  readonly others?: readonly SliceMachines[];
  /** Time from which the provider may delete machines that it sells for a limited time. Absent: there is no such time. */
  readonly endsAt?: EpochMs;
}

/** The machines of each slice of a request. */
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
 * The provider's answer to a create request. `unanswered` means that the outcome is unknown: the request may have taken effect,
 * and the caller must keep looking (`createSettleMs`).
 */
export type CreateAnswer =
  /** `operation`: the adapter's own handle of the request, for later observations. Absent if the answer had none. */
  | { readonly kind: 'accepted'; readonly operation?: string }
  /** A resource with that name exists. An observation tells its owner. */
  | { readonly kind: 'exists' }
  | CreateRefused
  | { readonly kind: 'unanswered'; readonly message: string }
  /** Another create call goes on from here, or asks again. `isUntouched`: nothing was sent, and it may never be. */
  | { readonly kind: 'not-yet'; readonly message: string; readonly isUntouched?: true };

export interface CreateRefused {
  readonly kind: 'refused';
  readonly scope: RefusalScope;
  /** The provider's own text, or jobctl's text for rights and credentials. */
  readonly message: string;
  /** A request for several things had one refused, and others may exist. Absent: nothing was made. */
  readonly isPartial?: true;
  /** Its machines are kept for it until others have left them, so it does not ask in vain. Of scope `moment` only. */
  readonly isPlaceKept?: true;
}

/**
 * The reach of a refusal (docs/adr/0042). `request`: this request is wrong wherever it is sent. `zone`: this zone has no
 * capacity or quota now. `zone-lasting`: this zone does not have the requested machines. `moment`: the same request may be
 * accepted later. `installation`: rights, credentials or billing are missing, so every request is refused until a person acts.
 * `permission`: refused as a matter of rights, in a text that does not tell its reach; it is the installation's if every zone
 * says so. `unknown`: a text that nobody has seen yet.
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

/** Returns whether `found` has all values of `wanted`. An `Owner` has no generation and no spec. */
export const isOf = (found: Ownership, wanted: Owner | Ownership): boolean =>
  Object.entries(wanted).every(([key, value]) => found[key as keyof Ownership] === value);

/**
 * Whether a provider listed the hosts of a slice in the order of their workers, according to the hosts. Google promises no order
 * of `networkEndpoints`, and training programs number themselves by their host's answer (docs/adr/0047).
 */
export type Numbering =
  | { readonly kind: 'as-listed' }
  /** Hosts in their true order, each with its true index. */
  | { readonly kind: 'renumbered'; readonly hosts: readonly SliceHost[] }
  /** The hosts are not the workers of one slice. */
  | { readonly kind: 'contradictory'; readonly message: string };

/** @param said each host's worker number, in the same order; undefined if the host cannot tell */
export function numberingOf(hosts: readonly SliceHost[], said: readonly (number | undefined)[]): Numbering {
  if (said.every((number, place) => number === undefined || number === hosts[place]?.index))
    return { kind: 'as-listed' };
  const isWhole = hosts.every(({ index }) => said.includes(index)) && said.length === hosts.length;
  if (!isWhole) {
    const words = hosts.map(
      ({ index, internalIp }, place) => `host ${index} (${internalIp}) says ${said[place] ?? 'nothing'}`,
    );
    return { kind: 'contradictory', message: `its hosts are not the workers of one slice: ${words.join(', ')}` };
  }
  const renumbered = hosts.map((host, place): SliceHost => ({ ...host, index: said[place] as number }));
  return { kind: 'renumbered', hosts: renumbered.toSorted((one, other) => one.index - other.index) };
}
