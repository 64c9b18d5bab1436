import { useMemo, useState } from 'react';
import type { Answer } from './api.js';
import { Problem, useAnswer } from './parts/answer.js';
import { Chart, type Line } from './parts/chart.js';
import { useNow } from './parts/clock.js';
import { Sentence } from './parts/shown.js';
import { type Column, Table } from './parts/table.js';
import { type DayRow, dayRows, type Drawn, pictureOf, typesOf, unitsWords } from './pool-history.js';
import { clock } from './words.js';

type Use = Answer<'GET /v1/pools/:pool/use'>;
type History = Answer<'GET /v1/pools/:pool/history'>;

/** Stretches are of five minutes. */
const LOOK_MS = 60_000;
const HEIGHT_PX = 240;

interface DayParts {
  readonly pool: string;
  /** The pool's use as it was published last, for its nominal quota. */
  readonly use: Use | undefined;
}

/** Who had the chips of a pool and who waited, over the last day. */
// Loaded when it is first opened.
export function PoolDay({ pool, use }: DayParts) {
  const asking = useAnswer('GET /v1/pools/:pool/history', { of: pool }, { everyMs: LOOK_MS });
  const { data } = asking;
  return (
    <section aria-labelledby="day-title">
      <h2 id="day-title">The last day</h2>
      <Problem {...asking} />
      {data === undefined && asking.error === null && <p className="note">Loading ..</p>}
      {data !== undefined && data.series.length === 0 && <p className="note">Nobody had chips or waited for some.</p>}
      {data !== undefined && data.series.length > 0 && <Day history={data} use={use} />}
      {data !== undefined && <Told history={data} />}
    </section>
  );
}

function Day({ history, use }: { readonly history: History; readonly use: Use | undefined }) {
  const types = typesOf(history);
  const [chosen, choose] = useState('');
  const [project, setProject] = useState('');
  const type = types.find((each) => each === chosen) ?? types[0] ?? '';
  const projects = history.series.filter((each) => each.type === type).map((each) => each.project);
  const own = projects.find((each) => each === project);
  const nominal = nominalOf(use, type, own);
  const picture = useMemo(() => pictureOf(history, { type, project: own, nominal }), [history, type, own, nominal]);
  const rows = useMemo(() => dayRows(history, use?.projects ?? []), [history, use]);
  return (
    <>
      <div className="filters">
        {types.length > 1 && (
          <label>
            type{' '}
            <select value={type} onChange={(event) => choose(event.target.value)}>
              {types.map((each) => (
                <option key={each}>{each}</option>
              ))}
            </select>
          </label>
        )}
        <label>
          project{' '}
          <select value={own ?? ''} onChange={(event) => setProject(event.target.value)}>
            <option value="">all, one upon the other</option>
            {projects.map((each) => (
              <option key={each}>{each}</option>
            ))}
          </select>
        </label>
      </div>
      {picture === undefined ? (
        <p className="note">Nothing is known of this time.</p>
      ) : (
        <Chart
          label={`Units of ${type} held and waited for, ${own ?? 'by project'}. The table below has the numbers.`}
          across="time"
          lines={picture.lines.map(lineOf)}
          data={[picture.at, ...picture.lines.map(({ top }) => top)]}
          values={picture.lines.map(({ value }) => value)}
          isTime
          isStepped
          heightPx={HEIGHT_PX}
        />
      )}
      <p className="note">
        Units from their grant until their slices are seen gone, as the mean of five minutes. What is nominal is of the
        quota file that is in force now.
      </p>
      <details>
        <summary>The same in numbers</summary>
        <Table
          caption="The last day in numbers"
          columns={COLUMNS}
          rows={rows}
          keyOf={(row) => `${row.project} ${row.type}`}
          nothing=""
        />
      </details>
    </>
  );
}

/** The nominal quota of one project, or all that the pool has of a type. */
function nominalOf(use: Use | undefined, type: string, project: string | undefined): number | undefined {
  if (use === undefined || use.tiers.length === 0) return undefined;
  if (project !== undefined)
    return use.projects.find((each) => each.project === project && each.type === type)?.nominal;
  return use.tiers.filter((each) => each.type === type).reduce((sum, { total }) => sum + total, 0);
}

const COLOURS = ['--c4', '--c2', '--c3', '--c5', '--c6', '--c1', '--c13', '--c7'] as const;

function lineOf({ label, kind }: Drawn, index: number, all: readonly Drawn[]): Line {
  if (kind === 'waiting') return { label, colour: '--bad', isDashed: true };
  if (kind === 'nominal') return { label, colour: '--text', isDashed: true };
  const held = all.filter((each) => each.kind === 'held').length;
  // Areas are in the order of their tops, the first project below all others.
  return { label, colour: COLOURS[held - 1 - index] ?? '--c7', isFilled: true };
}

const amount = (title: string, of: (row: DayRow) => number | undefined, isMinor = false): Column<DayRow> => ({
  title,
  cell: (row) => unitsWords(of(row)),
  by: (row) => of(row) ?? -1,
  isNumber: true,
  isMinor,
});

const COLUMNS: readonly Column<DayRow>[] = [
  { title: 'Project', cell: ({ project }) => project, by: ({ project }) => project },
  { title: 'Type', cell: ({ type }) => type, by: ({ type }) => type },
  { ...amount('Nominal', ({ nominal }) => nominal), cell: ({ nominal }) => nominal ?? '-' },
  amount('Now', ({ now }) => now, true),
  amount('Mean', ({ mean }) => mean),
  amount('Highest', ({ most }) => most),
  {
    ...amount('Borrowed, unit-hours', ({ borrowedHours }) => borrowedHours, true),
    cell: ({ borrowedHours }) => (borrowedHours === undefined ? '-' : unitsWords(borrowedHours)),
  },
  amount('Waiting, mean', ({ waitingMean }) => waitingMean),
];

const CALLS: Readonly<Record<string, string>> = { applied: 'applied', admission: 'admission', released: 'released' };

/** Changes that people made, and times of which nothing is known. */
function Told({ history: { gaps, calls } }: { readonly history: History }) {
  const now = useNow(60_000);
  return (
    <>
      {gaps.length > 0 && (
        <ul className="note" aria-label="Times of which nothing is known">
          {gaps.map(({ from, to, why }) => (
            <li key={`${from} ${to} ${why}`}>
              {clock(from, now)} to {clock(to, now)} is not known: {why}
            </li>
          ))}
        </ul>
      )}
      {calls.length > 0 && (
        <details>
          <summary>What people changed ({calls.length})</summary>
          <ol className="calls">
            {calls.toReversed().map(({ at, kind, by, reason = '' }) => (
              <li key={`${at} ${kind} ${reason}`}>
                <time dateTime={new Date(at).toISOString()}>{clock(at, now)}</time> {by}: {CALLS[kind] ?? kind}{' '}
                <Sentence text={reason} />
              </li>
            ))}
          </ol>
        </details>
      )}
    </>
  );
}
