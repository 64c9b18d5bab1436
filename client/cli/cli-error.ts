import type { ExitCode } from './exit-codes.js';

/**
 * What a person is told instead of a stack trace: a first line that says where and what, then lines that say why and what to
 * do, indented by two.
 */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, what: string, ...rest: readonly string[]) {
    super([what, ...rest.map((line) => `  ${line}`)].join('\n'));
    this.exitCode = exitCode;
  }
}
