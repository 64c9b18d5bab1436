import { type AskFlags, askJob } from '../ask-job.js';

export const requeue = (job: string, flags: AskFlags): Promise<number> =>
  askJob(job, flags, (client, by) => client.requeue(job, by));
