import type { ExitCode } from './exit-codes.js';

/** An error printed without a stack trace. Its first line says where and what, further, indented lines why and what to do. */
export class CliError extends Error {
  override readonly name = 'CliError';
  readonly exitCode: ExitCode;

  constructor(exitCode: ExitCode, what: string, ...rest: readonly string[]) {
    super([what, ...rest.map((line) => `  ${line}`)].join('\n'));
    this.exitCode = exitCode;
  }
}
