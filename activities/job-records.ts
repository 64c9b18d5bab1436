import { userInfo } from 'node:os';
import type { StorePort } from '../cloud/store/port.js';
import { unitsOfJob } from '../domain/job-units.js';
import type { JobSpec } from '../domain/job-spec.js';
import { attemptObject, jobLogPrefix, outcomeObject, specObject } from '../domain/store-layout.js';
import { canEverFit } from '../quota/decide.js';
import { type QuotaConfig, UNLIMITED_NOTE } from '../quota/quota-config.js';
import { resolveProject } from '../quota/membership.js';
import type { JobEvent, JobSettings } from '../workflows/messages.js';
import { connectingKey } from './connecting-key.js';
import type { AcceptJobInput, JobActivities, JobRef } from './contract.js';
import type { ActivityDependencies } from './dependencies.js';
import { invalidJob, translated } from './failures.js';

type JobRecordActivities = Pick<JobActivities, 'acceptJob' | 'claimWorker' | 'recordAttempt' | 'recordOutcome'>;

export function jobRecordActivities(dependencies: ActivityDependencies): JobRecordActivities {
  const { store, installation } = dependencies;
  return {
    acceptJob: (input) => translated(() => acceptJob(dependencies, input)),
    claimWorker: async () => ({ taskQueue: installation.claimedQueue }),
    recordAttempt: ({ job, record, events }) =>
      translated(async () => {
        await store.replace(attemptObject(job.id, record.attempt), toJson(record), 'application/json');
        await writeJobLog(store, job, events);
      }),
    recordOutcome: ({ job, outcome, events }) =>
      translated(async () => {
        // The first outcome is the final one: a second write finds it there and changes nothing.
        await store.write(outcomeObject(job.id), toJson(outcome), 'absent', 'application/json');
        await writeJobLog(store, job, events);
      }),
  };
}

async function acceptJob(
  { store, installation, quota }: ActivityDependencies,
  { job, spec, input }: AcceptJobInput,
): Promise<JobSettings> {
  const user = spec.user ?? input.user ?? 'unknown';
  const { config, problem } = await quota.load(spec.pool);
  // Retried: the operator mends the file, and the job goes on.
  if (!config) throw new Error(`pool ${spec.pool}: no job can be accepted while its quota file is wrong: ${problem}`);
  const project = projectOf(config, user, spec);
  await store.write(specObject(job.id), input.source ?? toJson(input.job), 'absent', 'application/yaml');
  return {
    owner: installation.owner,
    ...(installation.label === undefined ? {} : { label: installation.label }),
    bucket: store.bucket,
    googleProject: installation.googleProject,
    publicKey: (await connectingKey(installation, spec.ssh)).publicKey,
    loginUser: spec.remoteUser ?? installation.loginUser ?? input.user ?? userInfo().username,
    user,
    project,
    quotaNote: config.kind === 'unlimited' ? UNLIMITED_NOTE : `pool ${spec.pool}, project ${project}`,
    timings: installation.timings,
  };
}

function projectOf(config: QuotaConfig, user: string, spec: JobSpec): string {
  const resolved = resolveProject(config, user, spec.project);
  if (!resolved.ok) throw invalidJob(`project: ${resolved.message}`);
  const fit = canEverFit(config, unitsOfJob(spec));
  if (!fit.fits) throw invalidJob(`tpu.accelerator: ${spec.slices} x ${spec.tpu.accelerator} ${fit.message}`);
  return resolved.project;
}

/** What jobctl did for the job, whole, each time: it is small, and one writer at a time has it (the job's workflow). */
async function writeJobLog(store: StorePort, job: JobRef, events: readonly JobEvent[]): Promise<void> {
  const lines = events.map(({ at, text }) => `${new Date(at).toISOString()} ${text}\n`);
  await store.replace(`${jobLogPrefix(job.id)}0`, lines.join(''), 'text/plain');
}

const toJson = (value: unknown): string => `${JSON.stringify(value, undefined, 2)}\n`;
