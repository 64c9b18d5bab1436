import { given, secondsOf } from './fields.js';
import type { JobSpec } from '../job-spec.js';
import type { Report } from './report.js';
import { type JobFile, KEEP_WORDS } from './sections.js';

/** The longest time that slices are kept if `keep` names no time: a working day. */
const DEFAULT_KEEP_SECONDS = 8 * 3600;
/** Time for which a stopped job keeps its slices if `timeouts.stop` is absent. */
export const DEFAULT_STOP_SECONDS = 8 * 3600;
/** The shortest `timeouts.no_output`: in less time the worker may not have asked every host. */
export const LEAST_NO_OUTPUT_SECONDS = 5;

/** Time for which a command runs on while no worker reaches its host, if `max_unattended` is absent: a long weekend. */
export const DEFAULT_UNATTENDED_SECONDS = 72 * 3600;
/**
 * The shortest `max_unattended`: with less, commands would end when a worker dies. A host hears from its worker four times within
 * the limit, so a quarter of it may have passed. The next worker connects after heartbeat timeout (90 s) and claim (15 s).
 */
export const LEAST_UNATTENDED_SECONDS = 180;

type Lifetime = Pick<JobSpec, 'keep' | 'loop' | 'timeouts' | 'maxUnattended'>;

/** The parts of a job that outlast one end of its command: `keep`, `loop` (also JobMan's `job.loop`) and `timeouts`. */
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
    // A device timeout of 0 skips the look. A zero in the others would end what they bound.
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
