/**
 * Every `ApplicationFailure.type` that crosses Temporal. A rename here is a breaking change: services match on these words
 * (docs/contract.md, "How it ends").
 */
export const FailureType = {
  /** The job's input is wrong. The message is that of `jobctl validate`. Never retried. */
  InvalidJob: 'InvalidJob',
  /** An input without its form of `contract/`, or with a text that no shell can hold. Never retried. */
  InvalidInput: 'InvalidInput',
  /** The command failed, or a retry budget is spent: the job's `Outcome` is the failure's only detail. */
  JobFailed: 'JobFailed',
  /** A cluster did not build an image. Only in jobctl's own workflows. */
  BuildFailed: 'BuildFailed',
  /** An outside system answered with an error that a retry may cure. */
  Unavailable: 'Unavailable',
  /** An outside system refused for good: no permission, no such project. Temporal never retries it. */
  Refused: 'Refused',
  /** A worker of another installation got the task: it decides nothing, and a worker of the right installation repeats it. */
  ForeignQueue: 'ForeignQueue',
  /** The target of a call does not exist. Only in jobctl's own workflows. */
  NotFound: 'NotFound',
  /** A message, host or lease of an older epoch tried to change something. Never retried. */
  Fenced: 'Fenced',
} as const;
export type FailureType = (typeof FailureType)[keyof typeof FailureType];
