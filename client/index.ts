/** `import { JobClient } from 'jobctl'`: what other services start, watch and cancel jobs with. */
export { JobClient } from './job-client.js';
export type { JobClientOptions } from './job-client.js';
export type { Submission, Submitted } from './submissions.js';
export type { JobEdit } from './job-calls.js';
export type { LocalContents, UploadProgress } from './uploads.js';
export type { FileSource } from '../domain/file-source.js';
export type { JobFilter, JobPage, JobRow, ShownPhase } from './job-rows.js';
export type { TaskQueuePolls } from './task-queue-polls.js';
export type { Admission, AppliedFiles, PoolClient, PoolFileText } from './pool-client.js';
export type { TemporalOptions } from './connect.js';
export { jobDataConverter } from './connect.js';
export type { CodecReferences } from '../cloud/codec/codec-key.js';
export { CodecKeyError } from '../cloud/codec/codec-key.js';
export * from './errors.js';
export type { JobInput, JobNotice, JobView, SliceView } from '../contract/job.js';
export type { JobPhase, Outcome, OutcomeCause } from '../domain/job-state.js';
export type { JobSpec } from '../domain/job-spec.js';
