import { orderOf, outsideOf, withIds } from '../../../domain/job-file/documents.js';
import { formatProblems } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type GoodJob, placed } from '../../job/job-file.js';
import { asTyped, printOut, tellLine } from '../../terminal/print.js';

/** Flags of `submit` that matter here. */
interface Flags {
  readonly name?: string;
  readonly wait?: true;
  readonly host?: unknown;
  readonly dryRun?: true;
}

/** Means to read and submit one job of the file. */
interface Several {
  readonly command: readonly string[] | undefined;
  /** Reads one job of the file. */
  readonly read: (text: string) => Promise<GoodJob>;
  /** Whether a job or a group has this id. */
  readonly isThere: (id: string) => Promise<boolean>;
  /** @param onSubmitted hears of the job as soon as it is there */
  readonly submit: (job: GoodJob, onSubmitted: (submitted: { readonly id: string }) => void) => Promise<unknown>;
}

/** Submits the jobs of one file, each behind those that its `after` names. All are checked first. */
export async function submitSeveral(
  file: string,
  documents: readonly string[],
  flags: Flags,
  { command, read, isThere, submit }: Several,
): Promise<number> {
  const forOne = Object.entries({ '--name': flags.name, '--wait': flags.wait, '--host': flags.host, '--': command });
  const [wrong] = forOne.find(([, value]) => value !== undefined) ?? [];
  if (wrong !== undefined)
    throw new CliError(
      ExitCode.Usage,
      `jobctl submit: ${wrong} is for one job, and ${file} is ${documents.length} jobs`,
      ...(wrong === '--wait' ? ['`jobctl wait JOB JOB ..` waits for several'] : []),
    );
  const jobs = await readAll(documents, read);
  const order = mustHaveOrder(file, documents, jobs);
  if (flags.dryRun !== true) await mustBeThere(file, documents, jobs, isThere);
  const ids = new Map<string, string>();
  for (const index of order) {
    const job = jobs[index] as GoodJob;
    if (flags.dryRun === true && index !== order[0]) printOut('---\n');
    const linked = { ...job, raw: withIds(job.raw, ids) };
    try {
      await submit(linked, ({ id }) => ids.set(job.spec.name, id));
    } catch (error) {
      const there = [...ids.values()];
      if (there.length > 0)
        tellLine(
          asTyped(
            `${job.spec.name} was not submitted, and ${there.join(', ')} before it: \`jobctl cancel ${there.join(' ')}\` ends them`,
          ),
        );
      throw error;
    }
  }
  return ExitCode.Done;
}

/** @throws CliError for ids of other jobs that are not there, before anything is submitted */
async function mustBeThere(
  file: string,
  documents: readonly string[],
  jobs: readonly GoodJob[],
  isThere: Several['isThere'],
): Promise<void> {
  const outside = outsideOf(jobs);
  const known = await Promise.all(outside.map(({ id }) => isThere(id)));
  const problems = outside.flatMap(({ id, document, meant }, index) => {
    if (known[index] === true) return [];
    const problem = {
      ...{ path: ['after'], value: id },
      message: `names '${id}', which is no job of this file, and no job or group that there is`,
      ...(meant !== undefined && { hint: `did you mean ${meant}?` }),
    };
    return [placed({ file, source: documents[document] ?? '', set: [] }, problem)];
  });
  if (problems.length > 0) throw new CliError(ExitCode.Usage, formatProblems(problems));
}

/** The order in which they are submitted. @throws CliError for a circle, or a name that is missing or stands twice */
export function mustHaveOrder(
  file: string,
  documents: readonly string[],
  jobs: readonly { readonly raw: unknown }[],
): readonly number[] {
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
