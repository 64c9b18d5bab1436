import { ApplicationFailure, workflowInfo } from '@temporalio/workflow';
import { sliceInputForm, type SliceInput } from '../../contract/slice.js';
import { sliceWorkflowId } from '../../contract/workflow-ids.js';
import { FailureType } from '../../domain/errors.js';
import type { MachineRef } from '../../domain/machines.js';

/**
 * @throws ApplicationFailure for a malformed input, which no retry and no later worker can read
 * @throws TypeError for an input of a newer version: the workflow task fails until a worker can read it
 */
export function checkedInput(input: unknown): SliceInput {
  const checked = sliceInputForm(input);
  switch (checked.kind) {
    case 'valid':
      refuseOtherName(checked.value);
      return checked.value;
    case 'unknown-version':
      throw new TypeError(`slice: the input has version ${checked.version}, this worker reads 1: update the worker`);
    case 'malformed':
      throw invalidInput(`the input is malformed: ${checked.reason}`);
  }
}

/** The workflow's id ensures that only one slice workflow owns a name. */
function refuseOtherName({ task }: SliceInput): void {
  const { name } = refOf(task);
  const { workflowId } = workflowInfo();
  if (workflowId === sliceWorkflowId(name)) return;
  throw invalidInput(`the input names ${name}, whose workflow is ${sliceWorkflowId(name)}, and this is ${workflowId}`);
}

const invalidInput = (what: string): ApplicationFailure =>
  ApplicationFailure.create({ type: FailureType.InvalidInput, nonRetryable: true, message: `slice: ${what}` });

/** Name and place of the slice. */
export const refOf = (task: SliceInput['task']): MachineRef => (task.kind === 'create' ? task.plan.ref : task.ref);
