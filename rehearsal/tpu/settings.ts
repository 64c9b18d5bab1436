import type { Random } from '../random.js';

/** Ms of the cloud's time: fixed, or drawn anew each time from min to max. */
export type Span = number | { readonly min: number; readonly max: number };

export const TIERS = ['reserved', 'on-demand', 'spot'] as const;
/** The tier that a request draws on: `spot` includes preemptible and best effort. */
export type Tier = (typeof TIERS)[number];

export const SSH_AT_SHUTDOWN = ['open', 'refused', 'silent'] as const;
export type SshAtShutdown = (typeof SSH_AT_SHUTDOWN)[number];

/** Length of each phase, and the available resources. The admin interface changes them at run time. */
export interface Settings {
  /** From CREATING to WAITING_FOR_RESOURCES. */
  readonly creatingMs: Span;
  /** Minimum wait of a request, even if chips are free. */
  readonly queueMs: Span;
  /** Minimum time from a node's creation or start to READY; booting its VMs may take longer. */
  readonly provisioningMs: Span;
  readonly deletingMs: Span;
  readonly suspendingMs: Span;
  readonly stoppingMs: Span;
  readonly startingMs: Span;
  /** Length of an UpdateNode. */
  readonly updatingMs: Span;
  /** Length of REPAIRING and RESTARTING. */
  readonly repairingMs: Span;
  /** From a preemption's notice (UNHEALTHY_MAINTENANCE) to the preemption. */
  readonly noticeMs: Span;
  /** The last part of a notice, in which the VM is told too and shuts down; 0: the guest is not told. */
  readonly guestNoticeMs: Span;
  /** Time for which the API still says READY of a node whose VMs are off. */
  readonly preemptedLagMs: Span;
  /** SSH while a VM shuts down: it goes on, is reset, or falls silent without TCP's end. `silent` lasts after the VM is off. */
  readonly sshAtShutdown: SshAtShutdown;
  /** Lifetime of a preemptible node (not of a Spot one). */
  readonly preemptibleLifeMs: Span;
  /** Chips by `zone/generation` (shared by all tiers) or `zone/generation/tier`. Without an entry there is no limit. */
  readonly capacity: Readonly<Record<string, number>>;
  /** Chips by `project/zone/generation/tier`. The project `*` stands for each project without an entry. */
  readonly quota: Readonly<Record<string, number>>;
  /** External addresses by region, such as `us-central1`. Without an entry there is no limit. */
  readonly addresses: Readonly<Record<string, number>>;
  /** Over quota: the call is refused, or a queued resource is created that becomes FAILED. */
  readonly quotaRefusal: 'call' | 'failed';
  /** Time for which a request that has entered PROVISIONING refuses deletion, even by force. */
  readonly undeletableMs: Span;
  /** Zones that listings cannot reach: lists leave out their resources and name them. Single resources are read as they are. */
  readonly unreachableZones: readonly string[];
  /** State of a request in the queue: ACCEPTED before 2024. */
  readonly queuedState: 'WAITING_FOR_RESOURCES' | 'ACCEPTED';
  /** The other nodes of a multislice that lost one. Google does not document what it does. */
  readonly othersOnPreemption: 'kept' | 'preempted';
  /** A new host gets the address that was freed last: a dead worker's entry then points to a live host. */
  readonly recycleAddresses: boolean;
  /** Workers that are missing in new nodes' networkEndpoints. */
  readonly missingWorkers: readonly MissingWorkers[];
  /** New nodes whose networkEndpoints are not in the order of their workers. */
  readonly endpointOrders: readonly EndpointOrder[];
  /** Nodes that fail when they should become READY. */
  readonly bootFailures: readonly BootFailure[];
  /** Nodes whose guest attributes come late, or not at all. */
  readonly guestAttributes: readonly GuestAttributesFault[];
}

/** The nodes that a fault affects: a regular expression that matches anywhere in the full name; absent: all. */
interface OnNodes {
  readonly nameMatches?: string | undefined;
}
export interface MissingWorkers extends OnNodes {
  readonly workers: readonly number[];
  /** True: the missing workers have entries, without an address. */
  readonly keepsPlace?: boolean | undefined;
}
export interface EndpointOrder extends OnNodes {
  /** Worker at each position of the list. Workers that are not named follow. */
  readonly order: readonly number[];
}
export interface BootFailure extends OnNodes {
  readonly message?: string | undefined;
}
export interface GuestAttributesFault extends OnNodes {
  /** Delay after the node's creation, ms. */
  readonly afterMs?: number | undefined;
  readonly forbidden?: boolean | undefined;
}

export const DEFAULT_SETTINGS: Settings = {
  creatingMs: 0,
  queueMs: 0,
  provisioningMs: 200,
  deletingMs: 100,
  suspendingMs: 100,
  stoppingMs: 100,
  startingMs: 100,
  updatingMs: 0,
  repairingMs: 1000,
  noticeMs: 2000,
  guestNoticeMs: 30_000,
  preemptedLagMs: 0,
  sshAtShutdown: 'open',
  preemptibleLifeMs: 86_400_000,
  capacity: {},
  quota: {},
  addresses: {},
  quotaRefusal: 'call',
  undeletableMs: 0,
  unreachableZones: [],
  queuedState: 'WAITING_FOR_RESOURCES',
  othersOnPreemption: 'kept',
  recycleAddresses: false,
  missingWorkers: [],
  endpointOrders: [],
  bootFailures: [],
  guestAttributes: [],
};

/** A length within the span, whole ms. Draws only if min and max are given. */
export function draw(span: Span, random: Random): number {
  return typeof span === 'number' ? span : random.integer(span.min, span.max);
}
