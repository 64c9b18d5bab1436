import type { GroupRow } from '../../../client/group-rows.js';
import type { JobClient } from '../../../client/job-client.js';
import type { JobRow } from '../../../client/job-rows.js';
import { groupOfMember } from '../../../domain/array/group-state.js';
import type { Asker } from '../../../domain/job-state.js';
import { askerAt } from '../../place/asker.js';
import { withClient } from '../../place/connect.js';
import { type ContextFlags, contextToChange } from '../../place/context.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';
import type { ChosenJobs, JobAnswer } from '../many/chosen-jobs.js';

/** `cancel GROUP`, beside other ids too. */
export async function cancelGroup(client: JobClient, { id }: GroupRow, by: Asker): Promise<JobAnswer> {
  const state = await client.cancelGroup(id, { ...by, verb: 'cancel' });
  const text =
    state === 'done'
      ? `group ${id} has ended already. Nothing was changed.`
      : asTyped(
          `${id}: its cancel is recorded. Members that run are cancelled, and no other begins.\n  jobctl wait ${id}   until all have ended`,
        );
  return { text, json: { state } };
}

interface EndOfGroups {
  readonly by: Asker;
  readonly isWhole: boolean;
  readonly verb: 'cancel' | 'stop';
  /** For `stop`: slices and leases go back too. */
  readonly release?: boolean;
}

/**
 * Cancels or stops the groups of members that a filter found, before these: a group starts another member in the place of each
 * that ends.
 * @param isWhole false if the filter means some members of a group and not others; then it is only said which groups go on
 */
export async function endGroupsOf(
  client: JobClient,
  rows: readonly Pick<JobRow, 'id'>[],
  { by, isWhole, verb, release }: EndOfGroups,
): Promise<void> {
  const ids = new Set(rows.flatMap(({ id }) => groupOfMember(id) ?? []));
  for (const id of ids) {
    const group = await client.group(id).catch((error: unknown) => {
      // A job may be named like a member.
      if ((error as Partial<Error>).name === 'GroupNotFound') return undefined;
      throw error;
    });
    if (group === undefined || group.endedAt !== undefined) continue;
    if (isWhole && verb === 'cancel') await client.cancelGroup(id, { ...by, verb });
    else if (isWhole)
      await client.stopGroup(id, by.by, {
        ...(by.from !== undefined && { from: by.from }),
        ...(release && { release }),
      });
    const [done, all] = verb === 'cancel' ? ['cancelled', 'ends them all'] : ['stopped', 'stops them all'];
    const said = isWhole
      ? `group ${id}: its ${verb} is recorded, and no other member begins`
      : `group ${id} goes on: its other members are not ${done}; \`jobctl ${verb} ${id}\` ${all}`;
    printErr(`${asTyped(said)}\n`);
  }
}

/**
 * For verbs that act on all members of a group that has ended.
 * @param ids as named
 * @throws CliError if one of them is a group that goes on: it would begin other members meanwhile
 */
export async function mustHaveEnded(
  client: JobClient,
  ids: readonly string[],
  { rows, isOfMembers }: ChosenJobs,
): Promise<void> {
  if (!isOfMembers) return;
  const known = new Set(rows.map(({ id }) => id));
  for (const id of ids) {
    if (known.has(id) || (await client.group(id)).endedAt !== undefined) continue;
    throw new CliError(
      ExitCode.Refused,
      `group ${id} goes on: it would begin other members. Nothing was changed`,
      asTyped(`\`jobctl cancel ${id}\` ends it, \`jobctl wait ${id}\` waits for that`),
    );
  }
}

interface ChangeFlags extends ContextFlags, OutputFlag {
  readonly by?: string;
}

export interface RetryFlags extends ChangeFlags {
  readonly failed?: true;
}

/** `retry GROUP --failed` */
export function retry(id: string, flags: RetryFlags): Promise<number> {
  if (flags.failed !== true)
    throw new CliError(
      ExitCode.Usage,
      'jobctl retry: which members?',
      `jobctl retry ${id} --failed runs again those that failed, were terminated or refused, or were kept from beginning`,
      'a job that is no member runs again with `jobctl restart JOB` while it is open, else with `jobctl submit` of its file',
    );
  return askGroup(id, flags, (client, { by, from }) => client.retryGroup(id, by, from === undefined ? {} : { from }));
}

/** `restart GROUP --set after=null`: the group begins without waiting on for others. */
export const begin = (id: string, flags: ChangeFlags): Promise<number> =>
  askGroup(id, flags, (client, { by, from }) => client.beginGroup(id, by, from === undefined ? {} : { from }));

function askGroup(
  id: string,
  flags: ChangeFlags,
  call: (client: JobClient, asker: Asker) => Promise<string>,
): Promise<number> {
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const message = await call(client, await askerAt(client, flags.by, context));
    printOut(flags.output === 'json' ? `${JSON.stringify({ id, message }, null, 2)}\n` : `${message}\n`);
    return ExitCode.Done;
  });
}
