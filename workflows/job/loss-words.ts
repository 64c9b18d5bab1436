import type { Fact } from '../../domain/recovery/facts.js';
import type { Cause } from '../../domain/job-events/kinds.js';
import { MOST_ANSWER } from '../../domain/lease.js';
import { REFUSALS } from '../../domain/recovery/slice-loss.js';
import type { RefusalScope } from '../../domain/slice.js';
import { boundedLine } from '../../domain/visible-text.js';
import type { SliceLoss } from './slices.js';

/**
 * A loss as a fact for `decide`.
 * @param zones number of zones that the job names
 * @param ready number of its slices that are ready
 */
export function lossFact(loss: SliceLoss, zones: number, ready: number): Fact<'not ready', 'because'> {
  switch (loss.cause) {
    case 'refused':
      return REFUSALS[scopeFor(loss.scope, zones, ready)];
    case 'lease':
      return 'lease lost';
    default:
      return loss.cause;
  }
}

/**
 * If the job names one zone, a missing right counts as the installation's: no other zone may let it in, and ready slices stay. If
 * it names several, the others are asked, even if one zone's message speaks of all. A gang that is partly ready does not give its
 * slices up for such a message.
 */
function scopeFor(scope: RefusalScope, zones: number, ready: number): RefusalScope {
  if (scope === 'permission') return zones === 1 ? 'installation' : scope;
  if (scope === 'installation') return zones > 1 && ready === 0 ? 'permission' : scope;
  return scope;
}

interface LossPlace {
  /** Number of slices that were requested together. */
  readonly requested: number | undefined;
  readonly zone: string;
  /** Provider of its machines, such as `Cloud TPU`. */
  readonly provider: string;
}

/** It stands in each of the job's events, so the provider's own text is shortened. */
export function lossCause(loss: SliceLoss, { requested, zone, provider }: LossPlace): Cause {
  const { index: slice, message: whole } = loss;
  const message = whole.length <= MOST_ANSWER ? whole : `${boundedLine(whole, MOST_ANSWER)} ..`;
  const place = { slice, ...(requested !== undefined && { requested }) };
  const facts = { ...place, message };
  switch (loss.cause) {
    case 'preempted':
      return { kind: 'preempted', facts };
    case 'failed':
      return { kind: 'slice-failed', facts };
    case 'late':
      return { kind: 'slice-late', facts: { ...facts, zone } };
    case 'lease':
      return { kind: 'lease-lost', facts: { message } };
    case 'refused':
      if ('isByPool' in loss) return { kind: 'no-room', facts: { ...place, zone } };
      return { kind: 'refused', facts: { ...facts, zone, provider, scope: loss.scope } };
  }
}
