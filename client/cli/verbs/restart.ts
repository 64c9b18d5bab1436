import { askWithEdit, type EditFlags } from '../job-edit.js';

export const restart = (job: string, flags: EditFlags): Promise<number> =>
  askWithEdit(job, flags, (client, by, edit) => client.restart(job, by, edit));
