/** What verbs hand back to the one who runs the program. */
export interface Invocation {
  /** Words after `--`; undefined where there is no `--`. */
  readonly commandWords: readonly string[] | undefined;
  exitCode: number;
}
