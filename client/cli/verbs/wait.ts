import { withClient } from '../connect.js';
import { resolveContext } from '../context.js';
import type { ContextFlags } from '../context.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { formatDuration } from '../render/quantities.js';
import { followToEnd } from '../watch/follow-to-end.js';
import { watchEnd } from '../watch/interruptions.js';
import { openScreen } from '../watch/screen.js';

export interface WaitFlags extends ContextFlags, OutputFlag {
  /** Milliseconds. */
  readonly timeout?: number;
}

export async function wait(id: string, flags: WaitFlags): Promise<number> {
  const { timeout, output } = flags;
  const context = resolveContext(flags);
  // The connecting counts too.
  const signal = watchEnd(timeout);
  return withClient(context, async (client) => {
    const screen = openScreen(output === 'json');
    const onAbort = (): void => {
      if (signal.reason === 'timeout') throw timedOut(id, timeout ?? 0);
    };
    const { exitCode, row } = await followToEnd({ client, context, id, screen, signal, onAbort });
    if (output === 'json' && row) {
      process.stdout.write(`${JSON.stringify({ id, phase: row.phase, exitCode, outcome: row.outcome }, null, 2)}\n`);
    }
    return exitCode;
  });
}

function timedOut(id: string, timeoutMs: number): CliError {
  return new CliError(
    ExitCode.TimedOut,
    `${id} has not ended within ${formatDuration(timeoutMs)}; it goes on`,
    `\`jobctl wait ${id}\` waits on, \`jobctl status ${id}\` shows where it stands`,
  );
}
