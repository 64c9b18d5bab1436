import type { ComputeState } from '../compute/model.js';
import { emptyCompute } from '../compute/model.js';
import type { ClockState } from '../clock.js';
import { newClockState } from '../clock.js';
import type { RandomState } from '../random.js';
import { seededState } from '../random.js';
import type { Hold, ListLag, Refusal } from './fault-rules.js';
import type { NodeRecord, Operation, QueuedResourceRecord } from './model.js';
import type { Settings } from './settings.js';

/** Everything the cloud knows, plain JSON: a snapshot of it is the whole truth after a restart. */
export interface CloudState {
  readonly queuedResources: Record<string, QueuedResourceRecord>;
  readonly nodes: Record<string, NodeRecord>;
  readonly operations: Record<string, Operation>;
  /** Of Compute Engine. */
  readonly compute: ComputeState;
  settings: Settings;
  refusals: Refusal[];
  holds: Hold[];
  listLag?: ListLag | undefined;
  /** The state on disk holds what the journal tells up to this event, at least. */
  journalSeq?: number | undefined;
  /** Everything that was due up to then is done, epoch ms of the cloud's clock. */
  advancedTo: number;
  /** The last host address given out, as a number 1 to 65534: addresses go round, so that one is not reused soon. */
  lastAddress: number;
  /** Addresses that nodes gave back of late, the last one last. */
  freedAddresses: string[];
  readonly clock: ClockState;
  readonly random: RandomState;
  /** What `random` began with. */
  readonly seed: number;
}

/** @param seed any whole number. @param wallNow epoch ms: what the clock shows first. */
export function emptyState(settings: Settings, { seed = 0, wallNow = 0 } = {}): CloudState {
  return {
    queuedResources: {},
    nodes: {},
    operations: {},
    compute: emptyCompute(),
    settings,
    refusals: [],
    holds: [],
    advancedTo: 0,
    lastAddress: 0,
    freedAddresses: [],
    clock: newClockState(wallNow),
    random: seededState(seed),
    seed,
  };
}

export function isHeld(state: CloudState, resourceState: string, name: string): boolean {
  return state.holds.some((hold) => hold.state === resourceState && matches(hold.nameMatches, name));
}

export function matches(pattern: string | undefined, name: string): boolean {
  return pattern === undefined || new RegExp(pattern).test(name);
}
