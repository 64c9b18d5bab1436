import { capacityOf, type PackedPoolState } from '../../quota/published-state.js';
import type { AppliedFiles } from '../../client/pool-client.js';
import { poolStateObject } from '../../domain/store-layout.js';
import { ApiError } from '../problem.js';
import { quotaPlan } from '../quota-plan.js';
import type { ServerConfig } from '../config.js';
import type { Services } from '../services.js';
import { refuseForeignProjects } from '../shared-projects.js';
import { dear as dearly, type Serve } from './serve.js';

/** Routes that show pools, and routes for operators' changes. */
export function registerPools(
  serve: Serve,
  { client, dear, gate, rules, store }: Services,
  { limits }: Pick<ServerConfig, 'limits'>,
): void {
  const published = async (pool: string): Promise<PackedPoolState> => {
    const content = await store.read(poolStateObject(pool));
    if (content !== undefined) return JSON.parse(content.toString('utf8')) as PackedPoolState;
    throw new ApiError(
      'not-found',
      `nothing was published of pool '${pool}'`,
      'a worker publishes it from its first job on',
    );
  };
  serve('quotaShow', async ({ params: { pool } }) => (await published(pool)) as never);
  serve('capacity', async ({ params: { pool } }) => capacityOf(await published(pool)) as never);

  // Costly: one decision may cover thousands of jobs.
  serve(
    'quotaPlan',
    async ({ call, params: { pool }, body }) =>
      (await quotaPlan({ store, dear }, pool, body as AppliedFiles, call.caller.id)) as never,
    dearly(limits),
  );

  serve(
    'quotaApply',
    async ({ call, params: { pool }, body: { quotaFile, poolFile } }) => {
      // Only a caller who may apply files here learns what other pools have.
      await gate.about(call, 'quota-apply', { pool }, async () => {
        if (quotaFile) await refuseForeignProjects({ rules, dear }, call.caller, pool, quotaFile);
      });
      const files: AppliedFiles = { ...(quotaFile && { quotaFile }), ...(poolFile && { poolFile }) };
      return { message: await client.quota(pool).apply(files, call.caller.id) };
    },
    { asksItself: true, ...dearly(limits) },
  );

  serve('admission', async ({ call, params: { pool }, body: { admission, reason } }) => ({
    message: await client.quota(pool).setAdmission(admission, call.caller.id, reason),
  }));

  serve(
    'quotaRelease',
    async ({ call, params: { pool }, body: { job, because } }) => {
      await gate.about(call, 'quota-release', { pool, job });
      return { message: await client.quota(pool).release(job, because, call.caller.id) };
    },
    { asksItself: true },
  );
}
