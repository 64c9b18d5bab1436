import { AdminError } from './admin-error.js';
import { hold, listLag, refuse, release } from './fault-verbs.js';
import { hosts } from './host-verbs.js';
import type { AdminParts, Verb } from './parts.js';
import { capacity, clock, configure, quota } from './setting-verbs.js';
import { failRequest, force, maintenance, preempt, sendBack, warn } from './slice-verbs.js';

/** Verbs of the cloud, by HTTP or in a script. `fail` is the command line's name for `refuse`. */
export const VERBS: Readonly<Record<string, Verb>> = {
  preempt,
  warn,
  maintenance,
  'fail-request': failRequest,
  'send-back': sendBack,
  force,
  refuse,
  fail: refuse,
  hold,
  release,
  'list-lag': listLag,
  configure,
  capacity,
  quota,
  hosts,
  clock,
};

/**
 * Runs a verb, then journals it. The events of its changes come before it in the journal. The caller calls `parts.changed`
 * afterwards.
 * @param by the asker, if not the admin interface itself
 * @throws AdminError
 */
export function runVerb(parts: AdminParts, verb: string, body: unknown, by?: string): object | Promise<object> {
  const run = VERBS[verb];
  if (run === undefined) throw new AdminError(404, `no verb '${verb}'; there are: ${Object.keys(VERBS).join(', ')}`);
  const result = run(parts, body);
  parts.journal.record('admin', verb, { ...(body as object), ...(by !== undefined && { by }) });
  return result;
}
