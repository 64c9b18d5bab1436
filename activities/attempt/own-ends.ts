import type { RunRequest } from '../../cloud/hosts/port.js';
import { DEFAULT_UNATTENDED_SECONDS } from '../../domain/job-file/lifetime.js';
import type { JobSpec } from '../../domain/job-spec.js';
import { besideCommand } from '../../domain/modules/command.js';

/** What the host of this index does by itself with the command: its hook before a preemption, its end without a worker. */
export function ownEnds(
  spec: JobSpec,
  host: number,
): Pick<RunRequest, 'preemptionHook' | 'maxUnattendedMs' | 'graceMs'> {
  const maxMs = unattendedMs(spec);
  const hook = spec.hooks?.preemption;
  const isHere = hook !== undefined && (typeof hook.hosts === 'string' || hook.hosts.includes(host));
  return {
    graceMs: spec.graceSeconds * 1000,
    ...(maxMs === undefined ? {} : { maxUnattendedMs: maxMs }),
    ...(isHere ? { preemptionHook: { script: besideCommand(spec, hook.run), timeoutMs: hook.seconds * 1000 } } : {}),
  };
}

/** How often a worker speaks with each host at least. Undefined: no host waits for a word. */
export function attendEveryMs(spec: JobSpec): number | undefined {
  const maxMs = unattendedMs(spec);
  return maxMs === undefined ? undefined : Math.min(maxMs / 4, 3_600_000);
}

function unattendedMs({ maxUnattended = DEFAULT_UNATTENDED_SECONDS }: JobSpec): number | undefined {
  return maxUnattended === 'never' ? undefined : maxUnattended * 1000;
}
