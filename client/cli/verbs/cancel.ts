import { withClient } from '../connect.js';
import { resolveContext } from '../context.js';
import type { ContextFlags } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';

export type CancelFlags = ContextFlags & OutputFlag;

export function cancel(job: string, flags: CancelFlags): Promise<number> {
  return withClient(resolveContext(flags), async (client) => {
    const answer = await client.cancel(job);
    const { phase } = await client.row(job);
    if (flags.output === 'json')
      process.stdout.write(`${JSON.stringify({ id: job, state: answer, phase }, null, 2)}\n`);
    else if (answer === 'done') process.stdout.write(`${job} has ended already: ${phase}. Nothing was changed.\n`);
    else {
      process.stdout.write(
        `${job} is being cancelled: its command is stopped, its slices are deleted.\n  jobctl wait ${job}   until it has ended\n`,
      );
    }
    return ExitCode.Done;
  });
}
