import type { ComputeState } from '../compute/model.js';
import { emptyCompute } from '../compute/model.js';
import type { ClockState } from '../clock.js';
import { newClockState } from '../clock.js';
import type { RandomState } from '../random.js';
import { seededState } from '../random.js';
import type { Hold, ListLag, Refusal } from './fault-rules.js';
import type { NodeRecord, Operation, QueuedResourceRecord } from './model.js';
import type { Settings } from './settings.js';

/** The cloud's whole state, plain JSON. A snapshot of it is all that a restart needs. */
export interface CloudState {
  readonly queuedResources: Record<string, QueuedResourceRecord>;
  readonly nodes: Record<string, NodeRecord>;
  readonly operations: Record<string, Operation>;
  /** Compute Engine's part. */
  readonly compute: ComputeState;
  settings: Settings;
  refusals: Refusal[];
  holds: Hold[];
  listLag?: ListLag | undefined;
  /** The state on disk includes the journal up to this event, at least. */
  journalSeq?: number | undefined;
  /** Everything that was due up to this time is done, epoch ms of the cloud's clock. */
  advancedTo: number;
  /**
   * The last host address given out, as a number 1 to 65534. Addresses are given out in a circle, so that one is not reused soon.
   */
  lastAddress: number;
  /** Recently freed addresses; the latest is last. */
  freedAddresses: string[];
  readonly clock: ClockState;
  readonly random: RandomState;
  /** The seed that `random` began with. */
  readonly seed: number;
}

/**
 * @param seed any whole number
 * @param wallNow first time of the clock, epoch ms
 */
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
