import type { Asker } from '../../../domain/job-state.js';
import type { JobClient } from '../../../client/job-client.js';
import type { JobFilter } from '../../../client/job-query.js';
import type { JobRow } from '../../../client/job-rows.js';
import { nothingChanged } from '../../terminal/ask.js';
import { askerAt, asKnown } from '../../place/asker.js';
import { withClient } from '../../place/connect.js';
import type { ContextFlags } from '../../place/context.js';
import { contextToChange } from '../../place/contexts/told-place.js';
import { type FilterFlags, ownFilter } from '../job-filter.js';
import { type ChosenJobs, chooseJobs, refuseUnclear } from './chosen-jobs.js';
import { type ConsentFlags, isAgreed } from './consent.js';
import { forEachJob, type JobAnswer } from './each-job.js';

/** Flags of the verbs that change many jobs. */
export interface ManyFlags extends ContextFlags, FilterFlags, ConsentFlags {
  /** The user who asks. */
  readonly by?: string;
}

export interface Deed {
  readonly verb: string;
  /** The action in the words of the question. */
  readonly act: string;
  /** Narrows a filter. */
  readonly among: Pick<JobFilter, 'state'>;
  readonly isMeant?: (row: JobRow) => boolean;
  /** Throws before the user is asked. */
  readonly check?: (client: JobClient, chosen: ChosenJobs) => Promise<void>;
  readonly warning?: (chosen: ChosenJobs) => string | undefined;
  /** Done for all jobs, before the first answer. */
  readonly before?: (client: JobClient, rows: readonly JobRow[], by: Asker) => Promise<void>;
  /** Number of answers awaited at the same time. */
  readonly width?: number;
  readonly answer: (client: JobClient, row: JobRow, by: Asker) => Promise<JobAnswer>;
}

/** Acts on the named or described jobs once the user agreed. @returns the exit code */
export async function actOnJobs(ids: readonly string[], flags: ManyFlags, deed: Deed): Promise<number> {
  refuseUnclear({ verb: deed.verb, ids, flags });
  const context = contextToChange(flags);
  return withClient(context, async (client) => {
    const { verb, act, among, isMeant, check, warning, before, width, answer } = deed;
    const filter = { ...ownFilter(flags, Date.now(), await asKnown(client, context, flags)), ...among };
    const chosen = await chooseJobs(client, { verb, ids, flags, filter, ...(isMeant && { isMeant }) });
    await check?.(client, chosen);
    const by = await askerAt(client, flags.by, context);
    const intent = { verb, act, by: by.by, warning: warning?.(chosen) };
    if (!(await isAgreed(chosen, flags, intent))) return nothingChanged();
    await before?.(client, chosen.rows, by);
    return forEachJob(chosen, flags, (row) => answer(client, row, by), width);
  });
}
