import type { JobClient } from '../../../client/job-client.js';
import type { Submission } from '../../../client/submissions.js';
import { builtJob } from '../../job/building/built-job.js';
import { type GoodJob, tellWarnings } from '../../job/job-file.js';
import { checkJobKeys, type JobKeys } from '../../job/job-keys.js';
import { userOf } from '../../place/asker.js';
import { farBuckets, zonesOfJob, makeRehearsedBuckets } from '../../place/buckets.js';
import { storeForFiles, withClient } from '../../place/connect.js';
import { type CliContext, type ContextFlags, resolveContext } from '../../place/context.js';
import { readDevContext } from '../../place/stack/context.js';
import { billedLine } from '../../place/stack/stack-record.js';
import { stackHome } from '../../terminal/home.js';
import { printErr } from '../../terminal/print.js';
import { TransferLine } from '../../terminal/render/transfer-line.js';
import { asSubmitted } from './after-submit.js';
import type { JobFlags } from './read-job.js';

/** A job that can be submitted. */
export interface CheckedJob extends GoodJob, Pick<JobKeys, 'sshKey' | 'identityKeys'> {
  readonly file: string;
  /** Warnings; the promise never rejects. */
  readonly farAway: Promise<readonly string[]>;
  readonly uploading: TransferLine;
}

/** The job as JobClient takes it. */
export const submissionOf = (job: CheckedJob, context: CliContext): Submission => ({
  job: asSubmitted(job.raw, context),
  source: job.source,
  ...(context.server === undefined && { user: userOf(context) }),
  files: job.files,
  ...(job.sshKey === undefined ? {} : { sshKey: job.sshKey }),
  ...(job.identityKeys === undefined ? {} : { identityKeys: job.identityKeys }),
});

interface Place {
  readonly context: CliContext;
  readonly flags: JobFlags;
}

/** Checks a job's keys, builds its image, and connects to the place that takes it and its files. */
export async function withCheckedJob<T>(
  job: GoodJob,
  named: string,
  { context, flags }: Place,
  use: (client: JobClient, job: CheckedJob) => Promise<T>,
): Promise<T> {
  const { set = [] } = flags;
  // Runs concurrently with the rest.
  const farAway = zonesOfJob(job.spec, context).then((zones) => farBuckets({ ...job.spec, ...zones }, context));
  const keys = await checkJobKeys({ file: named, set, source: job.source }, job.spec, context);
  tellWarnings(named, keys.warnings);
  const built = await builtJob(job, named, flags);
  await makeRehearsedBuckets(context, [job.raw, job.spec], job.files);
  const store = await storeForFiles(job.files, context);
  const uploading = new TransferLine('uploading');
  const submission = { ...built, ...keys, file: named, farAway, uploading };
  const means = { ...(store && { store }), onUpload: uploading.show };
  return withClient(context, (client) => use(client, submission), means);
}

/** Resolves the context. A local stack on real Cloud TPU is announced, as by `dev up`: a user may take it for the rehearsal. */
export function configured(flags: ContextFlags): CliContext {
  const context = resolveContext(flags);
  const stack = readDevContext(stackHome());
  const isStack = stack !== undefined && stack.temporal.address === context.temporal.address;
  const googleProject = stack?.googleProject;
  if (isStack && stack.rehearsal === undefined && googleProject !== undefined)
    printErr(`${billedLine({ googleProject })}\n`);
  return context;
}
