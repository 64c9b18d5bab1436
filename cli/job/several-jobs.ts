import { orderOf } from '../../domain/job-file/documents.js';
import { formatProblems } from '../../domain/problem.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { type GoodJob, placed } from './job-file.js';

// Jobs of one file (docs/adr/0158).

/** The order in which they are submitted. @throws CliError for a circle, or a name that is missing or stands twice */
export function mustHaveOrder(file: string, documents: readonly string[], jobs: readonly GoodJob[]): readonly number[] {
  const ordered = orderOf(jobs);
  if (ordered.ok) return ordered.order;
  const problems = ordered.problems.map(({ document, ...problem }) =>
    placed({ file, source: documents[document] ?? '', set: [] }, problem),
  );
  throw new CliError(ExitCode.Usage, formatProblems(problems));
}

/** @throws CliError with the problems of all */
export async function readAll<T>(
  documents: readonly string[],
  read: (text: string) => Promise<T>,
): Promise<readonly T[]> {
  const jobs: T[] = [];
  const problems: string[] = [];
  for (const text of documents)
    try {
      jobs.push(await read(text));
    } catch (error) {
      if (!(error instanceof CliError)) throw error;
      problems.push(error.message);
    }
  if (problems.length > 0) throw new CliError(ExitCode.Usage, problems.join('\n'));
  return jobs;
}
