import { withClient } from '../connect.js';
import { resolveContext } from '../context.js';
import type { ContextFlags } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import type { OutputFlag } from '../options.js';
import { renderJobList } from '../render/job-list.js';

export interface ListFlags extends ContextFlags, OutputFlag {
  readonly project?: string;
  readonly user?: string;
  readonly phase?: string;
  readonly limit: number;
}

export function list(flags: ListFlags): Promise<number> {
  const { project, user, phase, limit, output } = flags;
  const filter = {
    limit,
    ...(project === undefined ? {} : { project }),
    ...(user === undefined ? {} : { user }),
    ...(phase === undefined ? {} : { phase }),
  };
  return withClient(resolveContext(flags), async (client) => {
    const page = await client.list(filter);
    if (output === 'json') {
      process.stdout.write(`${JSON.stringify({ jobs: page.rows, total: page.total, open: page.open }, null, 2)}\n`);
      return ExitCode.Done;
    }
    const width = process.stdout.isTTY ? process.stdout.columns : undefined;
    process.stdout.write(`${renderJobList(page, Date.now(), width).join('\n')}\n`);
    return ExitCode.Done;
  });
}
