import { addressOf } from './address.js';
import type { Answer } from './api.js';
import { Problem, useAnswer } from './parts/answer.js';
import { useNow } from './parts/clock.js';
import { Link } from './parts/link.js';
import { Phase } from './parts/shown.js';
import { type Column, Table } from './parts/table.js';
import { clock } from './words.js';

type Schedule = Answer<'GET /v1/schedules'>['schedules'][number];

/** Schedules, with their next time and the end of their last job. */
// Loaded when it is first opened.
export function Schedules() {
  const asking = useAnswer('GET /v1/schedules', {}, { everyMs: 15_000 });
  return (
    <section aria-labelledby="schedules-title">
      <h1 id="schedules-title">Schedules</h1>
      <Problem {...asking} />
      {asking.data !== undefined && (
        <Table
          caption="Schedules"
          columns={COLUMNS}
          rows={asking.data.schedules}
          keyOf={({ name }) => name}
          nothing="There is no schedule: `jobctl schedule create` makes one."
        />
      )}
    </section>
  );
}

const Time = ({ at }: { readonly at: number | undefined }) => clockOf(at, useNow(30_000));
const clockOf = (at: number | undefined, now: number): string => (at === undefined ? '' : clock(at, now));

const COLUMNS: readonly Column<Schedule>[] = [
  { title: 'Name', cell: ({ name }) => name, by: ({ name }) => name },
  { title: 'Times', cell: ({ cron, timeZone }) => `${cron}  ${timeZone}` },
  {
    title: 'Next',
    cell: ({ isPaused, next }) => (isPaused ? <Phase phase="paused" /> : <Time at={next[0]} />),
    by: ({ next }) => next[0] ?? 0,
  },
  {
    title: 'Last',
    cell: ({ last }) =>
      last === undefined ? (
        ''
      ) : (
        <>
          <Link to={addressOf({ name: 'job', id: last.job })}>{last.job}</Link> <Phase phase={last.state} />
        </>
      ),
    by: ({ last }) => last?.at ?? 0,
  },
  { title: 'User', cell: ({ user }) => user, by: ({ user }) => user, isMinor: true },
  { title: 'Project', cell: ({ project }) => project, by: ({ project }) => project, isMinor: true },
  { title: 'Slice', cell: ({ slice }) => slice, by: ({ slice }) => slice, isMinor: true },
];
