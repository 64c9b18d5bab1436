import type { GroupRow } from '../../../client/group-rows.js';
import { withSeenEnds } from '../../../client/group-view.js';
import type { JobClient } from '../../../client/job-client.js';
import { type JobRow, resultOf } from '../../../client/job-rows.js';
import type { GroupView } from '../../../contract/group.js';
import { assignmentAt, type JobArray, memberIndexes } from '../../../domain/array/array.js';
import {
  countMarks,
  countsByWord,
  countsText,
  type GroupState,
  hasFiles,
  isRetried,
  MARK_WORDS,
  memberId,
  MemberMark,
  roundAt,
  wordOfMark,
} from '../../../domain/array/group-state.js';
import { askerText } from '../../../domain/job-state.js';
import type { JobMetrics, MetricsChoice } from '../../../client/job-metrics.js';
import type { MetricPoint } from '../../../domain/job-metrics/metric-series.js';
import { eachOf } from '../../../domain/semaphore.js';
import { numberText } from '../../terminal/render/chart.js';
import { type Best, bestOf } from '../metrics/shown-metrics.js';
import { count } from '../../../domain/units.js';
import type { OutputFlag } from '../../terminal/options.js';
import { asTyped } from '../../terminal/print.js';
import { oneLine, renderTable, terminalWidth } from '../../terminal/render/columns.js';
import type { JobAnswer } from '../many/chosen-jobs.js';

/** One member, as tables and JSON show it. */
interface ShownMember {
  readonly index: number;
  readonly id: string;
  readonly parameters: Readonly<Record<string, string | number | boolean>>;
  readonly phase: string;
  readonly why?: string;
  readonly exitCode?: number;
  readonly endedAt?: number;
  readonly metric?: MemberMetric;
}

/** The last value of the metric that is shown of a member, and the best if the user says what that is. */
interface MemberMetric {
  readonly name: string;
  readonly last: MetricPoint;
  readonly best?: MetricPoint;
}

/** Undefined: the store is unknown, or cannot be read. */
export type MetricsReader = (job: string, choice: MetricsChoice) => Promise<JobMetrics | undefined>;

interface GroupStatusOptions extends OutputFlag {
  readonly metric?: string;
  readonly best?: Best;
  readonly readMetrics: MetricsReader;
}

/** The answer of `jobctl status GROUP`. */
export async function groupStatus(
  client: JobClient,
  row: GroupRow,
  { output, ...metrics }: GroupStatusOptions,
): Promise<JobAnswer> {
  const { id } = row;
  const [told, rows] = await Promise.all([client.describeGroup(id), client.find({ group: id })]);
  // A group hears of a terminated member within ten minutes, and its row tells of it now.
  const view = { ...told, state: withSeenEnds(id, told.state, rows) };
  const members = membersOf(view, rows);
  if (output !== 'json') {
    const { shown, more } = shownMembers(members);
    const table = memberTable(view.array, await withMetrics(view, shown, metrics), metrics);
    return { text: [...headLines(row, view), '', ...table, ...more].join('\n'), json: {} };
  }
  const { isCancelling, awaited, stopped, stopRound, isFromLists } = view;
  const counts = Object.fromEntries(namedCounts(view.state));
  const { awaited: _, stopped: __, ...known } = row;
  const now = {
    ...(isCancelling && { isCancelling }),
    ...(awaited !== undefined && { awaited }),
    ...(stopped !== undefined && { stopped }),
    ...(stopRound !== undefined && { stopRound }),
    ...(isFromLists && { isFromLists }),
  };
  return { text: '', json: { ...known, ...now, counts, members: await withMetrics(view, members, metrics) } };
}

/** All words, with the number of members of each. */
export const namedCounts = ({ marks }: GroupState): readonly (readonly [string, number])[] => {
  const counts = countMarks(marks);
  return MARK_WORDS.map(([mark, word]) => [word, counts.get(mark) ?? 0]);
};

function membersOf(
  { group, array, state, notes, isFromLists }: GroupView,
  rows: readonly JobRow[],
): readonly ShownMember[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const noted = new Map(notes);
  return memberIndexes(array).map((index) => {
    const id = memberId({ group, index, round: roundAt(state, index) });
    const mark = state.marks[index];
    const row = mark === MemberMark.Waiting ? undefined : byId.get(id);
    const known = wordOfMark(mark) ?? 'unknown';
    const word = mark === MemberMark.Waiting && isFromLists === true ? 'not known' : known;
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

function headLines({ id, user, project, pool, members, endedAt, counts }: GroupRow, view: GroupView): string[] {
  const { array, state, isCancelling, awaited, stopped, stopRound, isFromLists } = view;
  const { maxParallel, isFailFast } = array;
  const how = [
    ...(maxParallel === undefined ? [] : [`${maxParallel} at a time`]),
    ...(isFailFast ? ['fail_fast'] : []),
    ...(isCancelling ? ['being cancelled'] : []),
  ];
  const isWorthARetry = Array.from(state.marks).some(isRetried);
  const why = endedAt === undefined ? 'No worker answers for it' : 'It was ended in Temporal from outside';
  const last = counts === undefined ? '' : ` It last told: ${countsText(counts)}.`;
  return [
    `${id}   group of ${count(members, 'member')}${how.length === 0 ? '' : `, ${how.join(', ')}`}   ${user}, project ${project}, pool ${pool}`,
    isFromLists === true
      ? `  ${why}. The table has what lists know of its jobs; of other members nothing is known.${last}`
      : `  ${countsText(countsByWord(state.marks))}`,
    ...(awaited === undefined
      ? []
      : [
          `  no member begins yet: the group waits for ${awaited}`,
          asTyped(`  jobctl restart ${id} --set after=null   begins without waiting on`),
        ]),
    ...(stopped === undefined || isCancelling
      ? []
      : [
          `  stopped by ${askerText(stopped)}: no member begins`,
          asTyped(`  jobctl resume ${id}   lets it go on, and its stopped members`),
        ]),
    ...((stopRound?.left ?? 0) === 0
      ? []
      : [`  ${count(stopRound?.left ?? 0, 'member')} still to be asked to ${stopRound?.verb}`]),
    ...(stopRound?.failed.length
      ? [`  ${count(stopRound.failed.length, 'member')} did not answer to ${stopRound.verb}`]
      : []),
    ...(isWorthARetry ? [asTyped(`  jobctl retry ${id} --failed   runs the failed members again`)] : []),
  ];
}

/** Most rows of a table for people. */
const MOST_ROWS = 200;

function shownMembers(members: readonly ShownMember[]): {
  readonly shown: readonly ShownMember[];
  readonly more: readonly string[];
} {
  const isDull = ({ phase }: ShownMember): boolean => phase === 'succeeded' || phase === 'waiting';
  // A long table has only those that a person looks for.
  const chosen = members.length <= MOST_ROWS ? members : members.filter((each) => !isDull(each));
  const shown = chosen.slice(0, MOST_ROWS);
  const left = members.length - shown.length;
  return { shown, more: left === 0 ? [] : [`.. and ${left} more: \`--output json\` has all of them`] };
}

/** Members whose metrics are read at the same time. */
const METRICS_AT_ONCE = 16;

async function withMetrics(
  { state }: Pick<GroupView, 'state'>,
  members: readonly ShownMember[],
  { metric: name, best, readMetrics }: Omit<GroupStatusOptions, 'output'>,
): Promise<readonly ShownMember[]> {
  if (name === undefined) return members;
  const told = new Map<number, MemberMetric>();
  await eachOf(members, METRICS_AT_ONCE, async ({ index, id }) => {
    if (!hasFiles(state.marks[index])) return;
    const found = await readMetrics(id, { names: [name], points: 0, isLastAttempt: best === undefined });
    const [metric] = found?.metrics ?? [];
    if (metric === undefined) return;
    const bestPoint = best && bestOf(metric, best);
    told.set(index, { name, last: metric.last, ...(bestPoint && { best: bestPoint }) });
  });
  return members.map((member) => {
    const metric = told.get(member.index);
    return metric === undefined ? member : { ...member, metric };
  });
}

function memberTable(
  { axes }: JobArray,
  members: readonly ShownMember[],
  { metric: shownMetric, best }: Omit<GroupStatusOptions, 'output'>,
): readonly string[] {
  const names = axes.map(({ name }) => name);
  const heads =
    shownMetric === undefined ? [] : [shownMetric.toUpperCase(), 'STEP', ...(best ? [best.toUpperCase()] : [])];
  const metricCells = ({ metric }: ShownMember): readonly string[] =>
    metric === undefined
      ? heads.map(() => '-')
      : [
          numberText(metric.last.value),
          String(metric.last.step),
          ...(best ? [metric.best === undefined ? '-' : numberText(metric.best.value)] : []),
        ];
  const rows = members.map((member) => [
    String(member.index),
    ...names.map((name) => oneLine(String(member.parameters[name]))),
    member.phase,
    ...metricCells(member),
    member.id,
    oneLine(member.why ?? ''),
  ]);
  return renderTable(
    [['INDEX', ...names.map((name) => name.toUpperCase()), 'PHASE', ...heads, 'JOB', 'WHY'], ...rows],
    terminalWidth(process.stdout),
  );
}
