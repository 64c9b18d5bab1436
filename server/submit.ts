import { createHash, randomBytes } from 'node:crypto';
import type { Submitted } from '../client/submissions.js';
import { JobInvalid, JobNameTaken, JobNotFound } from '../client/errors.js';
import type { z } from 'zod';
import type { ScheduleWish } from '../client/schedule-wish.js';
import type { CreatedSchedule } from '../client/schedules.js';
import type { ApiSubmission } from '../contract/api/jobs.js';
import type { scheduleWishSchema } from '../contract/api/schedules.js';
import { jobIdFor, SUFFIX_BYTES, suffixFrom } from '../domain/identity.js';
import type { PoolDefaults } from '../domain/job-file/pool-defaults.js';
import { inputSizeProblem } from '../domain/bounds.js';
import { idsOfInputs } from '../domain/inputs.js';
import type { JobSpec } from '../domain/job-spec.js';
import { objectOfFile } from '../domain/local-files.js';
import { maySubmitFor, resolveProject } from '../quota/membership.js';
import type { Call } from './access/gate.js';
import type { PoolAccess } from './access/facts.js';
import { warningsOf } from './far-buckets.js';
import { ApiError } from './problem.js';
import { objectOf } from './routes/groups.js';
import type { Services } from './services.js';
import type { ReadTask, ResolvedFile } from './dear-tasks.js';

/**
 * Turns a request into a job of a verified user: checked, allowed, recorded, signed, started once. With a name or an idempotency
 * key, a repeated call finds the existing job, on any replica and after any crash, because the id is derived from the key.
 */
export async function submitFor(
  services: Services,
  call: Call,
  written: ApiSubmission,
  idempotencyKey: string | undefined,
): Promise<Submitted> {
  const { client, gate, signer } = services;
  const of = { verb: 'submit', ...(written.name && { job: written.name }) } as const;
  const { body, spec, array, complete, user, project } = await allowed(services, call, written, of);
  // The id is fixed before anything is done, so that the audit log has it.
  const name = body.name ?? (await idFromKey(services, spec, { user, caller: call.caller.id, key: idempotencyKey }));
  await gate.about(call, 'submit', { pool: spec.pool, project, owner: user, job: name });
  await mustReadInputs(services, call, spec);
  await mustBeUploaded(services, body.files ?? {});
  // Runs beside the submission, which must not wait for answers about buckets.
  const warnings = warningsOf(complete, services);
  const submitted = await client.submit({
    ...body,
    user,
    spec,
    array,
    files: {},
    uploaded: body.files ?? {},
    name,
    authorize: (job, input) =>
      signer.sign({ job, pool: spec.pool, project, user, ...serviceOf(call, user) }, input, Date.now()),
  } as Parameters<typeof client.submit>[0]);
  const known = submitted.members === undefined ? client.row.bind(client) : client.group.bind(client);
  if (!submitted.isNew && (await known(submitted.id)).user !== user) throw new JobNameTaken(submitted.id);
  return { ...submitted, warnings: await warnings };
}

/**
 * A job gets the stored outputs of those that its inputs name, so its caller must have the right to read them. The job is signed
 * with its inputs, and they cannot be changed later.
 * @throws ApiError `forbidden`, which is recorded; JobInvalid if there is no such job
 */
async function mustReadInputs({ client, gate }: Services, call: Call, { inputs }: JobSpec): Promise<void> {
  for (const id of idsOfInputs(inputs)) {
    try {
      await gate.job(call, 'outputs', id);
    } catch (error) {
      if (!(error instanceof JobNotFound)) throw error;
      if (!error.isGroup) throw new JobInvalid(`inputs: there is no job or group '${id}', or it is not known any more`);
      await gate.about(call, 'outputs', objectOf(await client.group(id)));
    }
  }
}

/** Turns a request into a schedule of a verified user. Its statement is of all firings (docs/adr/0159). */
export async function scheduleFor(services: Services, call: Call, written: ApiSchedule): Promise<CreatedSchedule> {
  const { client, gate, signer } = services;
  const { name, cron, timeZone, overlap } = written;
  const of = { verb: 'schedule', schedule: name } as const;
  const { body, spec, array, complete, user, project } = await allowed(services, call, written, of);
  await gate.about(call, 'schedule', { pool: spec.pool, project, owner: user, schedule: name });
  await mustReadInputs(services, call, spec);
  await mustBeUploaded(services, body.files ?? {});
  const warnings = warningsOf(complete, services);
  const created = await client.schedules().create({
    ...body,
    ...{ name, cron, timeZone, overlap },
    user,
    spec,
    array,
    files: {},
    uploaded: body.files ?? {},
    authorize: (id, input) =>
      signer.sign({ job: id, pool: spec.pool, project, user, ...serviceOf(call, user) }, input, Date.now()),
  } as ScheduleWish);
  if (!created.isNew && (await client.schedules().view(name)).user !== user) throw new JobNameTaken(name, 'schedule');
  return { ...created, warnings: await warnings };
}

type ApiSchedule = z.infer<typeof scheduleWishSchema>;

/** Signed too: the service that submits for `user`. */
const serviceOf = ({ caller }: Call, user: string): { readonly service?: string } =>
  user === caller.id ? {} : { service: caller.id };

/** A submission whose user may make it. */
interface Allowed extends ResolvedFile {
  readonly body: ApiSubmission;
  /** With the defaults of its pool. */
  readonly complete: JobSpec;
  readonly user: string;
  readonly project: string;
}

/** @throws JobInvalid with every problem; ApiError `forbidden`, which is recorded */
async function allowed(
  services: Services,
  call: Call,
  written: ApiSubmission,
  { verb, ...named }: { readonly verb: 'submit' | 'schedule'; readonly job?: string; readonly schedule?: string },
): Promise<Allowed> {
  const { dear, gate, rules } = services;
  const body = await withJob(dear, written, call.caller.id);
  const { spec, array } = await specOf(services, call, body);
  const user = userOf(call, body, spec);
  await rules.mustExist(spec.pool);
  const files = await rules.of(spec.pool);
  const { spec: complete } = await specOf(services, call, body, files.defaults);
  const wanted = { ...(spec.project !== undefined && { project: spec.project }), ...named };
  const project = await gate.within(call, verb, { pool: spec.pool, owner: user, ...wanted }, () => {
    refuseForOthers(call, user, files);
    return projectOf(files, user, spec);
  });
  return { body, spec, ...(array && { array }), complete, user, project };
}

/**
 * Resolves the job file of a submission. The size is checked first, because it is also signed.
 * @param pool the defaults of its file, once the pool is known; the job is then checked as by a worker
 * @throws JobInvalid with every problem, as `jobctl validate` prints it
 */
async function specOf(
  { dear }: Services,
  { caller }: Call,
  body: ApiSubmission,
  pool?: PoolDefaults,
): Promise<ResolvedFile> {
  const size = inputSizeProblem({ v: 1, ...body });
  if (size !== undefined) throw new JobInvalid(size);
  const resolved = await dear.run('resolve', { job: body.job, ...(pool && { pool }) }, caller.id);
  if ('spec' in resolved) return resolved;
  throw new JobInvalid(resolved.problems);
}

function userOf({ caller }: Call, { user }: ApiSubmission, { user: named }: JobSpec): string {
  if (user !== undefined && named !== undefined && user !== named)
    throw new JobInvalid(`user: the job file says '${named}', and the call says '${user}'`);
  return user ?? named ?? caller.id;
}

function refuseForOthers({ caller }: Call, user: string, { rules }: PoolAccess): void {
  if (user === caller.id || maySubmitFor(caller, user, rules)) return;
  const how =
    caller.kind === 'service'
      ? 'an operator allows it: [[access.services]] in the pool file'
      : 'leave the user out: the job is yours';
  throw new ApiError('forbidden', `user: ${caller.id} may not submit for '${user}'`, how);
}

function projectOf({ config }: PoolAccess, user: string, { project }: JobSpec): string {
  const choice = resolveProject(config, { user, project, mode: 'verified' });
  if (choice.ok) return choice.project;
  throw new ApiError('forbidden', choice.message, choice.hint);
}

/** Refuses files that were never uploaded: one that is missing would show only on a slice that is paid for. */
async function mustBeUploaded({ store }: Services, files: Readonly<Record<string, string>>): Promise<void> {
  const looked = await Promise.all(
    Object.entries(files).map(
      async ([path, sha256]) => [path, sha256, await store.stat(objectOfFile(path, sha256))] as const,
    ),
  );
  const missing = looked.filter(([, , found]) => found === undefined);
  if (missing.length === 0) return;
  throw new JobInvalid(
    missing
      .map(
        ([path, sha256]) =>
          `files: the content of '${path}' (sha256 ${sha256}) is not there\n  upload it first: POST /v1/uploads`,
      )
      .join('\n'),
  );
}

/**
 * Derives an id of 45 bits from the caller and their key, by the server's secret. A repeated call gives the same id, and another
 * caller's key gives another one. Without the secret nobody can compute another caller's id and take it first.
 */
async function idFromKey(
  { signer, client }: Services,
  spec: JobSpec,
  { user, caller, key }: { readonly user: string; readonly caller: string; readonly key: string | undefined },
): Promise<string> {
  const idOf = (digest: Buffer): string => jobIdFor(spec, suffixFrom(digest.subarray(0, SUFFIX_BYTES.ofKey)));
  if (key === undefined) return idOf(randomBytes(SUFFIX_BYTES.ofKey));
  const text = `${caller}\0${key}`;
  // The call may have been made first to a server before 1.1, and is repeated now.
  const former = idOf(createHash('sha256').update(text).digest());
  const row = await client.row(former).catch((error: unknown) => {
    if (error instanceof JobNotFound) return undefined;
    throw error;
  });
  return row?.user === user ? former : idOf(signer.secretDigest(text));
}

interface Written extends ReadTask {
  readonly source?: string | undefined;
}

/**
 * The call with its job file as JSON, and the file's text as its source.
 * @throws JobInvalid with every problem of the file, as `jobctl validate` prints it
 */
export async function withJob<Call extends Written>(
  dear: Services['dear'],
  { file, env, ...call }: Call,
  subject: string,
): Promise<Omit<Call, 'file' | 'env'>> {
  const { job } = call;
  if (job !== undefined && file !== undefined)
    throw new ApiError('invalid', 'a call has `job` or `file`, not both', 'the text is the job file already');
  if (file === undefined && (env === undefined || job === undefined)) return call;
  const read = await dear.run('read', { job, file, env }, subject);
  if ('problems' in read) throw new JobInvalid(read.problems);
  return { ...call, job: read.job, ...(file === undefined ? {} : { source: call.source ?? file.text }) };
}
