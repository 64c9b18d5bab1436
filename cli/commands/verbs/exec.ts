import type { CommandEnd, HostConnection } from '../../../cloud/hosts/port.js';
import { inLoginShell } from '../../../cloud/hosts/login-shell.js';
import { shellWords } from '../../../domain/shell-quote.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type HostResult, onEachHost } from '../../jobs/hosts/fleet.js';
import type { HostChoice } from '../../jobs/hosts/host-options.js';
import { type ExecOutput, execOutput } from '../../jobs/hosts/exec-output.js';
import type { JobHost } from '../../jobs/hosts/job-hosts.js';
import { type ReachFlags, reachHosts } from '../../jobs/hosts/reach.js';
import type { OutputFlag } from '../../terminal/options.js';
import { watchEnd } from '../../jobs/watch/interruptions.js';
import { largest } from '../../../domain/extremes.js';

export interface ExecFlags extends ReachFlags, OutputFlag {
  readonly host: HostChoice;
  readonly stdin?: true;
}

/** ssh's exit code for a failed connection. */
const UNREACHABLE = 255;

/**
 * Runs a command on hosts of a job, beside the job's own command and like it in a login shell.
 * @returns the highest exit code of the hosts; a signal counts as 128 or more, and 255 is a failed connection
 */
export async function exec(job: string, flags: ExecFlags, words: readonly string[] | undefined): Promise<number> {
  const command = inLoginShell(commandLine(job, words));
  const reach = await reachHosts(job, flags.host, flags);
  if (flags.stdin === true && reach.hosts.length > 1)
    throw new CliError(ExitCode.Usage, 'exec --stdin: takes one host; name it with --host');
  const signal = watchEnd();
  const output = execOutput(flags.output === 'json', reach.hosts.length);
  const stdin = flags.stdin === true ? process.stdin : undefined;
  const run = (connection: HostConnection, host: JobHost): Promise<CommandEnd> =>
    connection.exec(command, {
      ...(stdin === undefined ? {} : { stdin }),
      onStdout: (chunk) => output.stdout(host, chunk),
      onStderr: (chunk) => output.stderr(host, chunk),
      signal,
    });
  try {
    const results = await onEachHost(reach, signal, run);
    await finish(output, results);
    return largest(results.map(codeOf), 0);
  } catch (error) {
    if (signal.aborted) return ExitCode.Interrupted;
    throw error;
  }
}

/** Quotes several words one by one and takes a single word as a shell line, as after `submit FILE --`. */
function commandLine(job: string, words: readonly string[] | undefined): string {
  const [first, ...more] = words ?? [];
  if (first === undefined)
    throw new CliError(
      ExitCode.Usage,
      `jobctl exec ${job}: no command after --`,
      "such as -- df -h, or -- 'ls ~ | wc -l'",
    );
  return more.length === 0 ? first : shellWords([first, ...more]);
}

async function finish(output: ExecOutput, results: readonly HostResult<CommandEnd>[]): Promise<void> {
  await output.end(
    results.map((result) =>
      result.kind === 'unreachable'
        ? { host: result.host, exitCode: UNREACHABLE, error: result.message }
        : { host: result.host, exitCode: codeOf(result), ...(result.value.signal && { signal: result.value.signal }) },
    ),
  );
}

/** Scripts should not rely on the numbers of other signals. */
const SIGNAL_NUMBERS: Readonly<Record<string, number>> = { SIGHUP: 1, SIGINT: 2, SIGQUIT: 3, SIGKILL: 9, SIGTERM: 15 };

function codeOf(result: HostResult<CommandEnd>): number {
  if (result.kind === 'unreachable') return UNREACHABLE;
  return result.value.code ?? 128 + (SIGNAL_NUMBERS[result.value.signal ?? ''] ?? 0);
}
