/** Reasons why a file cannot be used, by the system's code. Its own words (`ENOENT: no such file ..`) are for programmers. */
const BY_CODE: Readonly<Record<string, string>> = {
  EACCES: 'permission denied',
  EDQUOT: 'the disk quota is used up',
  EEXIST: 'it is there already',
  EFBIG: 'it would be larger than a file may be here (ulimit -f)',
  EISDIR: 'it is a folder',
  ELOOP: 'its links go round in a circle',
  EMFILE: 'too many files are open on this computer',
  ENAMETOOLONG: 'its name is too long',
  ENOENT: 'it does not exist',
  ENOSPC: 'the disk is full',
  ENOTDIR: 'a part of its path is no folder',
  ENXIO: 'there is no such device',
  EPERM: 'the system does not permit it',
  EROFS: 'its disk is read-only',
};

/** Completes "FILE cannot be read: ..". */
export function fileErrorWords(error: unknown): string {
  const { code = '', message = String(error) } = error as { readonly code?: string; readonly message?: string };
  return BY_CODE[code] ?? message;
}

/** Returns the place where a text stops being JSON: `not JSON at line 1, column 2`. @param error the error of JSON.parse */
export function notJson(error: unknown, text: string): string {
  const at = /position (\d+)/.exec((error as Error).message)?.[1];
  if (at === undefined)
    return text.trim() === '' ? 'not JSON: it is empty' : 'not JSON: it ends too early, or a value is missing';
  const before = text.slice(0, Number(at)).split('\n');
  return `not JSON at line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
}

/** The message of whatever was thrown. */
export const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The job's input is wrong, which shows only when it is used. A retry does not help, on any machine. */
export class WrongInput extends RangeError {}

/**
 * Every `ApplicationFailure.type` that crosses Temporal. A rename here is a breaking change: services match on these words
 * (docs/contract.md, "How it ends").
 */
export const FailureType = {
  /** The job's input is wrong. The message is that of `jobctl validate`. Never retried. */
  InvalidJob: 'InvalidJob',
  /** An input that does not match its form in `contract/`, or a text that no shell can hold. Never retried. */
  InvalidInput: 'InvalidInput',
  /** The command failed, or a retry budget is spent: the job's `Outcome` is the failure's only detail. */
  JobFailed: 'JobFailed',
  /** A cluster did not build an image. Only in jobctl's own workflows. */
  BuildFailed: 'BuildFailed',
  /** An outside system answered with an error that a retry may cure. */
  Unavailable: 'Unavailable',
  /** An outside system refused for good: no permission, no such project. Temporal never retries it. */
  Refused: 'Refused',
  /** A worker of another installation got the task. It decides nothing, and a worker of the right installation repeats it. */
  ForeignQueue: 'ForeignQueue',
  /** The target of a call does not exist. Only in jobctl's own workflows. */
  NotFound: 'NotFound',
  /** A message, host or lease of an older epoch tried to change something. Never retried. */
  Fenced: 'Fenced',
} as const;
export type FailureType = (typeof FailureType)[keyof typeof FailureType];
