import type { FiringRow, ScheduleRow, ScheduleView } from '../../../client/schedule-rows.js';
import type { JobClient } from '../../../client/job-client.js';
import { DEFAULT_ZONE } from '../../../domain/schedule/schedule.js';
import { isTimeZone } from '../../../domain/schedule/wall-clock.js';
import { count, type EpochMs } from '../../../domain/units.js';
import { askerAt, isNobody } from '../../place/asker.js';
import { withClient } from '../../place/connect.js';
import { type ContextFlags, contextToChange, resolveContext } from '../../place/context.js';
import { ask, mustBeAskable, nothingChanged } from '../../terminal/ask.js';
import { ExitCode } from '../../terminal/cli-error.js';
import type { OutputFlag } from '../../terminal/options.js';
import { asTyped, printErr, printOut } from '../../terminal/print.js';
import { oneLine, renderTable, terminalWidth } from '../../terminal/render/columns.js';

type LookFlags = ContextFlags & OutputFlag;

/** `schedule ls` */
export function scheduleList(flags: LookFlags): Promise<number> {
  return withClient(resolveContext(flags), async (client) => {
    const schedules = await client.schedules().list();
    if (flags.output === 'json') printOut(`${JSON.stringify({ schedules }, null, 2)}\n`);
    else if (schedules.length === 0)
      printErr(asTyped("no schedules; `jobctl schedule create NAME job.yaml --cron '30 2 * * *'` makes one\n"));
    else printOut(`${renderTable([HEADS, ...schedules.map(cellsOf)], terminalWidth(process.stdout)).join('\n')}\n`);
    return ExitCode.Done;
  });
}

const HEADS = ['NAME', 'CRON', 'ZONE', 'USER', 'STATE', 'NEXT', 'LAST JOB'];

function cellsOf({ name, cron, timeZone, user, isPaused, next: [next], last }: ScheduleRow): readonly string[] {
  const when = next === undefined ? 'never again' : isPaused ? '-' : timeInZone(next, timeZone);
  const lastJob = last === undefined ? '-' : `${last.job} ${wordOf(last)}`;
  return [name, cron, timeZone, user, isPaused ? 'paused' : 'active', when, lastJob];
}

/** The state of a firing for people, with the reason if no job was started. */
const wordOf = ({ state, phase, why }: FiringRow): string =>
  `${phase ?? state}${why === undefined ? '' : `: ${oneLine(why)}`}`;

/**
 * `2026-12-01 02:30 EST`: a zone that has no short name is shown by its offset. Without a zone that this computer knows the time is UTC:
 * another service may have made the schedule, or a computer with newer rules of zones.
 */
export function timeInZone(at: EpochMs, zone: string): string {
  const timeZone = isTimeZone(zone) ? zone : DEFAULT_ZONE;
  const shown = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: '2-digit', day: '2-digit' },
    ...{ hour: '2-digit', minute: '2-digit', timeZoneName: 'short' },
  });
  const parts = new Map(shown.formatToParts(at).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  return `${part('year')}-${part('month')}-${part('day')} ${part('hour')}:${part('minute')} ${part('timeZoneName')}`;
}

/** `schedule status NAME` */
export function scheduleStatus(name: string, flags: LookFlags): Promise<number> {
  return withClient(resolveContext(flags), async (client) => {
    const view = await client.schedules().view(name);
    const lines = flags.output === 'json' ? [JSON.stringify(view, null, 2)] : statusLines(view);
    printOut(`${lines.join('\n')}\n`);
    return ExitCode.Done;
  });
}

function statusLines(view: ScheduleView): readonly string[] {
  const { name, cron, timeZone, overlap, isPaused, note, firings, createdAt, members } = view;
  const noted = note === undefined ? '' : `, ${oneLine(note)}`;
  const facts: readonly (readonly [string, string])[] = [
    ['cron', `${cron}, ${timeZone}`],
    ['overlap', overlap],
    ['state', isPaused ? `paused${noted.replace(/^, paused /, ' ')}` : `active${noted}`],
    ['project', `${view.project} (pool ${view.pool}), user ${view.user}`],
    ['slice', members === undefined ? view.slice : `${count(members, 'job')} of ${view.slice}`],
    ['created', createdAt === 0 ? 'not by jobctl' : timeInZone(createdAt, timeZone)],
    ['next', nextText(view)],
    ['fired', firedText(view)],
  ];
  const width = terminalWidth(process.stdout);
  const rows = firings.map((each) => [
    timeInZone(each.at, timeZone),
    each.job,
    each.phase ?? each.state,
    each.why ?? '',
  ]);
  return [
    name,
    ...renderTable(
      facts.map(([key, value]) => [`  ${key}`, value]),
      width,
    ),
    ...(rows.length === 0 ? [] : ['', ...renderTable([['FOR', 'JOB', 'STATE', 'WHY'], ...rows], width)]),
  ];
}

function nextText({ isPaused, next, timeZone }: ScheduleView): string {
  if (next.length === 0) return 'never again';
  return isPaused ? 'none while it is paused' : next.map((at) => timeInZone(at, timeZone)).join(', ');
}

function firedText({ fired, overlapped, waiting, missed }: ScheduleView): string {
  const left = [
    ...(waiting === 0 ? [] : [`${count(waiting, 'firing')} waits until the job before has ended`]),
    ...(overlapped === 0 ? [] : [`${count(overlapped, 'firing')} left out: the job before had not ended`]),
    ...(missed === 0 ? [] : [`${count(missed, 'firing')} missed: no Temporal server was there`]),
  ];
  return [count(fired, 'time'), ...left].join('; ');
}

// Changing ------------------------------------------------------------------------------------------------------------

interface ChangeFlags extends LookFlags {
  readonly yes?: true;
  readonly by?: string;
}

type Change = (schedules: ReturnType<JobClient['schedules']>, by: string) => Promise<{ readonly message: string }>;

/** Asks before it changes another user's schedule, then prints the sentence of the answer. */
function change(verb: string, name: string, flags: ChangeFlags, carryOut: Change): Promise<number> {
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const schedules = client.schedules();
    const { by } = await askerAt(client, flags.by, context);
    const { user } = await schedules.view(name);
    if (user !== by && !isNobody(user)) {
      const why = `schedule ${name} is ${user}'s, and you are ${by}`;
      mustBeAskable(flags, `schedule ${verb}: ${why}`, '--yes does that without a question');
      if (flags.yes !== true && !(await ask(`${why}\n${verb} it? [y/N] `))) return nothingChanged();
    }
    const answer = await carryOut(schedules, by);
    if (flags.output === 'json') printOut(`${JSON.stringify({ name, ...answer }, null, 2)}\n`);
    else printOut(`${asTyped(answer.message)}\n`);
    return ExitCode.Done;
  });
}

export const schedulePause = (name: string, flags: ChangeFlags & { readonly reason?: string }): Promise<number> =>
  change('pause', name, flags, async (schedules, by) => ({ message: await schedules.pause(name, by, flags.reason) }));

export const scheduleResume = (name: string, flags: ChangeFlags): Promise<number> =>
  change('resume', name, flags, async (schedules, by) => ({ message: await schedules.resume(name, by) }));

export const scheduleTrigger = (name: string, flags: ChangeFlags): Promise<number> =>
  change('trigger', name, flags, (schedules) => schedules.trigger(name));

export const scheduleDelete = (name: string, flags: ChangeFlags): Promise<number> =>
  change('delete', name, flags, async (schedules) => ({ message: await schedules.delete(name) }));
