import { messageSchema } from '../../contract/api/changes.js';
import {
  admissionBody,
  applyBody,
  capacitySchema,
  poolParams,
  poolStateSchema,
  quotaPlanSchema,
  releaseBody,
} from '../../contract/api/pools.js';
import type { FastifyRequest } from 'fastify';
import { capacityOf, type PackedPoolState } from '../../quota/published-state.js';
import type { AppliedFiles } from '../../client/pool-client.js';
import { poolStateObject } from '../../domain/store-layout.js';
import { type App, callOf } from '../bare-app.js';
import { ApiError } from '../problem.js';
import { quotaPlan } from '../quota-plan.js';
import type { ServerConfig } from '../config.js';
import type { Services } from '../services.js';
import { refuseForeignProjects } from '../shared-projects.js';
import { CHANGE_PROBLEMS, dearRoute, PROBLEMS, route } from './answers.js';

/** Routes that show pools, and routes for operators' changes. */
export function registerPools(
  app: App,
  { client, dear, gate, rules, store }: Services,
  { limits }: Pick<ServerConfig, 'limits'>,
): void {
  const show = {
    tags: ['pools'],
    summary: 'A pool as it was published last',
    params: poolParams,
    response: { ...PROBLEMS, 200: poolStateSchema },
  };
  const published = async (request: FastifyRequest, pool: string): Promise<PackedPoolState> => {
    await gate.about(callOf(request), 'quota-show', { pool });
    const content = await store.read(poolStateObject(pool));
    if (content !== undefined) return JSON.parse(content.toString('utf8')) as PackedPoolState;
    throw new ApiError(
      'not-found',
      `nothing was published of pool '${pool}'`,
      'a worker publishes it from its first job on',
    );
  };
  app.get('/v1/pools/:pool', route('quota-show', show), async (request) => {
    return (await published(request, request.params.pool)) as never;
  });

  const capacity = {
    tags: ['pools'],
    summary: "What the pool's jobs have seen of zones and types lately",
    description: 'How often they asked and got, how long they waited, how often they were preempted. It is no promise.',
    params: poolParams,
    response: { ...PROBLEMS, 200: capacitySchema },
  };
  app.get('/v1/pools/:pool/capacity', route('quota-show', capacity), async (request) => {
    return capacityOf(await published(request, request.params.pool)) as never;
  });

  const plan = {
    tags: ['pools'],
    summary: 'What one decision would do, under files that nobody has put in force',
    description: 'On the pool as it was published last. It changes nothing. Without files: under those in force.',
    params: poolParams,
    body: applyBody.nullish(),
    response: { ...CHANGE_PROBLEMS, 200: quotaPlanSchema },
  };
  // Costly: one decision may cover thousands of jobs.
  app.post('/v1/pools/:pool/quota/plan', dearRoute('quota-plan', plan, limits), async (request) => {
    const { pool } = request.params;
    const call = callOf(request);
    await gate.about(call, 'quota-plan', { pool });
    return (await quotaPlan({ store, dear }, pool, request.body ?? {}, call.caller.id)) as never;
  });

  const apply = {
    tags: ['pools'],
    summary: 'Put quota and pool files in force',
    params: poolParams,
    body: applyBody,
    response: { ...CHANGE_PROBLEMS, 200: messageSchema },
  };
  app.post('/v1/pools/:pool/apply', dearRoute('quota-apply', apply, limits), async (request) => {
    const call = callOf(request);
    const { pool } = request.params;
    const { quotaFile, poolFile } = request.body;
    // Only a caller who may apply files here learns what other pools have.
    await gate.about(call, 'quota-apply', { pool }, async () => {
      if (quotaFile) await refuseForeignProjects({ rules, dear }, call.caller, pool, quotaFile);
    });
    const files: AppliedFiles = { ...(quotaFile && { quotaFile }), ...(poolFile && { poolFile }) };
    return { message: await client.quota(pool).apply(files, call.caller.id) };
  });

  const admit = {
    tags: ['pools'],
    summary: 'Freeze, drain or open a pool',
    params: poolParams,
    body: admissionBody,
    response: { ...CHANGE_PROBLEMS, 200: messageSchema },
  };
  app.post('/v1/pools/:pool/admission', route('admission', admit), async (request) => {
    const call = callOf(request);
    const { pool } = request.params;
    await gate.about(call, 'admission', { pool });
    const { admission, reason } = request.body;
    return { message: await client.quota(pool).setAdmission(admission, call.caller.id, reason) };
  });

  const release = {
    tags: ['pools'],
    summary: "Stop waiting for a job's slices whose deletion does not end",
    description:
      'Whoever asks vouches that nothing of them is left: their chips are free at once. Refused while the deletion can still end by itself.',
    params: poolParams,
    body: releaseBody,
    response: { ...CHANGE_PROBLEMS, 200: messageSchema },
  };
  app.post('/v1/pools/:pool/release', route('quota-release', release), async (request) => {
    const call = callOf(request);
    const { pool } = request.params;
    const { job, because } = request.body;
    await gate.about(call, 'quota-release', { pool, job });
    return { message: await client.quota(pool).release(job, because, call.caller.id) };
  });
}
