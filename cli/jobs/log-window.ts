import { InvalidArgumentError } from 'commander';
import type { EpochMs } from '../../domain/units.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { durationOption } from '../terminal/options.js';
import { lastState } from './watch/host-lines.js';

const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Parses a time: how long ago (`10m`, `1h30m`, seconds without a unit), or ISO 8601 (`2026-11-23`, `2026-11-23T10:00:00Z`;
 * local time without a zone, a day alone from its midnight in UTC).
 * @throws InvalidArgumentError
 */
export function sinceOption(text: string): EpochMs {
  const at = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (!Number.isNaN(at)) return at;
  try {
    return Date.now() - durationOption(text);
  } catch {
    throw new InvalidArgumentError(
      'How long ago, such as 90s, 10m or 1h30m, or a time such as 2026-11-23T10:00:00Z or 2026-11-23.',
    );
  }
}

/** Returns a matcher for lines. RE2 syntax, so that no line makes it slow. @throws CliError naming the problem and its place */
export async function lineMatcher(pattern: string): Promise<(line: Buffer) => boolean> {
  const { RE2JS } = await import('re2js');
  try {
    const compiled = RE2JS.compile(pattern);
    return (line) => compiled.matcher(lastState(line).toString('utf8')).find();
  } catch (error) {
    throw new CliError(
      ExitCode.Usage,
      `--grep: '${pattern}' is not a regular expression: ${problemOf(error, pattern)}`,
      'RE2 syntax: most of grep -E and Python, without look-around and backreferences; \\ before a character takes it literally',
    );
  }
}

/** ``missing closing ) at character 4, `(b` ``, from RE2's ``error parsing regexp: missing closing ): `a(b` ``. */
function problemOf(error: unknown, pattern: string): string {
  const message = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error);
  const [, what, fragment] = /^(.*?): `([\s\S]*)`$/.exec(message) ?? [];
  if (what === undefined || fragment === undefined) return message;
  const at = fragment === pattern ? lastOpen(pattern) : pattern.lastIndexOf(fragment);
  return at === -1 ? message : `${what}, at character ${at + 1}: \`${pattern.slice(at)}\``;
}

/** For an unclosed parenthesis, RE2 names the whole pattern. */
function lastOpen(pattern: string): number {
  const open: number[] = [];
  for (let at = 0, isInClass = false; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === '\\') at++;
    else if (isInClass) isInClass = char !== ']';
    else if (char === '[') isInClass = true;
    else if (char === '(') open.push(at);
    else if (char === ')' && open.pop() === undefined) return at;
  }
  return open.at(-1) ?? 0;
}
