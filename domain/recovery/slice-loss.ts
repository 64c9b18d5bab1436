import type { Condition, RefusalScope } from '../slice.js';
import type { Fact } from './facts.js';

/** A slice that positive evidence shows to be unusable. */
export interface LostSlice {
  readonly index: number;
  /** The budget that pays: that for preemptions, or that for the infrastructure. */
  readonly cause: 'preempted' | 'failed';
  readonly message: string;
}

/** The scope of a refusal as a fact for `decide`. */
export const REFUSALS = {
  request: 'request refused',
  zone: 'zone refused',
  'zone-lasting': 'zone refused for good',
  moment: 'refused for a moment',
  installation: 'installation refused',
  permission: 'refused, a right',
  unknown: 'refused, unknown',
} as const satisfies Record<RefusalScope, Fact<'not ready', 'because'>>;

/** Result of a look at a slice, as a fact for `decide`. A `seen` of undefined means that the call failed. */
export function conditionFact(seen: Condition | undefined): Fact<'slice seen', 'condition'> {
  if (seen === undefined) return 'no answer';
  if (seen.kind !== 'lost') return seen.kind;
  return seen.cause === 'preempted' ? 'preempted' : 'failed';
}

/** The reason, in words, why a slice in this condition is lost. */
export function lossText(seen: Condition): string {
  switch (seen.kind) {
    case 'lost':
    case 'foreign':
      return seen.message;
    case 'missing':
      return 'the node is gone (NOT_FOUND, twice)';
    case 'deleting':
      return 'the slice is being deleted';
    case 'ready':
    case 'waiting':
      throw new TypeError(`a slice that is '${seen.kind}' is not lost`);
  }
}
