import type { JobClient } from '../../../client/job-client.js';
import { openRecord, readDayFiles, reportOverHttp } from '../../../client/counted.js';
import {
  type Grouping,
  isIn,
  joined,
  type Report,
  reportOf,
  type ReportRow,
  totals,
} from '../../../domain/counted/report.js';
import type { JobRecord } from '../../../domain/counted/record.js';
import { messageOf } from '../../../domain/errors.js';
import { eachOf } from '../../../domain/semaphore.js';
import { count, type EpochMs } from '../../../domain/units.js';
import { openReader, withClient } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext, storeOf } from '../../place/context.js';
import { ExitCode } from '../../terminal/cli-error.js';
import { printErr, printOut } from '../../terminal/print.js';
import { hours, reportCsv, type ReportName, reportSvg, reportTable } from '../../terminal/render/report.js';
import { terminalWidth } from '../../terminal/render/columns.js';
import { utcMinute } from '../../terminal/render/quantities.js';

export interface ReportFlags extends ContextFlags {
  readonly by: Grouping;
  readonly since: EpochMs;
  readonly project?: string;
  readonly user?: string;
  readonly pool?: string;
  readonly ended?: true;
  readonly output: 'table' | 'csv' | 'json' | 'svg';
}

export const reportUsage = (flags: ReportFlags): Promise<number> => report('usage', flags);
export const reportCost = (flags: ReportFlags): Promise<number> => report('cost', flags);
export const reportGoodput = (flags: ReportFlags): Promise<number> => report('goodput', flags);
export const reportAvailability = (flags: ReportFlags): Promise<number> => report('availability', flags);

async function report(name: ReportName, flags: ReportFlags): Promise<number> {
  const { by, since, output } = flags;
  const now = Date.now();
  const { found, notes } = await reported(resolveContext(flags), flags);
  const { rows } = found;
  const title = `${name} by ${by}, ${utcMinute(since)} to ${utcMinute(now)} UTC`;
  const gaps = [...notes, ...gapsOf(found, name)];
  switch (output) {
    case 'json': {
      const whole = { report: name, by, from: since, to: now, rows, totals: totals(rows), notes: gaps };
      printOut(`${JSON.stringify(whole, null, 2)}\n`);
      break;
    }
    case 'csv':
    case 'svg':
      printOut(output === 'csv' ? reportCsv(rows, by) : reportSvg(rows, name, title));
      for (const gap of gaps) printErr(`${gap}\n`);
      break;
    case 'table':
      printOut(`${[title, '', ...tableOf(rows, name, by), ...gaps.map((gap) => `  ${gap}`)].join('\n')}\n`);
  }
  return ExitCode.Done;
}

function tableOf(rows: readonly ReportRow[], name: ReportName, by: Grouping): readonly string[] {
  if (rows.length === 0) return ['  no job was counted in this time'];
  return [...reportTable(rows, name, by, terminalWidth(process.stdout)), ''];
}

interface Reported {
  readonly found: Report;
  /** Limits of the answer, one sentence each. */
  readonly notes: readonly string[];
}

interface Counted {
  readonly records: readonly JobRecord[];
  readonly notes: readonly string[];
}

/** Ended jobs from the day files, or from a server that reads them; and open ones from their workflows. */
async function reported(context: CliContext, flags: ReportFlags): Promise<Reported> {
  const { by, since, project, user, pool } = flags;
  const open = flags.ended === true ? NO_OPEN : await openJobs(context, flags);
  const place = storeOf(context, 'there are no day files of ended jobs');
  if ('server' in place) {
    const { serverOptionsOf } = await import('../../place/login/server-access.js');
    const wish = { by, since, ...(project && { project }), ...(user && { user }), ...(pool && { pool }) };
    const ended = await reportOverHttp(serverOptionsOf(place.server), wish);
    return {
      found: joined(ended as Report, reportOf(open.records, by), by),
      notes: [...unreadableNote(ended.unreadable), ...hiddenNote(ended.hidden), ...open.notes],
    };
  }
  const { records: ended, unreadable } = await readDayFiles(await openReader(place), since);
  const known = new Set(ended.map(({ job, run }) => `${job}/${run}`));
  // An open job may have ended in between.
  const records = [...ended, ...open.records.filter(({ job, run }) => !known.has(`${job}/${run}`))];
  const found = reportOf(
    records.filter((record) => isIn(record, flags)),
    by,
  );
  return { found, notes: [...unreadableNote(unreadable), ...open.notes] };
}

const unreadableNote = (lines: number): readonly string[] =>
  lines === 0 ? [] : [`${count(lines, 'line')} of day files could not be read: damaged, or written by another version`];
const hiddenNote = (jobs: number): readonly string[] =>
  jobs === 0
    ? []
    : [`${count(jobs, 'job')} of projects that you may not read ${jobs === 1 ? 'is' : 'are'} not counted`];

const NO_OPEN: Counted = { records: [], notes: ['jobs that have not ended are not counted (--ended)'] };
const MOST_OPEN = 1_000;
const VIEWS_AT_ONCE = 8;

async function openJobs(context: CliContext, flags: ReportFlags): Promise<Counted> {
  try {
    return await withClient(context, (client) => openOf(client, flags));
  } catch (error) {
    return { records: [], notes: [`jobs that have not ended are not counted: ${messageOf(error).split('\n')[0]}`] };
  }
}

async function openOf(client: JobClient, { project, user, pool }: ReportFlags): Promise<Counted> {
  const filter = { state: 'open', ...(project && { project }), ...(user && { user }), ...(pool && { pool }) } as const;
  const { rows, total } = await client.list({ ...filter, limit: MOST_OPEN });
  const records: JobRecord[] = [];
  await eachOf(rows, VIEWS_AT_ONCE, async (row) => {
    const view = await client.describe(row.id).catch(() => undefined);
    const record = view && openRecord(row, view);
    if (record !== undefined) records.push(record);
  });
  const missing = total - records.length;
  const note = `${count(missing, 'job')} not ended and not counted: no worker answered for them, or they are too many`;
  return { records, notes: missing > 0 ? [note] : [] };
}

function gapsOf({ rows, rehearsed, leaving, prices }: Report, name: ReportName): readonly string[] {
  const unpriced = rows.reduce((sum, row) => sum + row.unpriced, 0);
  const unknown = rows.reduce((sum, row) => sum + row.lostUnknown, 0);
  const told: readonly (readonly [boolean, string])[] = [
    [
      rehearsed > 0,
      `REHEARSAL: ${count(rehearsed, 'job')} used nothing real, so nothing was paid for ${rehearsed === 1 ? 'it' : 'them'}`,
    ],
    [name === 'cost' && prices.length > 0, `prices: ${prices.join('; ')}`],
    [name === 'cost' && unpriced > 0, `${hours(unpriced)} chip-hours have no known price and are in no sum of dollars`],
    [
      name === 'goodput' && unknown > 0,
      `${hours(unknown)} paid chip-hours are of jobs in which lost work is not seen: their command prints no step counter, or they have not ended`,
    ],
    [
      leaving > 0,
      `${count(leaving, 'job')} of which slices are not seen gone: their draining is not counted to its end`,
    ],
  ];
  return told.flatMap(([applies, sentence]) => (applies ? [sentence] : []));
}
