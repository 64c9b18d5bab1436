import type { Random } from '../random.js';

/** Ms of the cloud's time: always the same, or drawn anew each time, from min to max. */
export type Span = number | { readonly min: number; readonly max: number };

export const TIERS = ['reserved', 'on-demand', 'spot'] as const;
/** What a request draws on: `spot` is preemptible and best effort too. */
export type Tier = (typeof TIERS)[number];

export const SSH_AT_SHUTDOWN = ['open', 'refused', 'silent'] as const;
export type SshAtShutdown = (typeof SSH_AT_SHUTDOWN)[number];

/** How long each phase lasts, and what there is to hand out. The admin interface changes it at run time. */
export interface Settings {
  /** From CREATING to WAITING_FOR_RESOURCES. */
  readonly creatingMs: Span;
  /** The least that a request waits, also where there are chips. */
  readonly queueMs: Span;
  /** The least from a node's creation, or start, to READY; booting its VMs may take longer. */
  readonly provisioningMs: Span;
  readonly deletingMs: Span;
  readonly suspendingMs: Span;
  readonly stoppingMs: Span;
  readonly startingMs: Span;
  /** Of an UpdateNode. */
  readonly updatingMs: Span;
  /** How long REPAIRING and RESTARTING last. */
  readonly repairingMs: Span;
  /** From a preemption's notice (UNHEALTHY_MAINTENANCE) to the preemption. */
  readonly noticeMs: Span;
  /** The last part of a notice, in which the VM is told too and shuts down; 0: the guest is never told. */
  readonly guestNoticeMs: Span;
  /** How long the API still says READY of a node whose VMs are off. */
  readonly preemptedLagMs: Span;
  /** What becomes of SSH while a VM shuts down: goes on, is reset, or falls silent without TCP's end, also once it is off. */
  readonly sshAtShutdown: SshAtShutdown;
  /** The life of a preemptible node (not of a Spot one). */
  readonly preemptibleLifeMs: Span;
  /** Chips by `zone/generation` (all tiers share it) or `zone/generation/tier`. What is not named has no limit. */
  readonly capacity: Readonly<Record<string, number>>;
  /** Chips by `project/zone/generation/tier`; the project may be `*`: each one that is not named. */
  readonly quota: Readonly<Record<string, number>>;
  /** External addresses by region, such as `us-central1`. What is not named has no limit. */
  readonly addresses: Readonly<Record<string, number>>;
  /** What is over quota: refuses the call, or makes a queued resource that FAILED. */
  readonly quotaRefusal: 'call' | 'failed';
  /** How long a request that has entered PROVISIONING refuses to be deleted, by force too. */
  readonly undeletableMs: Span;
  /** Zones that listings cannot reach: they leave out what is there, and name them. Single resources are read as they are. */
  readonly unreachableZones: readonly string[];
  /** What a request in the queue is called: ACCEPTED before 2024. */
  readonly queuedState: 'WAITING_FOR_RESOURCES' | 'ACCEPTED';
  /** The other nodes of a multislice that lost one. Nobody wrote down what Google does. */
  readonly othersOnPreemption: 'kept' | 'preempted';
  /** A new host gets the address that was freed last: a dead worker's entry then points to a live one. */
  readonly recycleAddresses: boolean;
  /** Workers that new nodes' networkEndpoints lack. */
  readonly missingWorkers: readonly MissingWorkers[];
  /** New nodes whose networkEndpoints are not in the order of their workers. */
  readonly endpointOrders: readonly EndpointOrder[];
  /** Nodes that come to nothing when they should become READY. */
  readonly bootFailures: readonly BootFailure[];
  /** Nodes whose guest attributes come late, or not at all. */
  readonly guestAttributes: readonly GuestAttributesFault[];
}

/** Which nodes: a regular expression that matches somewhere in the full name; none: all. */
interface OnNodes {
  readonly nameMatches?: string | undefined;
}
export interface MissingWorkers extends OnNodes {
  readonly workers: readonly number[];
  /** Their entries are there, without an address. */
  readonly keepsPlace?: boolean | undefined;
}
export interface EndpointOrder extends OnNodes {
  /** Which worker is at each place of the list. Those that it does not name follow. */
  readonly order: readonly number[];
}
export interface BootFailure extends OnNodes {
  readonly message?: string | undefined;
}
export interface GuestAttributesFault extends OnNodes {
  /** After the node's creation, ms. */
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

/** A length of that span, whole ms. Draws only where there is a choice. */
export function draw(span: Span, random: Random): number {
  return typeof span === 'number' ? span : random.integer(span.min, span.max);
}
