import type { SearchAttributePair } from '@temporalio/common';
import type { JobSpec } from '../domain/job-spec.js';
import { JobPhase } from '../domain/job-state.js';
import { askedMachines, formatSlices } from '../domain/machines.js';
import type { JobSearchAttribute } from '../domain/temporal-server.js';
import { type GroupInput, type GroupMemo, memberIn } from './group.js';
import type { JobInput, JobMemo } from './job.js';
import { groupWorkflowId } from './workflow-ids.js';

/**
 * Columns of a job's row when it starts, for all who start one: a client, or a worker that starts a member of an array or a firing of
 * a schedule.
 */
export interface JobStart {
  readonly memo: JobMemo;
  readonly attributes: Readonly<Partial<Record<JobSearchAttribute, string>>>;
  readonly summary: string;
}

/** @param contentHash of the job's own file and its files */
export function jobStart(spec: JobSpec, input: JobInput, contentHash: string): JobStart {
  const slice = formatSlices(spec);
  const user = spec.user ?? input.user ?? 'unknown';
  const member = memberIn(input);
  return {
    memo: {
      ...{ name: spec.name, slice, contentHash, ...(spec.keep === undefined ? {} : { keeps: true as const }) },
      ...(input.firing === undefined ? {} : { schedule: input.firing.schedule }),
    },
    attributes: {
      JobPhase: JobPhase.Queued,
      // If the file names no project, the worker that takes the job finds it in the quota file.
      ...(spec.project === undefined ? {} : { JobProject: spec.project }),
      JobUser: user,
      JobAccelerator: askedMachines(spec).accelerator,
      JobPool: spec.pool,
      ...(member && { JobGroup: member.group }),
    },
    summary: `${spec.name}: ${slice} for ${user}`,
  };
}

/**
 * The user, and the columns that say whose something is that starts jobs, a group or a schedule. The statement of a server names the
 * project of a file that names none.
 */
export function ownerColumns(
  spec: Pick<JobSpec, 'pool' | 'project' | 'user'>,
  { user: submitter, authorization }: Pick<JobInput, 'user' | 'authorization'>,
): { readonly user: string; readonly attributes: JobStart['attributes'] } {
  const user = spec.user ?? submitter ?? 'unknown';
  const project = spec.project ?? authorization?.project;
  return {
    user,
    attributes: { JobUser: user, JobPool: spec.pool, ...(project === undefined ? {} : { JobProject: project }) },
  };
}

/** Options of a client that starts the workflow of a group. */
export function groupStart(id: string, input: GroupInput, memo: GroupMemo, spec: OwnedSpec) {
  const { user, attributes } = ownerColumns(spec, input.submission);
  return {
    workflowId: groupWorkflowId(id),
    args: [input] as [GroupInput],
    memo: { ...memo },
    typedSearchAttributes: keywords({ JobGroup: id, ...attributes }),
    workflowIdConflictPolicy: 'FAIL' as const,
    staticSummary: `${spec.name}: ${memo.members} members for ${user}`,
  };
}
type OwnedSpec = Pick<JobSpec, 'name' | 'pool' | 'project' | 'user'>;

/** Search attributes as Temporal's calls take them: all are of type Keyword. */
export const keywords = (attributes: JobStart['attributes']): SearchAttributePair[] =>
  Object.entries(attributes).map(([name, value]) => ({ key: { name, type: 'KEYWORD' }, value }));
