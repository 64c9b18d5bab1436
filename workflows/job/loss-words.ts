import type { Fact } from '../../domain/recovery/facts.js';
import { REFUSALS } from '../../domain/recovery/slice-loss.js';
import type { RefusalScope } from '../../domain/slice.js';
import type { SliceLoss } from './slices.js';

/**
 * What `decide` is asked about a loss.
 * @param zones how many the job names
 * @param ready how many of its slices are ready
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
 * In the only zone a missing right is the installation's: no other zone may let it in, and what is ready stays. Where others are named,
 * they are asked, whatever the words of one say of all; a gang that is ready in part does not give that up for such words.
 */
function scopeFor(scope: RefusalScope, zones: number, ready: number): RefusalScope {
  if (scope === 'permission') return zones === 1 ? 'installation' : scope;
  if (scope === 'installation') return zones > 1 && ready === 0 ? 'permission' : scope;
  return scope;
}

interface LossPlace {
  /** `slice 2` */
  readonly whose: string;
  readonly zone: string;
  /** Of its machines, such as `Cloud TPU`. */
  readonly provider: string;
}

export function lossText({ cause, message }: SliceLoss, { whose, zone, provider }: LossPlace): string {
  switch (cause) {
    case 'preempted':
      return `${whose} was preempted by the provider: ${message}`;
    case 'failed':
      return `${whose} failed: ${message}`;
    case 'late':
      return `${whose} is not ready in ${zone}: ${message}`;
    case 'lease':
      return message;
    case 'refused':
      return `${provider} refused ${whose} in ${zone}: ${message}`;
  }
}
