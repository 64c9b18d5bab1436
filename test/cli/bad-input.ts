/** A command line that is refused. FILE is replaced by a file that holds `text`. */
export interface BadInput {
  readonly text?: string | Uint8Array;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly wants: string;
}

/** A good job file. */
export const GOOD = `tpu:
  accelerator: v5litepod-16
  zone: us-central1-a
command:
  run: echo hi
`;
export const SUBMIT = ['submit', 'FILE'];

/** A good file, and wrong flags behind it. */
export const WITH = (wants: string, ...args: readonly string[]): BadInput => ({
  text: GOOD,
  args: [...SUBMIT, ...args],
  wants,
});
