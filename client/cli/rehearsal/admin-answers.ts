/** What the rehearsal's admin interface answers, as far as this command line reads it. */

export interface RehearsedQueuedResource {
  /** Full: `projects/P/locations/Z/queuedResources/Q`. */
  readonly name: string;
  readonly state: string;
  readonly chips: number;
}

export interface RehearsedNode {
  /** Full: `projects/P/locations/Z/nodes/N`. */
  readonly name: string;
  readonly id: string;
  readonly state: string;
  readonly health?: string;
  readonly acceleratorType: string;
  readonly chips: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly hosts: readonly { readonly address: string; readonly process: string }[];
}

export interface RehearsalStatus {
  readonly journalSeq: number;
  readonly queuedResources: readonly RehearsedQueuedResource[];
  readonly nodes: readonly RehearsedNode[];
  readonly settings: Readonly<Record<string, unknown>>;
  readonly refusals: readonly Readonly<Record<string, unknown>>[];
  readonly holds: readonly Readonly<Record<string, unknown>>[];
  /** What keeps this computer's files from what runs in the VMs; `none`: nothing does. */
  readonly confinement?: string;
  readonly confinementReason?: string;
}

export interface JournalEvent {
  /** From 1. */
  readonly seq: number;
  /** Epoch ms of the cloud's clock. */
  readonly at: number;
  /** Epoch ms of this computer's clock. */
  readonly wall?: number;
  readonly kind: string;
  readonly subject: string;
  readonly details: Readonly<Record<string, unknown>>;
}

export interface ClockState {
  /** Epoch ms. */
  readonly now: number;
  readonly scale: number;
  readonly frozen?: boolean;
  readonly isFrozen?: boolean;
}

/** Of the fault script that runs, or ran last. */
export interface ScriptProgress {
  readonly done: readonly DoneEvent[];
  readonly toCome: readonly EventToCome[];
}

export interface DoneEvent {
  /** Epoch ms of the cloud's clock. */
  readonly at: number;
  /** Of the script's text. */
  readonly line: number;
  readonly action: string;
  readonly subject?: string;
  readonly result: string;
}

export interface EventToCome {
  /** Absent while it waits for its condition. */
  readonly at?: number;
  readonly when?: string;
  readonly line: number;
  readonly action: string;
  readonly turns: number;
}

/** The last part of a resource's name, and the zone it is in. */
export function placeOf(name: string): { readonly id: string; readonly zone: string } {
  const parts = name.split('/');
  return { id: parts.at(-1) ?? name, zone: parts[3] ?? '-' };
}
