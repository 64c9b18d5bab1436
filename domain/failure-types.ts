/**
 * Every `ApplicationFailure.type` that crosses Temporal. A rename here is a breaking change: services match on these words
 * (docs/contract.md, "How it ends").
 */
export const FailureType = {
  /** The job's input is wrong; its message is the one `jobctl validate` prints. Never retried. */
  InvalidJob: 'InvalidJob',
  /** A workflow that jobctl itself starts got an input that does not have the form of `contract/`. Never retried. */
  InvalidInput: 'InvalidInput',
  /** The command failed, or a retry budget is spent: the job's `Outcome` is the failure's only detail. */
  JobFailed: 'JobFailed',
  /** A cluster did not build an image. Of workflows of jobctl's own alone. */
  BuildFailed: 'BuildFailed',
  /** The outside answered with an error that trying again may cure. */
  Unavailable: 'Unavailable',
  /** The outside refused for good: no permission, no such project. Never retried by Temporal. */
  Refused: 'Refused',
  /** A worker of another installation had the task in hand: it decides nothing, and one of the right installation repeats it. */
  ForeignQueue: 'ForeignQueue',
  /** What a call names is not there. Of workflows of jobctl's own alone. */
  NotFound: 'NotFound',
  /** A message, host or lease of an older epoch tried to change something. Never retried. */
  Fenced: 'Fenced',
} as const;
export type FailureType = (typeof FailureType)[keyof typeof FailureType];
