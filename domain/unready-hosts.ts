/** A host that is not set up yet, and its present step. Plain JSON: a worker sends it to the job's workflow. */
export interface UnreadyHost {
  readonly slice: number;
  /** Index in its slice. */
  readonly host: number;
  /** `connect` until the host has answered. */
  readonly module: string;
  /** `check` during the module's check. */
  readonly step: string;
  /** Time since the step was first begun. */
  readonly forMs: number;
  /** Number of times that it was begun. */
  readonly tries: number;
  /** Exit code of the last try, which failed. The host waits for the next try. */
  readonly code?: number;
}

/** Progress of the hosts of a set-up that was ended before it was done. */
export interface UnreadyHosts {
  readonly hosts: number;
  readonly ready: number;
  /** Hosts that were longest at one step, at most `MOST_NAMED`. Of hundreds of hosts nobody reads more. */
  readonly slowest: readonly UnreadyHost[];
}

export const MOST_NAMED = 3;

/**
 * `host 3 was at venv, step requirements, for 9 min 40 s; 3 of 4 hosts were ready`.
 * @param slices number of the job's slices; if there are several, each host is named with its own
 */
export function unreadyText({ hosts, ready, slowest }: UnreadyHosts, slices: number): string {
  const named = slowest.map((each) => hostText(each, slices));
  const more = hosts - ready - named.length;
  if (more > 0) named.push(`${more} more were not ready`);
  if (hosts > 1) named.push(`${ready} of ${hosts} hosts were ready`);
  return named.join('; ');
}

function hostText({ slice, host, module, step, forMs, tries, code }: UnreadyHost, slices: number): string {
  const name = slices > 1 ? `host ${host} of slice ${slice}` : `host ${host}`;
  const time = timeText(forMs);
  if (module === 'connect') return `${name} had not answered over SSH for ${time}`;
  const place = `${name} was at ${module}, ${step === 'check' ? 'its check' : `step ${step}`}, for ${time}`;
  if (code !== undefined)
    return `${place} (${tries === 1 ? 'tried once' : `tried ${tries} times`}, last with code ${code})`;
  return tries === 1 ? place : `${place} (try ${tries})`;
}

/** `40 s`, `9 min 40 s`, `2 h 5 min`. */
function timeText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  const minutes = Math.floor(seconds / 60);
  if (minutes === 0) return `${seconds} s`;
  if (minutes < 60) return `${minutes} min${seconds % 60 === 0 ? '' : ` ${seconds % 60} s`}`;
  return `${Math.floor(minutes / 60)} h${minutes % 60 === 0 ? '' : ` ${minutes % 60} min`}`;
}
