import { join } from 'node:path';
import type { JobClient } from '../../../client/job-client.js';
import { memberIndexes } from '../../../domain/array/array.js';
import { hasFiles, memberId, MemberMark, roundAt } from '../../../domain/array/group-state.js';
import { count } from '../../../domain/units.js';
import { withClient } from '../../place/connect.js';
import { type ContextFlags, resolveContext } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr } from '../../terminal/print.js';

/** The id of a member's job in its last round. @throws CliError for an index that the group does not have */
export async function memberJob(client: JobClient, id: string, index: number): Promise<string> {
  const { array, state } = await client.describeGroup(id);
  const job = memberId({ group: id, index, round: roundAt(state, index) });
  if (state.marks[index] === MemberMark.Taken)
    throw new CliError(
      ExitCode.NotFound,
      `--member ${index}: it was not started: the job ${job} is not of group ${id}`,
      `\`jobctl retry ${id} --failed\` starts it under another id`,
    );
  if (memberIndexes(array).includes(index)) return job;
  throw new CliError(
    ExitCode.NotFound,
    `--member ${index}: group ${id} has no such member`,
    `\`jobctl status ${id}\` lists its members`,
  );
}

/** @throws CliError: the lines of many jobs in one stream would help nobody */
export const whichMember = (id: string): never => {
  throw new CliError(
    ExitCode.Usage,
    `jobctl logs: ${id} is a group; of which member?`,
    `jobctl logs ${id} --member 3, or the id of the member's job`,
    `\`jobctl status ${id}\` lists them`,
  );
};

/** Downloads what each member that began has stored into a folder of its index. @param ofJob downloads one job */
export async function groupDownload(
  id: string,
  directory: string | undefined,
  flags: ContextFlags & OutputFlag,
  ofJob: (job: string, directory: string) => Promise<number>,
): Promise<number> {
  const view = await withClient(resolveContext(flags), (client) => client.describeGroup(id));
  let [done, failed] = [0, 0];
  for (const index of memberIndexes(view.array)) {
    const { marks } = view.state;
    if (!hasFiles(marks[index])) continue;
    const job = memberId({ group: id, index, round: roundAt(view.state, index) });
    try {
      if ((await ofJob(job, join(directory ?? id, String(index)))) === ExitCode.Done) done += 1;
      else failed += 1;
    } catch (error) {
      if (!(error instanceof CliError) || error.exitCode !== ExitCode.NotFound) throw error;
      printErr(`${error.message.split('\n')[0] ?? ''}\n`);
    }
  }
  if (flags.output !== 'json') printErr(`${count(done, 'member')} of ${id} downloaded\n`);
  return done > 0 && failed === 0 ? ExitCode.Done : ExitCode.Failed;
}
