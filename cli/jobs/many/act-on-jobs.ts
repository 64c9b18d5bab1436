import type { Asker } from '../../../domain/job-state.js';
import type { JobClient } from '../../../client/job-client.js';
import type { GroupRow } from '../../../client/group-rows.js';
import type { JobFilter } from '../../../client/job-query.js';
import type { JobRow, ShownPhase } from '../../../client/job-rows.js';
import { nothingChanged, ask, mustBeAskable } from '../../terminal/ask.js';
import { askerAt, asKnown, isNobody } from '../../place/asker.js';
import { withClient } from '../../place/connect.js';
import { type ContextFlags, contextToChange } from '../../place/context.js';
import { type FilterFlags, ownFilter } from '../job-filter.js';
import { type ChosenJobs, chooseJobs, refuseUnclear, forEachJob, type JobAnswer } from './chosen-jobs.js';
import { oneLine } from '../../terminal/render/columns.js';
import { count } from '../../../domain/units.js';
import type { OutputFlag } from '../../terminal/options.js';
import { paintPhase } from '../render-job-list.js';
import { lookOf, renderOneLineTable } from '../../terminal/render/look.js';
import { formatDuration } from '../../terminal/render/quantities.js';
import { printErr } from '../../terminal/print.js';

/** Flags of the verbs that change many jobs. */
export interface ManyFlags extends ContextFlags, FilterFlags, ConsentFlags {
  /** The user who asks. */
  readonly by?: string;
}

interface Deed {
  readonly verb: string;
  /** The action in the words of the question. */
  readonly act: string;
  /** Narrows a filter. */
  readonly among: Pick<JobFilter, 'state'>;
  readonly isMeant?: (row: JobRow) => boolean;
  /** Checks the jobs. It may throw before the user is asked. */
  readonly check?: (client: JobClient, chosen: ChosenJobs) => Promise<void>;
  readonly warning?: (chosen: ChosenJobs) => string | undefined;
  /** Prepares the action on all jobs, before the first answer. */
  readonly before?: (client: JobClient, rows: readonly JobRow[], by: Asker) => Promise<void>;
  /** Number of answers awaited at the same time. */
  readonly width?: number;
  readonly answer: (client: JobClient, row: JobRow, by: Asker) => Promise<JobAnswer>;
  /** Meaning of a group's id. A function: it is taken as a whole. Absent: an error. */
  readonly groups?: 'members' | ((client: JobClient, group: GroupRow, by: Asker) => Promise<JobAnswer>);
}

/** Acts on the named or described jobs once the user agreed. @returns the exit code */
export async function actOnJobs(ids: readonly string[], flags: ManyFlags, deed: Deed): Promise<number> {
  refuseUnclear({ verb: deed.verb, ids, flags });
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const { verb, act, among, isMeant, check, warning, before, width, answer, groups } = deed;
    const filter = { ...ownFilter(flags, Date.now(), await asKnown(client, context, flags)), ...among };
    const meaning = groups && { groups: groups === 'members' ? groups : ('whole' as const) };
    const chosen = await chooseJobs(client, { verb, ids, flags, filter, ...(isMeant && { isMeant }), ...meaning });
    await check?.(client, chosen);
    const by = await askerAt(client, flags.by, context);
    const intent = { verb, act, by: by.by, warning: warning?.(chosen) };
    if (!(await isAgreed(chosen, flags, intent))) return nothingChanged();
    await before?.(client, chosen.rows, by);
    const ofGroup = typeof groups === 'function' ? (row: GroupRow) => groups(client, row, by) : undefined;
    const options = { ...(width !== undefined && { width }), ...(ofGroup && { ofGroup }) };
    return forEachJob(chosen, flags, (row) => answer(client, row, by), options);
  });
}

interface ConsentFlags extends OutputFlag {
  readonly yes?: true;
}

interface Intent {
  readonly verb: string;
  /** The action in the words of the question: `cancel`, `cancel, and delete the slices of,`. */
  readonly act: string;
  /** The user who asks. */
  readonly by: string;
  /** A consequence to which the user must agree, even for their own named jobs; undefined: there is none. */
  readonly warning?: string | undefined;
}

const MOST_SHOWN = 20;

/**
 * Asks for agreement about jobs that a filter found, after they were shown, and about other people's.
 * @throws CliError if a question is needed and there is no terminal, and no `--yes`
 */
async function isAgreed(chosen: ChosenJobs, flags: ConsentFlags, { verb, act, by, warning }: Intent): Promise<boolean> {
  const { isFound } = chosen;
  const rows: readonly Shown[] = [...chosen.rows, ...chosen.groups.map(shownGroup)];
  const others = rows.filter(({ user }) => user !== by && !isNobody(user));
  if (rows.length === 0 || (!isFound && others.length === 0 && warning === undefined)) return true;
  const [only] = rows;
  const what = rows.length === 1 && only ? `${only.id} (${only.phase})` : count(rows.length, 'job');
  const reasons = [
    ...(isFound ? [`the filter means ${what}`] : []),
    ...(others.length === 0 ? [] : [othersText(rows, others, by)]),
    ...(warning === undefined ? [] : [warning]),
  ];
  mustBeAskable(flags, `${verb}: ${reasons.join('; ')}`, `--yes does that without a question`);
  if (flags.yes === true) return true;
  if (rows.length > 1) printErr(`${shownJobs(rows).join('\n')}\n`);
  for (const reason of reasons.slice(isFound ? 1 : 0)) printErr(`${reason}\n`);
  return ask(`${capital(act)} ${what}? [y/N] `);
}

/** A job or a group, as it is shown before a question. */
interface Shown extends Pick<JobRow, 'id' | 'project' | 'user' | 'phaseSince' | 'slice'> {
  readonly phase: string;
}

const shownGroup = ({ id, project, user, members, submittedAt, endedAt }: GroupRow): Shown => ({
  ...{ id, project, user, phaseSince: endedAt ?? submittedAt, slice: count(members, 'job') },
  phase: endedAt === undefined ? 'group' : 'group that has ended',
});

/** `train-7f3k is alice's, and you are bob`; `3 of 5 jobs are not yours (you are bob): alice 2, carol 1`. */
function othersText(rows: readonly Shown[], others: readonly Shown[], by: string): string {
  const [only] = others;
  if (rows.length === 1 && only) return oneLine(`${only.id} is ${only.user}'s, and you are ${by}`);
  const counts = new Map<string, number>();
  for (const { user } of others) counts.set(user, (counts.get(user) ?? 0) + 1);
  const names = [...counts].toSorted(([, a], [, b]) => b - a).map(([user, jobs]) => `${user} ${jobs}`);
  return `${others.length} of ${count(rows.length, 'job')} ${others.length === 1 ? 'is' : 'are'} not yours (you are ${by}): ${names.join(', ')}`;
}

/** The first jobs, as rows of the board. */
function shownJobs(rows: readonly Shown[]): readonly string[] {
  const look = lookOf(process.stderr, process.env);
  const now = Date.now();
  const columns = [
    { title: 'JOB', cell: ({ id }: Shown) => id },
    { title: 'PROJECT', cell: ({ project }: Shown) => project, droppedBelow: 12 },
    { title: 'USER', cell: ({ user }: Shown) => user },
    {
      title: 'PHASE',
      cell: ({ phase }: Shown) => phase,
      paint: ({ phase }: Shown, text: string) => paintPhase(phase as ShownPhase, text, look),
    },
    { title: 'TIME', cell: ({ phaseSince }: Shown) => formatDuration(now - phaseSince) },
    { title: 'SLICE', cell: ({ slice }: Shown) => slice },
  ];
  const more = rows.length - MOST_SHOWN;
  return [
    ...renderOneLineTable({ columns, rows: rows.slice(0, MOST_SHOWN) }, look),
    ...(more > 0 ? [`.. and ${more} more`] : []),
  ];
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
