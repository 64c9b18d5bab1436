import type { AttemptInput, HostPlace } from '../../activities/contract.js';
import { count } from '../markdown.js';

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
