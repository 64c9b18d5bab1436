import { type AskFlags, askJob } from '../ask-job.js';
import { type EditFlags, withEdit } from '../job-edit.js';

export const restart = (job: string, flags: AskFlags & EditFlags): Promise<number> =>
  withEdit(flags, (edit, options) => askJob(job, flags, (client, by) => client.restart(job, by, edit), options));
