import type { z } from 'zod';
import { registerHosts } from '../../server/routes/hosts.js';
import { registerJobChanges } from '../../server/routes/job-changes.js';
import { registerJobs } from '../../server/routes/jobs.js';
import { registerLogs } from '../../server/routes/logs.js';
import { registerObjects } from '../../server/routes/objects.js';
import { registerPools } from '../../server/routes/pools.js';
import { registerUploads } from '../../server/routes/uploads.js';
import { registerWho } from '../../server/routes/who.js';

interface RouteSchema {
  readonly body?: z.core.$ZodType;
  readonly querystring?: z.core.$ZodType;
  readonly params?: z.core.$ZodType;
  readonly headers?: z.core.$ZodType;
}
export interface Route {
  readonly method: string;
  readonly path: string;
  readonly schema: RouteSchema;
}
/** Characters: the most of a job, and of a body. */
export const BUDGETS = [370_000, 950_000];
export const PARTS = ['body', 'querystring', 'params', 'headers'] as const;

/** What the registering functions of the server tell a server of. */
function routesOfServer(): readonly Route[] {
  const found: Route[] = [];
  const tell = (method: string) => (path: string, options: { readonly schema?: RouteSchema }) =>
    void found.push({ method, path, schema: options.schema ?? {} });
  const anything: object = new Proxy({}, { get: () => anything });
  const app = {
    ...{ get: tell('GET'), post: tell('POST'), put: tell('PUT'), delete: tell('DELETE') },
    addContentTypeParser: () => undefined,
  };
  const limits = { submitsPerMinute: 1, uploadBytes: 1, directUploadBytes: 1, uploadBytesPerDay: 1 };
  const registers = [registerWho, registerJobs, registerJobChanges, registerHosts, registerLogs, registerObjects];
  for (const register of [...registers, registerUploads, registerPools])
    (register as (...words: unknown[]) => void)(app, anything, { limits, issuers: [], listen: {} });
  return found;
}

export const ROUTES = routesOfServer();
