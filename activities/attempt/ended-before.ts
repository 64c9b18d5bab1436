import { log } from '@temporalio/activity';
import type { StorePort } from '../../cloud/store/port.js';
import type { Outcome } from '../../domain/job-state.js';
import { outcomeObject } from '../../domain/store-layout.js';
import type { AttemptInput, EndedBefore } from '../../contract/job-activities.js';
import { readPatiently } from './store-patience.js';

/**
 * Acts, unless the store holds the job's outcome: then Temporal was set back to an earlier time (a database from a backup, a
 * reset), and acting would run again what has ended. An id is one job's for ever, so the outcome is this job's.
 */
export async function unlessEnded<End>(
  store: StorePort,
  input: AttemptInput,
  act: () => Promise<End>,
): Promise<End | EndedBefore> {
  const { job } = input;
  const stored = await readPatiently(input, () => store.read(outcomeObject(job.id)));
  if (!stored) return act();
  const outcome = JSON.parse(stored.toString('utf8')) as Outcome;
  log.warn(`job ${job.id} has ${outcome.result} before, says its outcome in the store: nothing is run again`);
  return { kind: 'ended-before', outcome };
}
