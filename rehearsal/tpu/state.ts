import type { NodeRecord, Operation, QueuedResourceRecord } from './model.js';
import type { Hold, ListLag, Refusal } from './fault-rules.js';

/** How long each phase lasts, in ms, and what there is to hand out. The admin interface changes it at run time. */
export interface Settings {
  readonly queueMs: number;
  readonly provisioningMs: number;
  readonly deletingMs: number;
  readonly suspendingMs: number;
  /** From a preemption's notice (UNHEALTHY_MAINTENANCE) to the preemption. */
  readonly noticeMs: number;
  /** Chips by `<zone>/<generation>`, such as `us-central1-a/v5litepod`. What is not named has no limit. */
  readonly capacity: Readonly<Record<string, number>>;
}

export const DEFAULT_SETTINGS: Settings = {
  queueMs: 0,
  provisioningMs: 200,
  deletingMs: 100,
  suspendingMs: 100,
  noticeMs: 2000,
  capacity: {},
};

/** Everything the cloud knows, plain JSON: a snapshot of it is the whole truth after a restart. */
export interface CloudState {
  readonly queuedResources: Record<string, QueuedResourceRecord>;
  readonly nodes: Record<string, NodeRecord>;
  readonly operations: Record<string, Operation>;
  settings: Settings;
  refusals: Refusal[];
  holds: Hold[];
  listLag?: ListLag | undefined;
  /** The last host address given out, as a number 1 to 65534: addresses go round, so that one is not reused soon. */
  lastAddress: number;
}

export function emptyState(settings: Settings): CloudState {
  return { queuedResources: {}, nodes: {}, operations: {}, settings, refusals: [], holds: [], lastAddress: 0 };
}

export function isHeld(state: CloudState, resourceState: string, name: string): boolean {
  return state.holds.some((hold) => hold.state === resourceState && matches(hold.nameMatches, name));
}

export function matches(pattern: string | undefined, name: string): boolean {
  return pattern === undefined || new RegExp(pattern).test(name);
}
