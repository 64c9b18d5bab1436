import { JobNotFound, JobRefused } from '../errors.js';
import type { Purged } from '../purge-job.js';
import { ServerCalls } from './server-calls.js';
import type { ServerOptions } from './server-options.js';

/** Like `purgeJob`, on the server; repeating is safe. @throws JobRefused if the job is open or slices are left; JobNotFound */
export function purgeOverHttp(options: ServerOptions, id: string): Promise<Purged> {
  const calls = new ServerCalls(options);
  return calls.json<Purged>({
    ...{ method: 'DELETE', path: `v1/jobs/${encodeURIComponent(id)}`, isRepeatable: true },
    meanings: {
      refused: (why) => new JobRefused(id, why),
      'not-found': () => new JobNotFound(id, `on ${calls.address}`),
    },
  });
}
