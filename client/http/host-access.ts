import type { HostAccess } from '../../contract/api/hosts.js';
import { JobNotFound, JobRefused } from '../errors.js';
import { ServerCalls } from './server-calls.js';
import type { ServerOptions } from './server-options.js';

/**
 * What logs in to the hosts of a job, for its user and operators: keep it in memory, and no longer than it is needed. Each call is
 * in the audit log. @throws Forbidden; JobRefused with what to do if no key of the job logs in; JobNotFound
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
