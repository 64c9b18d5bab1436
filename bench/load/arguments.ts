import { parseArgs } from 'node:util';

export interface Scenario {
  readonly title: string;
  readonly server: 'dev' | 'postgresql';
  /** Jobs that wait at the same time. */
  readonly jobs: number;
}

/** Number of jobs on PostgreSQL, where the server is four times as slow on a small machine. The worker's part is the same. */
const POSTGRES_JOBS = 1_000;

/** @throws TypeError for an unknown flag, RangeError for a count that is not a whole number above 0 */
export function loadArguments(args: readonly string[]): readonly Scenario[] {
  const { values } = parseArgs({
    args: [...args],
    options: { jobs: { type: 'string', default: '1000,10000' }, 'skip-postgres': { type: 'boolean', default: false } },
  });
  const counts = values.jobs.split(',').map(jobCount);
  const dev = counts.map((jobs): Scenario => ({ title: `dev server, ${shown(jobs)}`, server: 'dev', jobs }));
  if (values['skip-postgres']) return dev;
  return [...dev, { title: `PostgreSQL, ${shown(POSTGRES_JOBS)}`, server: 'postgresql', jobs: POSTGRES_JOBS }];
}

function jobCount(text: string): number {
  const jobs = Number(text);
  if (Number.isInteger(jobs) && jobs > 0) return jobs;
  throw new RangeError(`--jobs: '${text}' is no number of jobs; give whole numbers with commas, such as 1000,10000`);
}

const shown = (jobs: number): string => jobs.toLocaleString('en-US');
