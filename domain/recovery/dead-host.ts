import type { Condition } from '../slice.js';
import type { EpochMs } from '../units.js';
import type { Fact, Facts } from './facts.js';
import type { HostPlace } from './host-ends.js';

/** The API's answer about the slice of a host that does not answer. A slice that is not there is judged as `slice seen`. */
export function nodeFact(seen: Condition | undefined): Fact<'host silent', 'node'> {
  if (seen?.kind === 'ready') return seen.warning === undefined ? 'ready' : 'warned';
  return 'no word';
}

/** The reason why a silent host counts as dead, for the job's story and for its retry. */
export function deadHostText(
  { slice, host }: HostPlace,
  { sign, others, silence }: Facts<'host silent'>,
  { since, limitMs, staleMs }: { readonly since: EpochMs; readonly limitMs: number; readonly staleMs: number },
): string {
  return [
    `host ${host} of slice ${slice} has not answered since ${new Date(since).toISOString()}`,
    ...(others === 'silent' ? [] : ['another host on its route does']),
    ...(sign === 'stale' ? [`its sign of life in the store was not renewed for ${timeText(staleMs)}`] : []),
    ...(silence === 'longer' ? [`timeouts.unreachable is ${timeText(limitMs)}`] : []),
  ].join('; ');
}

const timeText = (ms: number): string =>
  ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} min`;
