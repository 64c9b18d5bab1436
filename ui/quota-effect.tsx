import type { RefObject } from 'react';
import { addressOf } from './address.js';
import { Refused } from './api.js';
import { Link } from './parts/link.js';
import { Sentence } from './parts/shown.js';
import { type Column, Table } from './parts/table.js';
import { type Effect, type MovedJob, placeOfLine, problemsIn } from './quota-words.js';
import { count, unitsText } from './words.js';

interface ProblemsParts {
  readonly error: Error;
  /** Name of the edited file in messages, and its text. */
  readonly file: string;
  readonly text: string;
  readonly area: RefObject<HTMLTextAreaElement | null>;
}

/** The problems of the files. A click goes to the line. */
export function Problems({ error, file, text, area }: ProblemsParts) {
  const show = (line: number): void => {
    area.current?.focus();
    area.current?.setSelectionRange(...placeOfLine(text, line));
  };
  return (
    <div role="alert" className="problem">
      <ul>
        {problemsIn(error.message, file).map(({ text: words, line }) => (
          <li key={words}>
            {line !== undefined && (
              <button type="button" className="quiet" onClick={() => show(line)}>
                line {line}
              </button>
            )}{' '}
            {words}
          </li>
        ))}
      </ul>
      {error instanceof Refused && error.remedy !== undefined && <p className="note">{error.remedy}</p>}
    </div>
  );
}

/** The jobs that would be preempted or started, apart from those to which this happens anyway. */
export function ShownEffect({ effect }: { readonly effect: Effect }) {
  const { preempted, started, waiting, waitingNow, warnings } = effect;
  return (
    <section aria-label="What would change" className="effect">
      {warnings.map((warning) => (
        <p key={warning} className="warn">
          {warning}
        </p>
      ))}
      <p role="status">
        <b>
          {preempted.length === 0
            ? 'Nobody would be preempted'
            : `${count(preempted.length, 'job')} would be preempted`}
          , {started.length === 0 ? 'none would start' : `${count(started.length, 'job')} would start`},{' '}
          {waiting.length} would wait{waiting.length !== waitingNow && ` (now ${waitingNow})`}
        </b>
      </p>
      <Moved title="Preempted at once, with notice" columns={[...MOVED, FOR, ANYWAY]} jobs={preempted} />
      <Moved title="Started at once" columns={[...MOVED, ANYWAY]} jobs={started} />
      <Moved title="Waiting, by place" columns={[PLACE, ...MOVED, WHY]} jobs={waiting} />
    </section>
  );
}

interface MovedParts<Job extends MovedJob> {
  readonly title: string;
  readonly columns: readonly Column<Job>[];
  readonly jobs: readonly Job[];
}

function Moved<Job extends MovedJob>({ title, columns, jobs }: MovedParts<Job>) {
  if (jobs.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <Table caption={title} columns={columns} rows={jobs} keyOf={({ job }) => job} most={50} nothing="" />
    </>
  );
}

/** Limit of jobs that a question names. */
const MOST_NAMED = 12;

/** Names the jobs that would be preempted, in a question. */
export function Preempted({ effect: { preempted } }: { readonly effect: Effect }) {
  if (preempted.length === 0) return <p>Nobody is preempted by the next decision.</p>;
  return (
    <>
      <p>{count(preempted.length, 'job')} will be preempted, with notice:</p>
      <ul>
        {preempted.slice(0, MOST_NAMED).map(({ job, user, for: whom }) => (
          <li key={job}>
            <b>{job}</b>
            {user !== undefined && ` of ${user}`}, for {whom}
          </li>
        ))}
      </ul>
      {preempted.length > MOST_NAMED && <p>and {preempted.length - MOST_NAMED} more</p>}
    </>
  );
}

const jobLink = (id: string) => <Link to={addressOf({ name: 'job', id })}>{id}</Link>;

const MOVED: readonly Column<MovedJob>[] = [
  { title: 'Job', cell: ({ job }) => jobLink(job), by: ({ job }) => job },
  { title: 'User', cell: ({ user = '' }) => user, by: ({ user = '' }) => user },
  { title: 'Project', cell: ({ project = '' }) => project, by: ({ project = '' }) => project, isMinor: true },
  { title: 'Units', cell: ({ units }) => (units === undefined ? '' : unitsText(units)), isMinor: true },
];
const FOR: Column<MovedJob> = { title: 'For', cell: ({ for: whom = '' }) => (whom === '' ? '' : jobLink(whom)) };
const ANYWAY: Column<MovedJob> = {
  title: 'By the change',
  cell: ({ isAnyway }) => (isAnyway ? 'no, it happens anyway' : 'yes'),
  by: ({ isAnyway }) => isAnyway,
};
type Waiting = Effect['waiting'][number];
const PLACE: Column<Waiting> = {
  title: 'Place',
  cell: ({ position }) => position,
  by: ({ position }) => position,
  isNumber: true,
};
const WHY: Column<Waiting> = { title: 'Why', cell: ({ why }) => <Sentence text={why} /> };
