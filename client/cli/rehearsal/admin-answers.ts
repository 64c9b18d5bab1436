/** What the rehearsal's admin interface answers, as far as this command line reads it and the rehearsal names no type for it. */

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

export interface ClockState {
  /** Epoch ms. */
  readonly now: number;
  readonly scale: number;
  readonly frozen: boolean;
}

/** The last part of a resource's name, and the zone it is in. */
export function placeOf(name: string): { readonly id: string; readonly zone: string } {
  const parts = name.split('/');
  return { id: parts.at(-1) ?? name, zone: parts[3] ?? '-' };
}
