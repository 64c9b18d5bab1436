import { eachOf } from '../../../domain/semaphore.js';
import type { JobClient } from '../../../client/job-client.js';
import type { GroupRow } from '../../../client/group-rows.js';
import type { JobFilter } from '../../../client/job-query.js';
import type { JobRow } from '../../../client/job-rows.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type FilterFlags, isFiltered } from '../job-filter.js';
import { count } from '../../../domain/units.js';
import { explainError } from '../../terminal/explain-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut, printPainted } from '../../terminal/print.js';

/** Concurrent Temporal calls of one command. */
export const WIDTH = 16;

/** The jobs that a command line selects. */
export interface ChosenJobs {
  readonly rows: readonly JobRow[];
  /** Named groups that the verb takes as a whole. */
  readonly groups: readonly GroupRow[];
  /** Members of named groups are among the rows. */
  readonly isOfMembers: boolean;
  /** Named ids that could not be read, with the error. */
  readonly missing: ReadonlyMap<string, Error>;
  /** True if a filter found the jobs, so that the user has not yet seen their names. */
  readonly isFound: boolean;
}

interface Choice {
  /** `cancel`, for messages. */
  readonly verb: string;
  readonly ids: readonly string[];
  readonly flags: FilterFlags;
  readonly filter: JobFilter;
  /** Returns whether the verb applies to a job that a filter found. */
  readonly isMeant?: (row: JobRow) => boolean;
  /** Meaning of a group's id: the group, or those of its members that the filter finds. Absent: an error. */
  readonly groups?: 'whole' | 'members';
}

/**
 * Jobs by id, strongly consistent, or those that the flags describe.
 * @throws JobNotFound for a single id; CliError if no member of a group is meant
 */
export async function chooseJobs(client: JobClient, choice: Choice): Promise<ChosenJobs> {
  const { ids, flags, filter, isMeant = () => true } = choice;
  if (isFiltered(flags)) {
    const found = (await client.find(filter)).filter(isMeant);
    return { rows: found, groups: [], isOfMembers: false, missing: new Map(), isFound: true };
  }
  const named = [...new Set(ids)];
  const rows = new Map<string, readonly JobRow[]>();
  const groups = new Map<string, GroupRow>();
  const missing = new Map<string, Error>();
  let isOfMembers = false;
  await eachOf(named, WIDTH, async (id) => {
    try {
      rows.set(id, [await client.row(id)]);
    } catch (error) {
      const { name, isGroup } = error as Error & { readonly isGroup?: boolean };
      if (name !== 'JobNotFound') throw error;
      if (isGroup === true && choice.groups === 'whole') groups.set(id, await client.group(id));
      else if (isGroup === true && choice.groups === 'members') {
        isOfMembers = true;
        const members = (await client.find({ ...filter, group: id })).filter(isMeant);
        if (members.length > 0) rows.set(id, members);
        else if (named.length === 1) throw noMemberMeant(choice.verb, id);
        else missing.set(id, noMemberMeant(choice.verb, id));
      } else if (named.length === 1) throw await orSchedule(client, id, error as Error);
      else missing.set(id, error as Error);
    }
  });
  const inOrder = <T>(found: ReadonlyMap<string, T>): readonly T[] => named.flatMap((id) => found.get(id) ?? []);
  // One may be named by its own id too.
  const once = new Map(
    inOrder(rows)
      .flat()
      .map((row) => [row.id, row]),
  );
  return { rows: [...once.values()], groups: inOrder(groups), isOfMembers, missing, isFound: false };
}

const noMemberMeant = (verb: string, id: string): CliError =>
  new CliError(
    ExitCode.Refused,
    `jobctl ${verb}: no member of group ${id} is in a phase for that. Nothing was changed`,
    `\`jobctl status ${id}\` shows its members`,
  );

/** Checks the flags without a server. @throws CliError unless jobs are either named or described */
export function refuseUnclear({ verb, ids, flags }: Pick<Choice, 'verb' | 'ids' | 'flags'>): void {
  if (ids.length > 0 === isFiltered(flags)) {
    const what = ids.length > 0 ? 'jobs are named and described: give one or the other' : 'which jobs?';
    throw new CliError(
      ExitCode.Usage,
      `jobctl ${verb}: ${what}`,
      `jobctl ${verb} JOB.. names them; jobctl ${verb} --name 'lr-*' --mine describes them`,
      `\`jobctl ${verb} --help\` shows every filter`,
    );
  }
}

/** The result for one job: a line for people, and the JSON fields in addition to the id. */
export interface JobAnswer {
  readonly text: string;
  readonly json: object;
  /** Absent: 0. */
  readonly exitCode?: number;
}

interface ForEachOptions {
  /** Number of answers awaited at the same time. */
  readonly width?: number;
  /** The answer for a group that is taken as a whole. */
  readonly ofGroup?: (group: GroupRow) => Promise<JobAnswer>;
}

interface Subject {
  readonly id: string;
  readonly answer: () => Promise<JobAnswer>;
}

/** Returns whether a single job was named: its answer is printed alone, and its error ends the command. */
const isOne = ({ rows, groups, missing, isFound, isOfMembers }: ChosenJobs): boolean =>
  !isFound && !isOfMembers && rows.length + groups.length + missing.size === 1;

/**
 * Does `act` to each job, some at a time, and prints the results: one line per job when it is done, on stderr if it failed, or
 * one JSON document. A failure of one job does not stop the others; an interruption stops all that have not begun.
 * @returns 0, or if any failed, the exit code common to all failures, otherwise 1
 */
export async function forEachJob(
  chosen: ChosenJobs,
  { output }: OutputFlag,
  act: (row: JobRow) => Promise<JobAnswer>,
  { width = WIDTH, ofGroup }: ForEachOptions = {},
): Promise<number> {
  const isJson = output === 'json';
  const subjects: readonly Subject[] = [
    ...chosen.rows.map((row) => ({ id: row.id, answer: () => act(row) })),
    ...chosen.groups.flatMap((row) => (ofGroup ? [{ id: row.id, answer: () => ofGroup(row) }] : [])),
  ];
  if (isOne(chosen)) {
    for (const { id, answer } of subjects) {
      const { text, json, exitCode = ExitCode.Done } = await answer();
      printPainted(`${isJson ? JSON.stringify({ id, ...json }, null, 2) : text}\n`);
      return exitCode;
    }
  }
  const answers = new Map<string, object>();
  const codes: number[] = [];
  const failed = (id: string, error: unknown): void => {
    const { text, exitCode } = explainError(error, false);
    codes.push(exitCode);
    answers.set(id, { error: text, exitCode });
    if (!isJson) printErr(`${id}: ${firstLine(text)}\n`);
  };
  for (const [id, error] of chosen.missing) failed(id, error);
  let isInterrupted = false;
  await eachOf(subjects, width, async ({ id, answer }) => {
    try {
      if (isInterrupted) throw new CliError(ExitCode.Interrupted, 'not asked: interrupted before its turn');
      const { text, json, exitCode } = await answer();
      answers.set(id, json);
      if (exitCode !== undefined) codes.push(exitCode);
      if (!isJson) printPainted(`${text}\n`);
    } catch (error) {
      isInterrupted ||= error instanceof Error && error.name === 'WaitInterrupted';
      failed(id, error);
    }
  });
  const ids = [...subjects.map(({ id }) => id), ...chosen.missing.keys()];
  if (isJson) printOut(`${JSON.stringify({ jobs: ids.map((id) => ({ id, ...answers.get(id) })) }, null, 2)}\n`);
  else if (ids.length === 0) printErr('no job matches: nothing was done\n');
  else if (codes.length > 0) printErr(`${codes.length} of ${count(ids.length, 'job')} failed\n`);
  return commonCode(codes);
}

function commonCode(codes: readonly number[]): number {
  const [first = ExitCode.Done] = codes;
  return codes.every((code) => code === first) ? first : ExitCode.Failed;
}

const firstLine = (text: string): string => text.split('\n')[0] ?? '';

/** The error for the id of no job. It says so if a schedule has that name. */
async function orSchedule(client: JobClient, id: string, error: Error): Promise<Error> {
  try {
    await client.schedules().view(id);
  } catch {
    return error;
  }
  return new CliError(
    ExitCode.NotFound,
    `'${id}' is a schedule, and a job or group is wanted`,
    `\`jobctl schedule status ${id}\` shows the jobs that it has started`,
  );
}
