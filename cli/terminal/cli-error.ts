import type { ExitCode } from './exit-codes.js';

/** An error printed without a stack trace: its first line gives place and problem, indented lines give reason and remedy. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, what: string, ...rest: readonly string[]) {
    super([what, ...rest.map((line) => `  ${line}`)].join('\n'));
    this.exitCode = exitCode;
  }
}
