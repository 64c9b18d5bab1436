import { workflowInfo } from '@temporalio/workflow';
import { groupInputForm } from '../../contract/group-forms.js';
import type { GroupInput } from '../../contract/group.js';
import { isArray, type JobArray, readArray } from '../../domain/array/array.js';
import { groupIdProblem } from '../../domain/array/group-state.js';
import { MAX_JOB_ID } from '../../domain/identity.js';
import { formatProblems } from '../../domain/problem.js';
import { OWN_ID_PREFIXES } from '../../domain/temporal-server.js';
import { inputIn, invalidInput } from '../inbox.js';

export interface CheckedInput extends GroupInput {
  readonly array: JobArray;
}

/** The group's id as people name it. */
export const groupId = (): string => workflowInfo().workflowId.slice(OWN_ID_PREFIXES.group.length);

/** Another service, in any language, may have sent the input. @throws InvalidInput, which no retry mends */
export function checkedInput(input: GroupInput): CheckedInput {
  inputIn(groupInputForm, 'group', input);
  const { job } = input.submission;
  if (!isArray(job)) throw invalid('submission.job: has no array');
  const read = readArray(job);
  if (!read.ok) throw invalid(formatProblems(read.problems));
  const id = groupIdProblem(groupId(), read.array.size, MAX_JOB_ID);
  if (id !== undefined) throw invalid(`workflow id: ${id}`);
  for (const { marks, rounds } of [input.state, input.carry?.state].filter((each) => each !== undefined))
    if (marks.length !== read.array.size || rounds.length !== read.array.size)
      throw invalid(`state: is of ${marks.length} places, and the array has ${read.array.size}`);
  return { ...input, array: read.array };
}

const invalid = (why: string): Error => invalidInput('group', why);
