import { hostAccessSchema } from '../../contract/api/hosts.js';
import { jobParams } from '../../contract/api/jobs.js';
import { type App, callOf } from '../bare-app.js';
import { hostAccess } from '../host-access.js';
import type { Services } from '../services.js';
import { CHANGE_PROBLEMS, route } from './answers.js';

/**
 * Gives the login to the hosts of a job. A POST, because each answer gives a key away: it is recorded before it is sent, and no
 * cache may keep it (`cache-control: no-store` is on every answer).
 */
export function registerHosts(app: App, services: Services): void {
  const access = {
    tags: ['jobs'],
    summary: "What logs in to the job's hosts",
    description: "The job's own private key, and where its hosts are. For the job's user and operators of the pool.",
    params: jobParams,
    response: { ...CHANGE_PROBLEMS, 200: hostAccessSchema },
  };
  app.post('/v1/jobs/:id/host-access', route('login', access), async (request) => {
    const { id } = request.params;
    await services.gate.job(callOf(request), 'login', id);
    return hostAccess(services, id);
  });
}
