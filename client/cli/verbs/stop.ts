import { type AskFlags, askJob } from '../ask-job.js';

export interface StopFlags extends AskFlags {
  readonly release?: true;
}

export const stop = (job: string, flags: StopFlags): Promise<number> =>
  askJob(job, flags, (client, by) => client.stop(job, by, { release: flags.release === true }));
