import { count, type EpochMs, usdText } from '../../../domain/units.js';
import {
  askedMachines,
  askedSize,
  formatSlices,
  isBought,
  usdPerHour,
  kindOfJob,
  machineKind,
} from '../../../domain/machines.js';
import type { JobSpec } from '../../../domain/job-spec.js';
import { awaitedHost, rayOf } from '../../../domain/modules/command.js';
import type { JobRow } from '../../../client/job-rows.js';
import { oneLine } from './columns.js';
import { asTyped } from '../print.js';
import { smallest } from '../../../domain/extremes.js';
import type { JobView } from '../../../contract/job.js';
import { isDone } from '../../../domain/job-state.js';
import { clockTime, formatDuration } from './quantities.js';
import { workspaceText } from '../../../domain/workspace.js';

/**
 * `train-7f3k   project vision   v5litepod-16 spot   16 chips on 4 hosts   about $3.92/h`. A job with a label costs nothing and
 * shows the label instead of a price.
 * @param isPricingSaid false: the job file leaves the pricing to the pool, so it is unknown here
 */
export function jobHeader(id: string, spec: JobSpec, label: string | undefined, isPricingSaid = true): string {
  const { chips, hosts } = askedSize(spec);
  const { pricing } = askedMachines(spec);
  const price = usdPerHour(spec);
  const bought = `${pricing === 'any' ? 'any pricing' : pricing}${isPricingSaid ? '' : ' by default'}`;
  return [
    id,
    ...(spec.project === undefined ? [] : [`project ${spec.project}`]),
    [formatSlices(spec), ...(isBought(spec) ? [bought] : [])].join(' '),
    `${count(chips, 'chip')} on ${count(hosts, 'host')}`,
    ...(label !== undefined ? [label] : price === undefined ? [] : [`about ${usdText(price)}/h`]),
  ].join('   ');
}

/** The reason for a job's state. For a job that was ended from outside, its own last reason does not count. */
export function reasonOf({ phase, why }: Pick<JobRow, 'phase' | 'why'>): string {
  return phase === 'terminated' ? 'ended in Temporal from outside, without an outcome' : asTyped(oneLine(why ?? ''));
}

/** The first line of the command, and its hosts. */
export function commandSummary(spec: Pick<JobSpec, 'command' | 'modules' | 'ray' | 'workspace' | 'timeouts'>): string {
  const { command, workspace, timeouts } = spec;
  if (workspace !== undefined) return `none: a workspace, ${workspaceText(workspace, timeouts?.run)}`;
  if (command === undefined) return 'none: holds its slices until it is cancelled';
  const [first = '', ...more] = command.run.trim().split('\n');
  const shown = `${oneLine(first)}${more.length > 0 ? ' ..' : ''}`;
  if (rayOf(spec) !== undefined) return `${shown} (on host 0, Ray on all hosts)`;
  const where = command.hosts === 'all' ? 'all hosts' : `host ${command.hosts.join(', ')}`;
  const awaited = awaitedHost(command);
  return `${shown} (on ${where}${awaited === undefined ? '' : `; ends with the success of ${awaited}`})`;
}

/** Next commands for a job, also shown after Ctrl-C. */
export function nextCommands(id: string): readonly string[] {
  return [
    asTyped(`  jobctl status ${id}    where it stands`),
    asTyped(`  jobctl logs -f ${id}   its output`),
    asTyped(`  jobctl wait ${id}      until its end`),
    asTyped(`  jobctl cancel ${id}    stop it`),
  ];
}

/** Says when the provider ends the job's slices: the rule, and for existing slices the time. Undefined: it ends none. */
export function endsSentence({ phase, spec, slices }: JobView, now: EpochMs): string | undefined {
  const rule = machineKind(kindOfJob(spec)).endsText?.(spec);
  const ends = isDone(phase)
    ? []
    : slices.filter(({ state }) => state === 'ready').flatMap(({ endsAt }) => endsAt ?? []);
  if (ends.length === 0) return rule;
  const first = smallest(ends);
  const which = ends.length === 1 ? 'its slice' : 'its first slice';
  const when = first > now ? `in ${formatDuration(first - now)}` : 'now';
  const text = `${which} may end from ${clockTime(first, now)} on, ${when}`;
  return rule === undefined ? `I${text.slice(1)}` : `${rule}; ${text}`;
}
