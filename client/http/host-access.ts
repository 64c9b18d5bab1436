import type { HostAccess } from '../../contract/api/hosts.js';
import { JobNotFound, JobRefused } from '../errors.js';
import { ServerCalls } from './server-calls.js';
import type { ServerOptions } from './server-options.js';

/**
 * The login to a job's hosts, for its user and operators: keep it in memory, and only as long as needed. Each call is in the
 * audit log.
 * @throws Forbidden; JobRefused with the remedy if no key of the job logs in; JobNotFound
 */
export function hostAccess(options: ServerOptions, id: string): Promise<HostAccess> {
  const calls = new ServerCalls(options);
  return calls.json<HostAccess>({
    ...{ method: 'POST', path: `v1/jobs/${encodeURIComponent(id)}/host-access`, isRepeatable: true },
    meanings: {
      'not-found': () => new JobNotFound(id, `on ${calls.address}`),
      refused: (why, remedy) => new JobRefused(id, why, remedy),
    },
  });
}
