import { ApplicationFailure } from '@temporalio/common';
import { SecretsRefused } from '../cloud/secrets/port.js';
import { CloudRefused } from '../cloud/machines/port.js';
import { StoreRefused } from '../cloud/store/port.js';
import { FailureType, WrongInput } from '../domain/errors.js';
import { shortened } from '../domain/problem.js';

/** Runs one call to a port and gives its failures the names that workflows know. Classes do not survive the payload. */
export async function translated<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw asFailure(error);
  }
}

export function asFailure(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ApplicationFailure) return error;
  // Another worker, or slice, would fail in the same way.
  if (error instanceof WrongInput)
    return ApplicationFailure.create({ type: FailureType.InvalidInput, nonRetryable: true, message: error.message });
  // A bucket belongs to the installation: its refusal is waited for, and is never a job's fault (docs/adr/0043).
  if (error instanceof StoreRefused)
    return ApplicationFailure.create({ type: FailureType.Unavailable, message: error.message, cause: error });
  if (error instanceof CloudRefused || error instanceof SecretsRefused) {
    return ApplicationFailure.create({ type: FailureType.Refused, message: error.message, cause: error });
  }
  return error;
}

export function invalidJob(message: string): ApplicationFailure {
  return ApplicationFailure.create({ type: FailureType.InvalidJob, nonRetryable: true, message: shortened(message) });
}
