import type { GroupRow } from '../../../client/group-rows.js';
import { isOutage, pause } from '../../../client/errors.js';
import type { JobClient } from '../../../client/job-client.js';
import type { GroupView } from '../../../contract/group.js';
import { memberId, roundAt } from '../../../domain/array/group-state.js';
import type { Asker } from '../../../domain/job-state.js';
import { count } from '../../../domain/units.js';
import { askerAt } from '../../place/asker.js';
import { withClient } from '../../place/connect.js';
import { type ContextFlags, contextToChange } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import { watchEnd } from '../../terminal/interruptions.js';
import type { OutputFlag } from '../../terminal/options.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';
import type { JobAnswer } from '../many/chosen-jobs.js';

/** Time limit for the wait at the terminal. The group goes on asking its members by itself. */
const MOST_WAIT_MS = 60_000;
const LOOK_MS = 500;

/** `stop GROUP`, beside other ids too. */
export async function stopGroup(
  client: JobClient,
  { id }: Pick<GroupRow, 'id'>,
  { by, from }: Asker,
  release: boolean,
): Promise<JobAnswer> {
  const message = await client.stopGroup(id, by, { ...(from !== undefined && { from }), ...(release && { release }) });
  return answered(client, id, message);
}

interface ResumeFlags extends ContextFlags, OutputFlag {
  readonly by?: string;
}

/** `resume GROUP`: each stopped member continues with the file that it has, and others begin again. */
export function resumeGroup(id: string, flags: ResumeFlags): Promise<number> {
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const { by, from } = await askerAt(client, flags.by, context);
    const message = await client.resumeGroup(id, by, from === undefined ? {} : { from });
    const { text, json, exitCode = ExitCode.Done } = await answered(client, id, message);
    printOut(flags.output === 'json' ? `${JSON.stringify({ id, ...json }, null, 2)}\n` : `${text}\n`);
    return exitCode;
  });
}

/** Waits until every member has answered, for a bounded time, and says what they answered. */
async function answered(client: JobClient, id: string, message: string): Promise<JobAnswer> {
  const signal = watchEnd(MOST_WAIT_MS);
  const view = await lastView(client, id, signal);
  const round = view?.stopRound;
  if (view === undefined || round === undefined) return { text: message, json: { message } };
  const { verb, left, done, idle } = round;
  const failed = round.failed.map(([index, why]) => ({
    ...{ index, id: memberId({ group: id, index, round: roundAt(view.state, index) }), why },
  }));
  for (const member of failed) printErr(`${member.id}: ${member.why}\n`);
  const what = verb === 'stop' ? 'stopped, or about to be' : 'going on';
  const lines = [
    message,
    `  ${count(done, 'member')} ${what}; ${idle} had nothing to ${verb}`,
    ...(failed.length === 0 ? [] : [`  ${failed.length} did not answer`]),
    ...(left === 0
      ? []
      : [asTyped(`  ${count(left, 'member')} still to be asked: that goes on without you (jobctl status ${id})`)]),
  ];
  const json = { message, done, idle, left, failed };
  return { text: lines.join('\n'), json, ...(failed.length > 0 && { exitCode: ExitCode.Failed }) };
}

/** The group once all have answered, or as it is when the wait is over. Undefined: nobody can tell. */
async function lastView(client: JobClient, id: string, signal: AbortSignal): Promise<GroupView | undefined> {
  let view: GroupView | undefined;
  for (;;) {
    // The call was taken: a server that is away now undoes nothing.
    view = await client.describeGroup(id).catch((error: unknown) => {
      if (!isOutage(error)) throw error;
      return view;
    });
    if (view?.stopRound?.left === 0 || view?.isFromLists === true || signal.aborted) return view;
    await pause(LOOK_MS, signal);
  }
}
