import { withClient } from '../connect.js';
import { resolveContext } from '../context.js';
import type { ContextFlags } from '../context.js';
import { ExitCode } from '../exit-codes.js';
import { knownToFail, withFailingTasks } from '../failing-jobs.js';
import type { OutputFlag } from '../options.js';
import { placesOf } from '../quota/places.js';
import { renderJobList } from '../render/job-list.js';
import { terminalWidth } from '../render/columns.js';

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
  const context = resolveContext(flags);
  return withClient(context, async (client) => {
    const [listed, failing] = await Promise.all([client.list(filter), knownToFail(context)]);
    const page = { ...listed, rows: await withFailingTasks(listed.rows, failing, client) };
    const places = await placesOf(page.rows, context);
    if (output === 'json') {
      const jobs = page.rows.map((row) => ({ ...row, ...places.byJob.get(row.id) }));
      process.stdout.write(`${JSON.stringify({ jobs, total: page.total, open: page.open }, null, 2)}\n`);
      return ExitCode.Done;
    }
    const width = terminalWidth(process.stdout);
    process.stdout.write(`${renderJobList(page, places, Date.now(), width).join('\n')}\n`);
    return ExitCode.Done;
  });
}
