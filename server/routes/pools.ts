import { capacityOf, type PackedPoolState } from '../../quota/published-state.js';
import { readDayFiles } from '../../client/counted.js';
import type { JobRecord } from '../../domain/counted/record.js';
import { isIn, reportOf } from '../../domain/counted/report.js';
import type { Call, Gate } from '../access/gate.js';
import type { AppliedFiles, MachinesCall, PoolFileText } from '../../client/pool-client.js';
import { poolStateObject } from '../../domain/store-layout.js';
import { ApiError } from '../problem.js';
import type { ServerConfig } from '../config.js';
import type { Services } from '../services.js';
import { dear as dearly, type Serve } from './serve.js';
import type { StoreReader } from '../../cloud/store/port.js';
import type { PoolFiles } from '../../quota/files/pool-files.js';
import type { ApiPlan } from '../dear-tasks.js';
import { rolesOf } from '../../quota/membership.js';
import { findProject } from '../../quota/quota-config.js';
import type { DearWork } from '../dear-work.js';
import type { Caller } from '../identity/verifier.js';

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
        if (quotaFile) await refuseForeignProjects({ rules, dear }, call.caller, pool, quotaFile as PoolFileText);
      });
      const files = { ...(quotaFile && { quotaFile }), ...(poolFile && { poolFile }) } as AppliedFiles;
      return { message: await client.quota(pool).apply(files, call.caller.id) };
    },
    { asksItself: true, ...dearly(limits) },
  );

  // Costly: a month of a large installation is 100,000 lines.
  serve(
    'report',
    async ({ call, query: { by, since = Date.now() - MONTH_MS, ...filter } }) => {
      const { records, unreadable } = await readDayFiles(store, since);
      const asked = records.filter((record) => isIn(record, filter));
      const mine = await mayCount(gate, call, asked);
      const { rows, ...more } = reportOf(mine, by);
      const hidden = asked.length - mine.length;
      return { rows: [...rows], ...more, prices: [...more.prices], unreadable, hidden };
    },
    { asksItself: true, ...dearly(limits) },
  );

  // Costly: each call is a workflow.
  const machinesOf = (pool: string, call: Omit<MachinesCall, 'by'>, by: string) =>
    client.machines(pool).call({ ...call, by }) as Promise<never>;
  serve(
    'machines',
    ({ call, params: { pool } }) => machinesOf(pool, { verb: 'ls', names: [] }, call.caller.id),
    dearly(limits),
  );
  serve(
    'changeMachines',
    ({ call, params: { pool }, body: { reason, ...body } }) =>
      machinesOf(pool, { ...body, ...(reason !== undefined && { reason }) }, call.caller.id),
    dearly(limits),
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

const MONTH_MS = 30 * 86_400_000;

/** The records of jobs that the caller may count. Nothing is refused as a whole: a report of no job is empty. */
async function mayCount(gate: Gate, { caller }: Call, records: readonly JobRecord[]): Promise<readonly JobRecord[]> {
  const answers = new Map<string, boolean>();
  const mine: JobRecord[] = [];
  for (const record of records) {
    const { pool, project, user } = record;
    const key = JSON.stringify([pool, project, user === caller.id]);
    let isAllowed = answers.get(key);
    if (isAllowed === undefined) {
      ({ isAllowed } = await gate.ask(caller, 'report', { pool, project, owner: user }));
      answers.set(key, isAllowed);
    }
    if (isAllowed) mine.push(record);
  }
  return mine;
}

/**
 * Computes the decision in a pool's last published state under files that are not in force. It changes nothing.
 * @throws ApiError `invalid` with every problem of the files; `not-found` if nothing was published
 */
async function quotaPlan(
  { store, dear }: { readonly store: Pick<StoreReader, 'bucket' | 'read'>; readonly dear: Services['dear'] },
  pool: string,
  files: PoolFiles,
  subject: string,
): Promise<ApiPlan> {
  if (files.quotaFile === undefined && files.poolFile !== undefined)
    throw new ApiError(
      'invalid',
      'poolFile: needs the quota file beside it',
      'send both: the one in force, and the new one',
    );
  const published = await store.read(poolStateObject(pool));
  const found = await dear.run('plan', { pool, files, bucket: store.bucket, published }, subject);
  if ('problems' in found) throw new ApiError('invalid', found.problems);
  if ('unreadable' in found) throw new ApiError('unavailable', found.unreadable, 'a worker publishes it anew');
  if (found.plan !== undefined) return found.plan;
  throw new ApiError(
    'not-found',
    `nothing was published of pool '${pool}'`,
    'a worker publishes it from its first job on',
  );
}

/**
 * Secrets belong to a project's name, whichever pool its job runs in (docs/adr/0087). So only an operator of both pools may add
 * the name of another pool's project to a quota file. A name that is in the file already may stay.
 * @throws ApiError `forbidden`; `unavailable` if the files of a pool are not known
 */
export async function refuseForeignProjects(
  { rules, dear }: { readonly rules: Pick<Services['rules'], 'of' | 'names'>; readonly dear: Pick<DearWork, 'run'> },
  caller: Caller,
  pool: string,
  { name, text }: PoolFileText,
): Promise<void> {
  const projects = await dear.run('projects', { name, text }, caller.id);
  const present = await rules.of(pool);
  const added = projects.filter((project) => findProject(present.config, project) === undefined);
  for (const other of await rules.names()) {
    if (other === pool || added.length === 0) continue;
    const files = await rules.of(other);
    const shared = added.find((project) => findProject(files.config, project) !== undefined);
    if (shared === undefined || rolesOf(caller, { pool: other }, files).includes('operator')) continue;
    throw new ApiError(
      'forbidden',
      `${name}: project ${shared} is one of pool ${other} too, and ${caller.id} is no operator there: its members could read the project's secrets`,
      'ask an operator of both pools to apply the file, or choose another name',
    );
  }
}
