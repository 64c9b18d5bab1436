import { outsideOf, withIds } from '../../../domain/job-file/documents.js';
import type { Submitted } from '../../../client/submissions.js';
import { formatProblems } from '../../../domain/problem.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { type GoodJob, placed } from '../../job/job-file.js';
import { mustHaveOrder, readAll } from '../../job/several-jobs.js';
import { asTyped, printOut, tellLine } from '../../terminal/print.js';

/** Flags of `submit` that matter here. */
interface Flags {
  readonly name?: string;
  readonly wait?: true;
  readonly host?: unknown;
  readonly dryRun?: true;
  readonly verdict?: boolean;
  readonly output?: string;
}

/** Means to read and submit one job of the file. */
interface Several {
  readonly command: readonly string[] | undefined;
  /** Reads one job of the file. */
  readonly read: (text: string) => Promise<GoodJob>;
  /** Those of these ids that neither a job nor a group has. */
  readonly missingOf: (ids: readonly string[]) => Promise<ReadonlySet<string>>;
  /** @param onSubmitted hears of the job as soon as it is there */
  readonly submit: (
    job: GoodJob,
    onSubmitted: (submitted: Pick<Submitted, 'id' | 'members'>) => void,
  ) => Promise<unknown>;
  /** Tells the first verdicts on jobs. @returns an exit code */
  readonly verdicts: (ids: readonly string[]) => Promise<number>;
}

/** Submits the jobs of one file, each behind those that its `after` names. All are checked first. */
export async function submitSeveral(
  file: string,
  documents: readonly string[],
  flags: Flags,
  { command, read, missingOf, submit, verdicts }: Several,
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
  if (flags.dryRun !== true) await mustBeThere(file, documents, jobs, missingOf);
  const ids = new Map<string, string>();
  const jobIds: string[] = [];
  for (const index of order) {
    const job = jobs[index] as GoodJob;
    if (flags.dryRun === true && index !== order[0]) printOut('---\n');
    const linked = { ...job, raw: withIds(job.raw, ids) };
    try {
      await submit(linked, ({ id, members }) => {
        ids.set(job.spec.name, id);
        if (members === undefined) jobIds.push(id);
      });
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
  // After all are there: a verdict is waited for, and none is of a group.
  const isTold = flags.verdict !== false && flags.dryRun !== true && flags.output !== 'json' && jobIds.length > 0;
  return isTold ? verdicts(jobIds) : ExitCode.Done;
}

/** @throws CliError for ids of other jobs that are not there, before anything is submitted */
async function mustBeThere(
  file: string,
  documents: readonly string[],
  jobs: readonly GoodJob[],
  missingOf: Several['missingOf'],
): Promise<void> {
  const outside = outsideOf(jobs);
  if (outside.length === 0) return;
  const missing = await missingOf(outside.map(({ id }) => id));
  const problems = outside.flatMap(({ id, document, meant }) => {
    if (!missing.has(id)) return [];
    const problem = {
      ...{ path: ['after'], value: id },
      message: `names '${id}', which is no job of this file, and no job or group that there is`,
      ...(meant !== undefined && { hint: `did you mean ${meant}?` }),
    };
    return [placed({ file, source: documents[document] ?? '', set: [] }, problem)];
  });
  if (problems.length > 0) throw new CliError(ExitCode.Usage, formatProblems(problems));
}
