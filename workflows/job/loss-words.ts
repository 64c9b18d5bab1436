import type { Fact } from '../../domain/recovery/facts.js';
import { REFUSALS } from '../../domain/recovery/slice-loss.js';
import type { SliceLoss } from './slices.js';

/** What `decide` is asked about a loss. @param zones how many the job names */
export function lossFact(loss: SliceLoss, zones: number): Fact<'not ready', 'because'> {
  switch (loss.cause) {
    case 'refused':
      // In the only zone a missing right is the installation's: no other zone may let it in, and what is ready stays.
      return REFUSALS[loss.scope === 'permission' && zones === 1 ? 'installation' : loss.scope];
    case 'lease':
      return 'lease lost';
    default:
      return loss.cause;
  }
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
