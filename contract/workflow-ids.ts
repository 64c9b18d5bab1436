import { OWN_ID_PREFIXES } from '../domain/temporal-server.js';

export const WorkflowType = {
  Job: 'job',
  Slice: 'slice',
  Quota: 'quota',
  Janitor: 'janitor',
  Machines: 'machines',
  Build: 'build',
  Notices: 'notices',
  Group: 'group',
  Firing: 'firing',
} as const;

export { TASK_QUEUE } from '../domain/temporal-server.js';

/** A job's workflow id is the job's id itself. Job ids hold no '/', so other workflow ids cannot clash with them. */
export const sliceWorkflowId = (resourceName: string): string => `${OWN_ID_PREFIXES.slice}${resourceName}`;
export const quotaWorkflowId = (pool: string): string => `${OWN_ID_PREFIXES.quota}${pool}`;
export const buildWorkflowId = (hash: string): string => `${OWN_ID_PREFIXES.build}${hash}`;
/** A job's id holds no '/', so a test's id, `notices/test/..`, is no job's. */
export const noticesWorkflowId = (job: string): string => `${OWN_ID_PREFIXES.notices}${job}`;
/** @param group as people name it: ids of its members begin with it */
export const groupWorkflowId = (group: string): string => `${OWN_ID_PREFIXES.group}${group}`;
export const JANITOR_SCHEDULE_ID = OWN_ID_PREFIXES.janitor;

/** Identifies a job: a later job with the same id has another first run. */
export interface JobRef {
  readonly id: string;
  /** First run id of the chain. */
  readonly run: string;
}
