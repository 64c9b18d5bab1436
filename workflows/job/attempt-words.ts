import type { AttemptEnd, AttemptInput, HostPlace } from '../../activities/contract.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { count, utc } from '../markdown.js';
import { hoursText } from './keeping.js';

export const watchSummary = (input: AttemptInput): string =>
  input.spec.command === undefined
    ? `hold the slices, attempt ${input.attempt} on ${hostsOf(input)}`
    : `run and watch the command, attempt ${input.attempt} on ${hostsOf(input)}`;

/** `4 hosts of jc-train-7f3k-g1`. */
export const hostsOf = (input: AttemptInput): string =>
  `${hostCount(input)} of ${input.slices.map(({ ref }) => ref.name).join(', ')}`;

/** `4 hosts`. */
export const hostCount = ({ slices }: AttemptInput): string =>
  count(
    slices.reduce((sum, { hosts }) => sum + hosts.length, 0),
    'host',
  );

export const placeName = ({ slice, host }: HostPlace, slices: number): string =>
  slices > 1 ? `host ${host} of slice ${slice}` : `host ${host}`;

/** `its command printed nothing for 30 min on any of its hosts (timeouts.no_output); the last output was host 2's, at 2026-11-22 07:14:20 UTC`. */
export function silenceText(
  { last }: Extract<AttemptEnd, { kind: 'no-output' }>,
  { timeouts, slices }: Pick<JobSpec, 'timeouts' | 'slices'>,
): string {
  const sign = { output: 'the last output was', start: 'the last to begin was', end: 'the last to end was' }[last.what];
  const whose = `${placeName(last, slices)}${last.what === 'output' ? "'s" : ''}`;
  const silence = `its command printed nothing for ${hoursText(timeouts?.noOutput ?? 0)} on any of its hosts`;
  return `${silence} (timeouts.no_output); ${sign} ${whose}, at ${utc(last.at)}`;
}
