/** A job file, or flags, and the whole answer. */
export interface WrongFile {
  readonly text: string;
  /** `--set` options beside the file. */
  readonly set?: readonly string[];
  /** The whole message, line by line. */
  readonly want: readonly string[];
}

/** The least that a job file needs, so that a case shows only what is wrong. */
export const TPU = 'tpu: {accelerator: v5litepod-16, zone: us-central1-a}\n';
