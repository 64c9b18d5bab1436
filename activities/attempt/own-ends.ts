import type { RunRequest } from '../../cloud/hosts/port.js';
import { DEFAULT_UNATTENDED_SECONDS } from '../../domain/job-file/lifetime.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { besideCommand } from '../../domain/modules/command.js';
import type { AttemptHost } from './attempt-hosts.js';
import { pause } from './pause.js';

/** Actions that the host of this index takes by itself on the command: its hook before a preemption, its end without a worker. */
export function ownEnds(
  spec: JobSpec,
  host: number,
): Pick<RunRequest, 'preemptionHook' | 'maxUnattendedMs' | 'graceMs' | 'waitFor'> {
  const maxMs = unattendedMs(spec);
  const hook = spec.hooks?.preemption;
  const isHere = hook !== undefined && (typeof hook.hosts === 'string' || hook.hosts.includes(host));
  return {
    graceMs: spec.graceSeconds * 1000,
    ...(spec.command?.waitFor && { waitFor: spec.command.waitFor }),
    ...(maxMs === undefined ? {} : { maxUnattendedMs: maxMs }),
    ...(isHere ? { preemptionHook: { script: besideCommand(spec, hook.run), timeoutMs: hook.seconds * 1000 } } : {}),
  };
}

/** Longest pause between two calls of a worker to each host, in ms. Undefined: no host waits for a call. */
export function attendEveryMs(spec: JobSpec): number | undefined {
  const maxMs = unattendedMs(spec);
  return maxMs === undefined ? undefined : Math.min(maxMs / 4, 3_600_000);
}

/** Calls each host from time to time, so that none of them ends its command for lack of a worker. Ends with the signal. */
export async function attend(
  spec: JobSpec,
  hosts: ReadonlyMap<AttemptHost, unknown>,
  word: (host: AttemptHost) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const everyMs = attendEveryMs(spec);
  /** A host that does not answer has one call under way, not one for each turn of its silence. */
  const underWay = new Set<AttemptHost>();
  while (everyMs !== undefined) {
    await pause(everyMs, signal).catch(() => undefined);
    if (signal.aborted) return;
    for (const host of hosts.keys()) {
      if (underWay.has(host)) continue;
      underWay.add(host);
      void word(host)
        .catch(() => undefined)
        .finally(() => underWay.delete(host));
    }
  }
}

function unattendedMs({ maxUnattended = DEFAULT_UNATTENDED_SECONDS }: JobSpec): number | undefined {
  return maxUnattended === 'never' ? undefined : maxUnattended * 1000;
}
