import { ApplicationFailure } from '@temporalio/workflow';
import type { Form } from '../contract/form.js';
import { FailureType } from '../domain/failure-types.js';
import { shortened } from '../domain/problem.js';

/** What a validator or an update of a person's call ends with: nothing was changed. `message` is for who called. */
export const refusal = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.Refused, nonRetryable: true, message: shortened(message) });

/** The same of a job file that is wrong in itself, whatever state the job is in: as at submit. */
export const wrongFile = (message: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.InvalidJob, nonRetryable: true, message: shortened(message) });

/** For validators of updates. @throws refusal of a call that does not have its contract's form */
export function mustBeForm<T>(form: Form<T>, call: unknown): void {
  const checked = form(call);
  if (checked.kind === 'unknown-version')
    throw refusal(`a call of version ${checked.version} is not known to this worker: update it`);
  if (checked.kind === 'malformed')
    throw refusal(`this call does not have the form of its contract: ${checked.reason}`);
}
