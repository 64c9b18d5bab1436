import { ApplicationFailure } from '@temporalio/workflow';
import { buildInputForm } from '../../contract/build-forms.js';
import type { BuildInput } from '../../contract/build.js';
import { FailureType } from '../../domain/failure-types.js';

/**
 * @throws ApplicationFailure for a malformed input, which no retry and no later worker can read
 * @throws TypeError for an input of a newer version: the workflow task fails until a worker can read it
 */
export function checkedInput(input: unknown): BuildInput {
  const checked = buildInputForm(input);
  switch (checked.kind) {
    case 'valid':
      return checked.value;
    case 'unknown-version':
      throw new TypeError(`build: the input has version ${checked.version}, this worker reads 1: update the worker`);
    case 'malformed':
      throw ApplicationFailure.create({
        type: FailureType.InvalidInput,
        nonRetryable: true,
        message: `build: the input is malformed: ${checked.reason}`,
      });
  }
}
