import type { AttemptInput } from '../../contract/job-activities.js';

/** The stored part of one host's output in one log, and the text at its end. */
export interface LogLimit {
  readonly bytes: number;
  readonly text: string;
}

/**
 * The share of one host in the bytes that the pool keeps of a log (`[limits] log_bytes_per_attempt`). Each host that writes the
 * log has the same share, so that workers that follow one another, or ship at one time, cut at the same byte without telling each
 * other (docs/adr/0075).
 * @param hosts number of hosts that write the log
 */
export function logLimitOf({ spec, settings }: AttemptInput, hosts: number): { readonly limit?: LogLimit } {
  const all = settings.limits?.logBytesPerAttempt;
  if (all === undefined) return {};
  const bytes = Math.floor(all / Math.max(1, hosts));
  const share = hosts > 1 ? `, a share of ${bytes} for each of ${hosts} hosts` : '';
  const text =
    `this log ends here: pool ${spec.pool} keeps ${all} bytes of each log of an attempt${share} ([limits] log_bytes_per_attempt). ` +
    `What runs goes on, and what it prints from here on is not kept`;
  return { limit: { bytes, text } };
}
