/**
 * `jobctl/contract`: everything that clients and other services need to start jobs and to talk to them (docs/contract.md).
 * Workflow code can import it: nothing here has an effect, and all values are plain JSON.
 */
export type { Asker, JobPhase, JobResult, Outcome, OutcomeCause } from '../domain/job-state.js';
export type { Cause, EventKind, Told } from '../domain/job-events/kinds.js';
export type { Place, Reaction } from '../domain/job-events/causes.js';
export type { JobEvent, ShownEvent } from '../domain/job-events/event.js';
export type { JobSpec } from '../domain/job-spec.js';
export * from './job.js';
export { JOB_UPDATES, type EditCall, type JobCall, type JobVerb } from './job-requests.js';
export * from './quota.js';
export * from './workflow-ids.js';
export type { HumanCall } from './define.js';
