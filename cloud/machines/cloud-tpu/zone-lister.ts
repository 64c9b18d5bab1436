import { type ListingPeriods, SharedLister } from '../shared-lister.js';
import type { ObservedNode, ObservedQueuedResource } from './observation.js';

/** What a zone held; keys are names without their path. */
export interface ZoneListing {
  /** When the listing began. */
  readonly at: number;
  readonly nodes: ReadonlyMap<string, ObservedNode>;
  /** Empty where no watcher needed it. */
  readonly queuedResources: ReadonlyMap<string, ObservedQueuedResource>;
}

export interface WatchOptions {
  readonly isUrgent: boolean;
  readonly needsQueuedResources: boolean;
  readonly signal: AbortSignal;
}

/** Lists one zone for all who watch slices in it. */
export class ZoneLister extends SharedLister<WatchOptions, ZoneListing> {
  constructor(list: (withQueuedResources: boolean) => Promise<ZoneListing>, periods: ListingPeriods) {
    super((watchers) => list(watchers.some(({ needsQueuedResources }) => needsQueuedResources)), periods);
  }

  override close(): void {
    super.close('the TPU client');
  }
}
