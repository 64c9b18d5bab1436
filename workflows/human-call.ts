import { ApplicationFailure } from '@temporalio/workflow';
import { FailureType } from '../domain/failure-types.js';

/** What a validator or an update of a person's call ends with: nothing was changed. `message` is for who called. */
export const refusal = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.Refused, nonRetryable: true, message });

/** @throws refusal of a call that this version does not know, or that does not say who calls */
export function mustBeForm({ v, by }: { readonly v: unknown; readonly by: unknown }): void {
  if (v !== 1) throw refusal(`a call of form ${String(v)} is not known to this worker: update it`);
  if (typeof by !== 'string' || by === '') throw refusal('a call must say who calls: `by`');
}
