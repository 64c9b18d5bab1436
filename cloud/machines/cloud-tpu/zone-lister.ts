import { type ListingPeriods, SharedLister } from '../shared-lister.js';
import type { ObservedNode, ObservedQueuedResource } from './observation.js';

/** The resources of a zone; keys are names without their path. */
export interface ZoneListing {
  /** The time at which the listing began. */
  readonly at: number;
  readonly nodes: ReadonlyMap<string, ObservedNode>;
  /** Empty if no watcher needs them. */
  readonly queuedResources: ReadonlyMap<string, ObservedQueuedResource>;
}

export interface WatchOptions {
  readonly isUrgent: boolean;
  readonly needsQueuedResources: boolean;
  readonly signal: AbortSignal;
}

/** Lists one zone for all watchers of slices in it. */
export class ZoneLister extends SharedLister<WatchOptions, ZoneListing> {
  constructor(list: (withQueuedResources: boolean) => Promise<ZoneListing>, periods: ListingPeriods) {
    super((watchers) => list(watchers.some(({ needsQueuedResources }) => needsQueuedResources)), periods);
  }

  override close(): void {
    super.close('the TPU client');
  }
}
