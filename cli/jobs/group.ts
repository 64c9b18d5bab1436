import { join } from 'node:path';
import type { GroupView } from '../../contract/group.js';
import { assignmentAt, assignmentText, type JobArray, memberIndexes } from '../../domain/array/array.js';
import {
  countMarks,
  countsText,
  groupOfMember,
  type GroupState,
  hasFailed,
  MARK_WORDS,
  memberId,
  MemberMark,
  roundAt,
} from '../../domain/array/group-state.js';
import type { Asker } from '../../domain/job-state.js';
import { count } from '../../domain/units.js';
import type { JobClient } from '../../client/job-client.js';
import type { GroupRow } from '../../client/groups.js';
import { type JobRow, resultOf } from '../../client/job-rows.js';
import { isOutage, pause } from '../../client/errors.js';
import { mustBeAskable, ask, nothingChanged } from '../terminal/ask.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { oneLine, renderTable, terminalWidth } from '../terminal/render/columns.js';
import { asTyped, printErr, printOut } from '../terminal/print.js';
import type { OutputFlag } from '../terminal/options.js';
import { askerAt } from '../place/asker.js';
import { withClient } from '../place/connect.js';
import { type ContextFlags, contextToChange, resolveContext } from '../place/context.js';
import { watchEnd } from '../terminal/interruptions.js';
import { openScreen } from './watch/screen.js';

// Looking -------------------------------------------------------------------------------------------------------------

/** One member, as tables and JSON show it. */
interface ShownMember {
  readonly index: number;
  readonly id: string;
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
  readonly phase: string;
  readonly why?: string;
  readonly exitCode?: number;
  readonly endedAt?: number;
}

export function groupStatus(id: string, flags: ContextFlags & OutputFlag): Promise<number> {
  return withClient(resolveContext(flags), async (client) => {
    const [row, view, rows] = await Promise.all([
      client.group(id),
      client.describeGroup(id),
      client.find({ group: id }),
    ]);
    const members = membersOf(view, rows);
    const { state, isCancelling, awaited } = view;
    if (flags.output === 'json') {
      const counts = Object.fromEntries(namedCounts(state));
      const now = { ...(isCancelling && { isCancelling }), ...(awaited !== undefined && { awaited }) };
      printOut(`${JSON.stringify({ ...row, ...now, counts, members }, null, 2)}\n`);
      return ExitCode.Done;
    }
    printOut(`${[...headLines(row, view), '', ...memberTable(view.array, members)].join('\n')}\n`);
    return ExitCode.Done;
  });
}

const namedCounts = ({ marks }: GroupState): readonly (readonly [string, number])[] => {
  const counts = countMarks(marks);
  return MARK_WORDS.map(([mark, word]) => [word, counts.get(mark) ?? 0]);
};

function membersOf({ group, array, state, notes }: GroupView, rows: readonly JobRow[]): readonly ShownMember[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const noted = new Map(notes);
  return memberIndexes(array).map((index) => {
    const id = memberId({ group, index, round: roundAt(state, index) });
    const mark = state.marks[index];
    const row = mark === MemberMark.Waiting ? undefined : byId.get(id);
    const word = MARK_WORDS.find(([known]) => known === mark)?.[1] ?? 'unknown';
    const why =
      row?.outcome?.cause?.message ?? (row && resultOf(row) === 'succeeded' ? undefined : row?.why) ?? noted.get(index);
    const exitCode = row?.outcome?.exitCode;
    return {
      ...{ index, id, parameters: assignmentAt(array, index), phase: row === undefined ? word : resultOf(row) },
      ...(why === undefined ? {} : { why }),
      ...(exitCode === undefined ? {} : { exitCode }),
      ...(row?.endedAt === undefined ? {} : { endedAt: row.endedAt }),
    };
  });
}

function headLines(
  { id, user, project, pool, members }: GroupRow,
  { array, state, isCancelling, awaited }: GroupView,
): string[] {
  const { maxParallel, isFailFast } = array;
  const how = [
    ...(maxParallel === undefined ? [] : [`${maxParallel} at a time`]),
    ...(isFailFast ? ['fail_fast'] : []),
    ...(isCancelling ? ['being cancelled'] : []),
  ];
  const failed = Array.from(state.marks).some(hasFailed);
  return [
    `${id}   group of ${count(members, 'member')}${how.length === 0 ? '' : `, ${how.join(', ')}`}   ${user}, project ${project}, pool ${pool}`,
    `  ${countsText(state.marks)}`,
    ...(awaited === undefined ? [] : [`  no member begins yet: the group waits for ${awaited}`]),
    ...(failed ? [asTyped(`  jobctl retry ${id} --failed   runs the failed members again`)] : []),
  ];
}

/** Most rows of a table for people. */
const MOST_ROWS = 200;

function memberTable({ axes }: JobArray, members: readonly ShownMember[]): readonly string[] {
  const isDull = ({ phase }: ShownMember): boolean => phase === 'succeeded' || phase === 'waiting';
  // A long table has only those that a person looks for.
  const chosen = members.length <= MOST_ROWS ? members : members.filter((each) => !isDull(each));
  const shown = chosen.slice(0, MOST_ROWS);
  const left = members.length - shown.length;
  const names = axes.map(({ name }) => name);
  const rows = shown.map(({ index, id, parameters, phase, why = '' }) => [
    String(index),
    ...names.map((name) => oneLine(String(parameters[name]))),
    phase,
    id,
    oneLine(why),
  ]);
  const more = left === 0 ? [] : [`.. and ${left} more: \`--output json\` has all of them`];
  return [
    ...renderTable(
      [['INDEX', ...names.map((name) => name.toUpperCase()), 'PHASE', 'JOB', 'WHY'], ...rows],
      terminalWidth(process.stdout),
    ),
    ...more,
  ];
}

// Changing ------------------------------------------------------------------------------------------------------------

interface ConsentFlags extends ContextFlags, OutputFlag {
  readonly yes?: true;
  readonly by?: string;
}

export function groupCancel(id: string, flags: ConsentFlags): Promise<number> {
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const [row, by] = await Promise.all([client.group(id), askerAt(client, flags.by, context)]);
    if (row.user !== by.by && !NOBODY.has(row.user)) {
      const why = `${id} is ${row.user}'s, and you are ${by.by}`;
      mustBeAskable(flags, `cancel: ${why}`, '--yes does that without a question');
      if (flags.yes !== true && !(await ask(`${why}\nCancel all members of ${id}? [y/N] `))) return nothingChanged();
    }
    const state = await client.cancelGroup(id, { ...by, verb: 'cancel' });
    if (flags.output === 'json') printOut(`${JSON.stringify({ id, state }, null, 2)}\n`);
    else if (state === 'done') printOut(`group ${id} has ended already. Nothing was changed.\n`);
    else
      printOut(
        asTyped(
          `${id}: its cancel is recorded. Members that run are cancelled, and no other begins.\n  jobctl wait ${id}   until all have ended\n`,
        ),
      );
    return ExitCode.Done;
  });
}

/**
 * Cancels the groups of members that a filter found, before these: a group starts another member in the place of each that ends.
 * @param isWhole false if the filter means some members of a group and not others; then it is only said which groups go on
 */
export async function cancelGroupsOf(
  client: JobClient,
  rows: readonly Pick<JobRow, 'id'>[],
  { by, isWhole }: { readonly by: Asker; readonly isWhole: boolean },
): Promise<void> {
  const ids = new Set(rows.flatMap(({ id }) => groupOfMember(id) ?? []));
  for (const id of ids) {
    const group = await client.group(id).catch((error: unknown) => {
      // A job may be named like a member.
      if ((error as Partial<Error>).name === 'GroupNotFound') return undefined;
      throw error;
    });
    if (group === undefined || group.endedAt !== undefined) continue;
    if (isWhole) await client.cancelGroup(id, { ...by, verb: 'cancel' });
    const said = isWhole
      ? `group ${id}: its cancel is recorded, and no other member begins`
      : `group ${id} goes on: its other members are not cancelled; \`jobctl cancel ${id}\` ends them all`;
    printErr(`${asTyped(said)}\n`);
  }
}

/** User of a group whose submitter is unknown. */
const NOBODY: ReadonlySet<string> = new Set(['-', 'unknown']);

export interface RetryFlags extends ConsentFlags {
  readonly failed?: true;
}

/** `retry GROUP --failed` */
export function retry(id: string, flags: RetryFlags): Promise<number> {
  if (flags.failed !== true)
    throw new CliError(
      ExitCode.Usage,
      'jobctl retry: which members?',
      `jobctl retry ${id} --failed runs again those that failed, were terminated or refused, or were skipped by fail_fast`,
      'a job that is no member runs again with `jobctl restart JOB` while it is open, else with `jobctl submit` of its file',
    );
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const { by, from } = await askerAt(client, flags.by, context);
    const message = await client.retryGroup(id, by, from === undefined ? {} : { from });
    printOut(flags.output === 'json' ? `${JSON.stringify({ id, message }, null, 2)}\n` : `${message}\n`);
    return ExitCode.Done;
  });
}

// Waiting -------------------------------------------------------------------------------------------------------------

interface WaitFlags extends ContextFlags, OutputFlag {
  /** Milliseconds. */
  readonly timeout?: number;
}

export function groupWait(id: string, flags: WaitFlags): Promise<number> {
  const signal = watchEnd(flags.timeout);
  return withClient(resolveContext(flags), (client) => waitForGroup(client, id, flags, signal));
}

const LOOK_MS = 1_000;

/** Waits until all members have ended. @returns 0 if all succeeded, else 1 */
export async function waitForGroup(
  client: JobClient,
  id: string,
  { output, timeout = 0 }: Pick<WaitFlags, 'output' | 'timeout'>,
  signal: AbortSignal,
): Promise<number> {
  const screen = openScreen(output === 'json');
  for (;;) {
    const [row, known] = await Promise.all([client.group(id), client.count({ group: id })]).catch((error: unknown) => {
      if (!isOutage(error)) throw error;
      return [];
    });
    if (row?.endedAt !== undefined) break;
    if (row && known) screen.current(`${known.total - known.open} of ${count(row.members, 'member')} have ended`);
    await pause(LOOK_MS, signal);
    if (!signal.aborted) continue;
    screen.current(undefined);
    if (signal.reason === 'timeout')
      throw new CliError(
        ExitCode.TimedOut,
        `group ${id} has not ended within ${timeout / 1_000} s; it goes on`,
        `\`jobctl wait ${id}\` waits on, \`jobctl status ${id}\` shows where it stands`,
      );
    printErr(`\ngroup ${id} goes on\n`);
    return ExitCode.Interrupted;
  }
  screen.current(undefined);
  const view = await client.describeGroup(id);
  const { marks } = view.state;
  const isGood = Array.from(marks).every((mark) => mark === MemberMark.Succeeded || mark === MemberMark.Gap);
  if (output === 'json') {
    printOut(`${JSON.stringify({ id, counts: Object.fromEntries(namedCounts(view.state)) }, null, 2)}\n`);
  } else {
    for (const [index, mark] of Array.from(marks).entries())
      if (hasFailed(mark)) screen.line(bothWays(failedLine(view, index)));
    screen.line(bothWays(`group ${id}: ${countsText(marks)}`));
  }
  return isGood ? ExitCode.Done : ExitCode.Failed;
}

const bothWays = (line: string) => ({ live: line, plain: line });

function failedLine({ group, array, state }: GroupView, index: number): string {
  const word = MARK_WORDS.find(([mark]) => mark === state.marks[index])?.[1] ?? 'failed';
  return `${memberId({ group, index, round: roundAt(state, index) })} ${word}: ${assignmentText(assignmentAt(array, index))}`;
}

// Members -------------------------------------------------------------------------------------------------------------

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

/** Marks of members that have begun nothing. The job that has the id of one that is `Taken` is somebody else's. */
const WITHOUT_FILES: ReadonlySet<string> = new Set([MemberMark.Waiting, MemberMark.Skipped, MemberMark.Taken]);

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
    if (WITHOUT_FILES.has(marks[index] ?? '')) continue;
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
