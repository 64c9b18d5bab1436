import { parseSetOption } from '../../domain/job-file/set-option.js';
import { formatProblems } from '../../domain/problem.js';
import type { JobEdit } from '../job-calls.js';
import type { AskOptions } from './ask-job.js';
import { CliError } from './cli-error.js';
import { type ContextFlags, resolveContext } from './context.js';
import { ExitCode } from './exit-codes.js';
import { readJobFile } from './job-file.js';
import { storeForFiles } from './writable-store.js';

export interface EditFlags {
  readonly file?: string;
  readonly set?: readonly string[];
}

/**
 * What `--file` and `--set` change of an open job. With a file, `--set` changes the file, as at submit; without one, the file that is in
 * force. @throws CliError with every problem
 */
function readEdit({ file, set = [] }: EditFlags): JobEdit {
  if (file !== undefined) {
    const job = readJobFile(file, { set });
    for (const warning of job.warnings) process.stderr.write(`${file}: warning: ${warning}\n`);
    return { job: job.raw, source: job.source, files: job.files };
  }
  const options = set.map(parseSetOption);
  const problems = options.flatMap((option) => ('message' in option ? [option] : []));
  if (problems.length > 0) throw new CliError(ExitCode.Usage, formatProblems(problems));
  const values = options.flatMap((option) => ('message' in option ? [] : [{ path: option.path, value: option.value }]));
  return values.length === 0 ? {} : { set: values };
}

/** Reads the change, and opens the store where it names local files, before the job is asked for anything. */
export async function withEdit(
  flags: EditFlags & ContextFlags,
  ask: (edit: JobEdit, options: AskOptions) => Promise<number>,
): Promise<number> {
  const edit = readEdit(flags);
  const context = resolveContext(flags);
  return ask(edit, { context, store: await storeForFiles(edit.files ?? {}, context) });
}
