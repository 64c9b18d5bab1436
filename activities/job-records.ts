import { userInfo } from 'node:os';
import { Context, log } from '@temporalio/activity';
import type { StorePort } from '../cloud/store/port.js';
import { type CarriedEvent, readEvent, shownEvent } from '../domain/job-events/event.js';
import { askedMachines, askedSize, formatSlices, labelOfJob, machineRequestOf, sizeKeyOf } from '../domain/machines.js';
import { bindJobName, resolveJob } from '../domain/job-file/resolve.js';
import { loginNameOf } from '../domain/identity.js';
import type { JobSpec } from '../domain/job-spec.js';
import { fromInventory, tooFewMachines } from '../domain/machine-kinds/machines/choice.js';
import type { MachineRequest } from '../domain/machine-kinds/registry.js';
import { pricesFor } from '../domain/counted/prices.js';
import { formatProblems } from '../domain/problem.js';
import {
  attemptObject,
  attemptSpecObject,
  jobEventsObject,
  jobLogPrefix,
  jobOwnerObject,
  outcomeObject,
  runObject,
  specObject,
} from '../domain/store-layout.js';
import { type QuotaConfig, UNLIMITED_NOTE, floorProblem } from '../quota/quota-config.js';
import { judgeSubmission } from '../quota/submission.js';
import type { JobInput, JobSettings } from '../contract/job.js';
import type { AcceptedJob, AcceptJobInput, JobActivities } from '../contract/job-activities.js';
import type { JobRef } from '../contract/workflow-ids.js';
import { ownFile } from '../contract/group-forms.js';
import { memberIn } from '../contract/group.js';
import { firingJobId } from '../domain/schedule/schedule.js';
import { isWarmArray } from '../domain/array/array.js';
import { memberId } from '../domain/array/group-state.js';
import { contentHash } from '../domain/content-hash.js';
import { buildChoices, choicesOf } from '../domain/job-choices.js';
import { inputSizeProblem } from '../domain/bounds.js';
import { allowedIn, allowedInEdits, notAllowed } from '../quota/allowed.js';
import { type Submitter, submitterOf } from './authorization.js';
import { refuseOtherKey, submittersKey, acceptedPublicKey } from './connecting-key.js';
import type { ActivityDependencies, Installation } from './dependencies.js';
import { invalidJob, translated } from './failures.js';
import { refuseWithoutAccount, rememberAccount } from './accounts.js';
import { ofJob, secretVariables } from './secret-values.js';
import { storeCounted } from './counted.js';
import { withNearZones } from './near-zones.js';
import { checkNotify } from './notices.js';
import { type LoadedPool, machinesOfPool, type PoolSource } from './pool-source.js';
import { checkSetUpInputs } from './set-up-inputs.js';
import { UserJobsBook } from './user-jobs.js';

type JobRecordActivities = Pick<JobActivities, 'acceptJob' | 'claimWorker' | 'recordAttempt' | 'recordOutcome'>;

export function jobRecordActivities(dependencies: ActivityDependencies): JobRecordActivities {
  const { store, installation } = dependencies;
  const userJobs = new UserJobsBook(store);
  return {
    acceptJob: (input) => translated(() => acceptJob({ ...dependencies, userJobs }, input)),
    claimWorker: async () => ({ taskQueue: installation.claimedQueue }),
    recordAttempt: ({ job, record, events, source }) =>
      translated(async () => {
        if (source !== undefined)
          await store.replace(attemptSpecObject(job.id, record.attempt), source, 'application/yaml');
        await store.replace(attemptObject(job.id, record.attempt), toJson(record), 'application/json');
        await writeJobLog(store, job, events);
      }),
    recordOutcome: ({ job, outcome, events, counted }) =>
      translated(async () => {
        // The first outcome is the final one: a second write finds it there and changes nothing.
        await store.write(outcomeObject(job.id), toJson(outcome), 'absent', 'application/json');
        if (counted !== undefined) await storeCounted(store, counted);
        await writeJobLog(store, job, events);
      }),
  };
}

/** Hash of all that a member has in common with one on whose slices it may run: machines, lease, login and key. */
function fitsOf(spec: JobSpec, login: Pick<JobSettings, 'owner' | 'user' | 'project' | 'loginUser'>): string {
  const { slices, atomic, pool, priority, namedPricing, ssh } = spec;
  return contentHash({ ...login, machines: machineRequestOf(spec), slices, atomic, pool, priority, namedPricing, ssh });
}

async function acceptJob(
  {
    store,
    installation,
    quota,
    pools,
    userJobs,
    prices,
    placeOfBucket: placeOf,
  }: ActivityDependencies & { readonly userJobs: UserJobsBook },
  question: AcceptJobInput,
): Promise<AcceptedJob> {
  const { job, spec } = question;
  // First: nothing else is checked in a job that does not belong to its user.
  const submitter = submitterOf(installation.trust, question);
  const { user } = submitter;
  const input = ownInput(question);
  if (submitter.isVerified) await refuseUnknownPool(pools, spec.pool);
  const { config, problem } = await quota.inForce(spec.pool);
  // Retried: the operator fixes the file, and the job goes on.
  if (!config) throw new Error(`pool ${spec.pool}: no job can be accepted while its quota file is wrong: ${problem}`);
  if (problem !== undefined) log.warn(`pool ${spec.pool}: the last good quota file holds: ${problem}`);
  const pool = await loadPool(pools, spec.pool);
  const { isVerified } = submitter;
  const near = { placeOf, own: store.bucket, isVerified };
  const machines = withInventory(
    await withNearZones(completeMachines(pool, job, input), spec, near),
    spec.slices,
    pool,
  );
  refuseWithoutAccount(installation, machines);
  const project = projectOf(config, submitter, spec, askedMachines(machines).zones);
  const rules = underPoolRules({ spec: { ...spec, ...machines }, input, pool, config, project, installation });
  const own = ofJob(installation, { project, ...(submitter.isVerified && { isVerified: true }) });
  const key = spec.ssh && (await submittersKey(own, spec.ssh));
  if (spec.ssh && key) {
    const named = { field: 'ssh.private_key', path: spec.ssh.privateKey };
    refuseOtherKey(installation, named, key, input.sshKey);
  }
  // Only to refuse the job now: each start of the command reads them anew.
  await secretVariables(own, spec);
  await checkNotify(own, spec);
  await checkSetUpInputs(own, spec, input);
  const { limits = {} } = pool;
  const refusal = await userJobs.enter({ pool: spec.pool, user, job, limits, client: Context.current().client });
  if (refusal !== undefined) throw invalidJob(refusal);
  // Before the id is taken: a job whose id is taken and that has no record is from before there were job keys.
  const publicKey = key?.publicKey ?? (await acceptedPublicKey({ store, installation }, job, spec));
  // Last: a job that is refused takes nothing.
  await takeId(store, job);
  const owned = { user, project, pool: spec.pool };
  await store.write(jobOwnerObject(job.id), toJson(owned), 'absent', 'application/json');
  // Before any slice is asked for: from now on the janitor looks for our resources there.
  await rememberAccount(store, installation, machines);
  await store.write(specObject(job.id), input.source ?? toJson(input.job), 'absent', 'application/yaml');
  const label = labelOfJob(machines, installation.label);
  const list = await prices?.();
  const ownPrices = list && pricesFor({ ...spec, ...machines }, list);
  const loginUser = spec.remoteUser ?? installation.loginUser ?? loginOf(input.user);
  const { owner } = installation;
  const isWarm = isWarmArray(question.input.job);
  return {
    ...(isWarm && { fits: fitsOf({ ...spec, ...machines }, { owner, user, project, loginUser }) }),
    owner: installation.owner,
    ...(label === undefined ? {} : { label }),
    bucket: store.bucket,
    googleProject: installation.googleProject,
    publicKey,
    loginUser,
    user,
    ...(submitter.isVerified ? { isVerified: true as const } : {}),
    project,
    quotaNote: config.kind === 'unlimited' ? UNLIMITED_NOTE : `pool ${spec.pool}, project ${project}`,
    timings: installation.timings,
    ...(ownPrices && { prices: ownPrices }),
    ...rules,
    machines,
  };
}

/**
 * The input of one job. A member gets its own file, which is also the file that the store keeps: run alone, it does the same.
 * @throws InvalidJob for an array without a member, a member that its array does not have, or a member or firing under another id
 */
function ownInput({ job, input }: AcceptJobInput): JobInput {
  const { firing } = input;
  const member = memberIn(input);
  // Not in the workflow: in an export both are redacted, and differ. A firing of an array is the group of its members.
  const fired = member === undefined ? job.id : member.group;
  if (firing !== undefined && firing !== null && firingJobId(firing) !== fired)
    throw invalidJob(
      `${member === undefined ? 'workflow id' : 'member.group'}: '${fired}' is not '${firingJobId(firing)}', the id of this firing`,
    );
  const own = ownFile(input);
  if (!own.ok) throw invalidJob(formatProblems(own.problems));
  const { member: _, source: __, ...rest } = input;
  if (member === undefined) return input;
  const wanted = memberId(member);
  if (wanted !== job.id) throw invalidJob(`workflow id: '${job.id}' is not '${wanted}', the id of this member`);
  return { ...rest, job: own.file };
}

/** An invented pool name has no quota file, so nothing would be limited there. It is refused, and nothing is kept of it. */
async function refuseUnknownPool(pools: PoolSource, pool: string): Promise<void> {
  const problem = await pools.unknown(pool);
  if (problem !== undefined) throw invalidJob(formatProblems([problem]));
}

type GoodPool = LoadedPool & Required<Pick<LoadedPool, 'defaults'>>;

/** Rejects, and is tried again, until a good file was read. */
async function loadPool(pools: PoolSource, name: string): Promise<GoodPool> {
  const { defaults, problem, ...rest } = await pools.load(name);
  if (!defaults) throw new Error(`pool ${name}: no job can be accepted while its pool file is wrong: ${problem}`);
  if (problem !== undefined) log.warn(`pool ${name}: the last good pool file holds: ${problem}`);
  return { defaults, ...rest };
}

/** The job's section of machines with its pool's defaults, checked again as a whole. */
function completeMachines({ defaults }: GoodPool, job: JobRef, input: JobInput): MachineRequest {
  const resolved = resolveJob(input.job, { pool: defaults });
  if (!resolved.ok) throw invalidJob(formatProblems(resolved.problems));
  return machineRequestOf(bindJobName(resolved.spec, job.id));
}

/** @throws InvalidJob if the pool has too few of its own machines of that kind: the job would never start */
function withInventory(request: MachineRequest, slices: number, pool: GoodPool): MachineRequest {
  if (!('machines' in request)) return request;
  const inventory = machinesOfPool(pool);
  const machines = fromInventory(request.machines, inventory);
  const problem = tooFewMachines(machines, slices, inventory);
  if (problem !== undefined) throw invalidJob(formatProblems([problem]));
  return { machines };
}

/**
 * An id is used only once, for ever: Temporal forgets a job after its retention, and a service may start with a reuse policy that
 * allows it at once, but outcome and logs of the first stay. Repeating is safe.
 */
async function takeId(store: StorePort, { id, run }: JobRef): Promise<void> {
  if ((await store.write(runObject(id), run, 'absent', 'text/plain')).kind === 'written') return;
  const holder = (await store.read(runObject(id)))?.toString('utf8');
  if (holder === run) return;
  throw invalidJob(
    `workflow id: a job ${id} has run before (first run ${holder ?? 'unknown'}), and its outcome and logs are kept\n` +
      `  start the job under another id`,
  );
}

/** @throws InvalidJob if the pool would never start it, or not for this user */
export function projectOf(config: QuotaConfig, submitter: Submitter, spec: JobSpec, zones: readonly string[]): string {
  const { user, project, isVerified } = submitter;
  const { slices, namedPricing: pricing } = spec;
  const ask = { units: askedSize(spec).units, slices, zones, ...(pricing !== undefined && { pricing }) };
  const verdict = judgeSubmission(config, {
    ...{ user, project, ask, shown: formatSlices(spec), key: sizeKeyOf(spec) },
    mode: isVerified ? 'verified' : 'trusted',
  });
  if (!verdict.ok) throw invalidJob(verdict.message);
  return verdict.project;
}

/**
 * Writes the whole log of jobctl's work for the job each time, for people and for programs: it is small and has one writer at a
 * time (the job's workflow).
 */
async function writeJobLog(store: StorePort, job: JobRef, events: readonly CarriedEvent[]): Promise<void> {
  const shown = events.map((event) => shownEvent(readEvent(event)));
  const lines = shown.map(({ at, text }) => `${new Date(at).toISOString()} ${text}\n`);
  const objects = shown.map((event) => `${JSON.stringify(event)}\n`);
  await store.replace(`${jobLogPrefix(job.id)}0`, lines.join(''), 'text/plain');
  await store.replace(jobEventsObject(job.id), objects.join(''), 'application/x-ndjson');
}

/** The login of the user who runs this worker, for a service that names no user. */
const loginOf = (user: string | undefined): string => (user === undefined ? userInfo().username : loginNameOf(user));

const toJson = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;

interface Question {
  /** The job file, with its machines as the pool completes them. */
  readonly spec: JobSpec;
  readonly input: JobInput;
  readonly pool: LoadedPool;
  readonly config: QuotaConfig;
  /** The quota project. */
  readonly project: string;
  readonly installation: Pick<Installation, 'googleProject' | 'trust'>;
}

/**
 * Checks what the pool's file forbids to a job: choices, a priority, its size.
 * @returns the limits and choices that the job is held to later, for its settings
 * @throws InvalidJob with all that is forbidden
 */
export function underPoolRules(question: Question): Pick<JobSettings, 'limits' | 'allowed'> {
  const { spec, input, pool, config, project, installation } = question;
  const { choices = { pool: spec.pool, admins: [], gives: {} }, limits } = pool;
  // A pool with verified users allows only what its file allows, even if the file has no `[allow]` (docs/adr/0075).
  const mode = { isStrict: installation.trust.isVerified(spec.pool), googleProject: installation.googleProject };
  const allowed = allowedIn(choices, mode);
  const floors = config.kind === 'limited' ? config.rules?.priorityFloors : undefined;
  const problems = [
    inputSizeProblem(input, limits?.inputBytes),
    floorProblem(floors, project, spec.priority),
    allowed && formatProblems(notAllowed(allowed, [...choicesOf(spec), ...buildChoices(input.job, spec)])),
  ].filter((problem) => problem !== undefined && problem !== '');
  if (problems.length > 0) throw invalidJob(problems.join('\n'));
  const { logBytesPerAttempt, inputBytes, requestsPerJob } = limits ?? {};
  const kept = {
    ...(logBytesPerAttempt !== undefined && { logBytesPerAttempt }),
    ...(inputBytes !== undefined && { inputBytes }),
    ...(requestsPerJob !== undefined && { requestsPerJob }),
  };
  return {
    ...(Object.keys(kept).length > 0 && { limits: kept }),
    ...(allowed && { allowed: allowedInEdits(allowed) }),
  };
}
