import { JobInvalid } from '../client/errors.js';
import type { ReadTask } from './dear-tasks.js';
import { ApiError } from './problem.js';
import type { Services } from './services.js';

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
