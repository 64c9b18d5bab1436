import { given, secondsOf } from './fields.js';
import type { JobSpec } from '../job-spec.js';
import type { Report } from './report.js';
import { type JobFile, KEEP_WORDS } from './sections.js';

/** How long the slices stay at most where `keep` names no time: a working day. */
const DEFAULT_KEEP_SECONDS = 8 * 3600;
/** How long a stopped job keeps its slices where `timeouts.stop` says nothing. */
export const DEFAULT_STOP_SECONDS = 8 * 3600;
/** The shortest `timeouts.no_output`: within less a host may not have been asked. */
export const LEAST_NO_OUTPUT_SECONDS = 5;

/** How long a command runs on with no worker speaking to its host, where `max_unattended` says nothing: a long weekend. */
export const DEFAULT_UNATTENDED_SECONDS = 72 * 3600;
/** Shorter than this a worker that is restarted would cost commands. */
export const LEAST_UNATTENDED_SECONDS = 60;

type Lifetime = Pick<JobSpec, 'keep' | 'loop' | 'timeouts' | 'maxUnattended'>;

/** What of a job goes on beyond one end of its command: `keep`, `loop` (JobMan's `job.loop` too) and `timeouts`. */
export function resolveLifetime(form: JobFile, report: Report): Lifetime {
  const keep = resolveKeep(form, report);
  const timeouts = resolveTimeouts(form, report);
  const loop = form.loop ?? form.job?.loop ?? false;
  if (loop && !form.command) report.warnings.push('loop: there is no command that could run again');
  if (loop && form.command?.restart_on)
    report.warnings.push('command.restart_on: loop starts the command again whatever its exit code');
  return {
    ...(keep === undefined ? {} : { keep }),
    ...(loop ? { loop } : {}),
    ...(timeouts === undefined ? {} : { timeouts }),
    ...resolveUnattended(form, report),
  };
}

function resolveUnattended({ max_unattended: value }: JobFile, report: Report): Pick<Lifetime, 'maxUnattended'> {
  if (given(value) === undefined) return {};
  if (value === 'never') return { maxUnattended: value };
  const seconds = secondsOf(value ?? NaN);
  if (!(seconds >= LEAST_UNATTENDED_SECONDS))
    report.wrong(['max_unattended'], value, `shorter than ${LEAST_UNATTENDED_SECONDS} s`, 'such as 72h, or never');
  return { maxUnattended: seconds };
}

function resolveKeep({ keep }: JobFile, report: Report): JobSpec['keep'] {
  const { when, for: time } = typeof keep === 'string' ? { when: keep } : { for: undefined, ...keep };
  const seconds = secondsOf(given(time) ?? DEFAULT_KEEP_SECONDS);
  if (given(time) !== undefined && given(when) === undefined)
    report.missing(['keep', 'when'], `one of ${KEEP_WORDS.join(', ')}`);
  if (!(seconds > 0)) report.wrong(['keep', 'for'], time, 'no time to keep slices for', 'such as 2h');
  return when === undefined || when === null || when === 'never' ? undefined : { when, seconds };
}

function resolveTimeouts(form: JobFile, report: Report): JobSpec['timeouts'] {
  const { timeouts } = form;
  const entries = (['stop', 'queue', 'provision', 'setup', 'device', 'run', 'unreachable'] as const).flatMap((key) => {
    const value = given(timeouts?.[key]);
    if (value === undefined) return [];
    const seconds = secondsOf(value);
    // No wait for a device is a look less; the others would end what they bound.
    if (!(seconds > 0 || (key === 'device' && seconds === 0)))
      report.wrong(['timeouts', key], value, 'no time to wait', 'such as 2h');
    return [[key, seconds] as const];
  });
  const noOutput = resolveNoOutput(form, report);
  if (entries.length === 0 && noOutput === undefined) return undefined;
  return { ...Object.fromEntries(entries), ...(noOutput === undefined ? {} : { noOutput }) };
}

function resolveNoOutput({ timeouts, command }: JobFile, report: Report): number | undefined {
  const value = given(timeouts?.no_output);
  if (value === undefined || value === false) return undefined;
  const seconds = secondsOf(value);
  if (!(seconds >= LEAST_NO_OUTPUT_SECONDS))
    report.wrong(['timeouts', 'no_output'], value, `shorter than ${LEAST_NO_OUTPUT_SECONDS} s`, 'such as 30m');
  if (!command) report.warnings.push('timeouts.no_output: there is no command that could print');
  return seconds;
}
