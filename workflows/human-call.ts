import { ApplicationFailure } from '@temporalio/workflow';
import type { Form } from '../contract/form.js';
import { FailureType } from '../domain/failure-types.js';
import { shortened } from '../domain/problem.js';

/** The error of a validator or an update that refuses a person's call: nothing was changed. `message` is for the caller. */
export const refusal = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.Refused, nonRetryable: true, message: shortened(message) });

/** The error for a job file that is wrong in itself, whatever state the job is in, as at submit. */
export const wrongFile = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.InvalidJob, nonRetryable: true, message: shortened(message) });

/** For validators of updates. @throws refusal if a call does not have its contract's form */
export function mustBeForm<T>(form: Form<T>, call: unknown): void {
  const checked = form(call);
  if (checked.kind === 'unknown-version')
    throw refusal(`a call of version ${checked.version} is not known to this worker: update it`);
  if (checked.kind === 'malformed')
    throw refusal(`this call does not have the form of its contract: ${checked.reason}`);
}
