import { askWithEdit, type EditFlags } from '../job-edit.js';

export const resume = (job: string, flags: EditFlags): Promise<number> =>
  askWithEdit(job, flags, (client, by, edit) => client.resume(job, by, edit));
