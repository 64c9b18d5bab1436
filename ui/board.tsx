import { useVirtualizer } from '@tanstack/react-virtual';
import { type KeyboardEvent, useMemo, useRef, useState } from 'react';
import { addressOf, type BoardFilters, filtersOf, isFound, searchOf } from './address.js';
import type { Answer } from './api.js';
import { Problem, useAnswer } from './parts/answer.js';
import { go, Link, useAddress } from './parts/link.js';
import { isTyping } from './parts/keys.js';
import { Phase, Sentence, Since } from './parts/shown.js';
import { count, duration } from './words.js';

type BoardAnswer = Answer<'GET /v1/board'>;
type Row = BoardAnswer['rows'][number];
/** A heading, or a job. */
type Entry = string | Row;

/** The server's limit of rows per answer. */
const MOST_ROWS = 1_000;
const DAY_MS = 86_400_000;
const GROUPS_MS = 10_000;
/** `endedSince` is rounded to this step, so that polls repeat one query and its answer can be cached. */
const STEP_MS = 300_000;

export function Board() {
  const { search } = useAddress();
  const filters = filtersOf(search);
  const { text, phases, user, project, pool, isAll } = filters;
  const since = Math.floor((Date.now() - DAY_MS) / STEP_MS) * STEP_MS;
  const asking = useAnswer('GET /v1/board', {
    query: {
      ...{ user, project, pool, limit: MOST_ROWS, phase: phases.join(',') },
      ...(isAll ? {} : { endedSince: since }),
    },
  });
  const { data } = asking;
  const change = (part: Partial<BoardFilters>): void =>
    go(`${addressOf({ name: 'board' })}${searchOf({ ...filters, ...part })}`, true);
  const entries = useMemo(() => (data === undefined ? [] : entriesOf(data.rows, text)), [data, text]);
  const found = entries.filter((entry) => typeof entry !== 'string').length;
  return (
    <section aria-labelledby="board-title" className="board">
      <h1 id="board-title" className="hidden">
        Jobs
      </h1>
      <Filters filters={filters} change={change} />
      {data !== undefined && <Totals phases={data.phases} chosen={phases} change={change} />}
      <Problem {...asking} />
      {data === undefined && asking.error === null && <p className="note">Loading ..</p>}
      {data !== undefined && found === 0 && <p className="note">{nothingWords(data, filters)}</p>}
      <Groups filters={filters} since={since} />
      {found > 0 && <Rows entries={entries} />}
      {data !== undefined && data.total > data.rows.length && (
        <p className="note">
          {count(data.total - data.rows.length, 'more job')} match and are not shown: narrow the filters.
        </p>
      )}
    </section>
  );
}

function nothingWords({ total }: BoardAnswer, { text, isAll }: BoardFilters): string {
  if (text !== '' && total > 0) return `No job here has '${text}'.`;
  return isAll ? 'There is no job.' : 'No job is open, and none ended within a day.';
}

function Filters({
  filters,
  change,
}: {
  readonly filters: BoardFilters;
  readonly change: (part: Partial<BoardFilters>) => void;
}) {
  const { data: who } = useAnswer('GET /v1/whoami', {}, { everyMs: 60_000 });
  const named = (['user', 'project', 'pool'] as const).filter((key) => filters[key] !== '');
  return (
    <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <label>
        <span className="hidden">Search jobs</span>
        <input
          type="search"
          placeholder="Search  ( / )"
          value={filters.text}
          onChange={(event) => change({ text: event.target.value })}
        />
      </label>
      {who !== undefined && (
        <label className="check">
          <input
            type="checkbox"
            checked={filters.user === who.id}
            onChange={(event) => change({ user: event.target.checked ? who.id : '' })}
          />
          mine
        </label>
      )}
      <label className="check">
        <input type="checkbox" checked={filters.isAll} onChange={(event) => change({ isAll: event.target.checked })} />
        older too
      </label>
      {named.map((key) => (
        <button
          key={key}
          type="button"
          className="chip"
          onClick={() => change({ [key]: '' })}
          title="Remove this filter"
        >
          {key} {filters[key]} <span aria-hidden="true">×</span>
          <span className="hidden">: remove this filter</span>
        </button>
      ))}
    </form>
  );
}

const MOST_GROUPS = 8;

/** One line for each group that is open or ended within a day, with the number of its members in each state. */
function Groups({
  filters: { text, user, project, pool, phases, isAll },
  since,
}: {
  readonly filters: BoardFilters;
  readonly since: number;
}) {
  const query = { user, project, pool, limit: 100, ...(isAll ? {} : { endedSince: since }) };
  const { data } = useAnswer('GET /v1/groups', { query }, { everyMs: GROUPS_MS });
  const [isWhole, setWhole] = useState(false);
  const found = data?.rows.filter((group) => group.id.includes(text.toLowerCase())) ?? [];
  if (found.length === 0 || phases.length > 0) return null;
  return (
    <ul className="groups" aria-label="Groups">
      {found
        .slice(0, isWhole ? found.length : MOST_GROUPS)
        .map(({ id, members, counts = {}, endedAt, submittedAt, awaited, stopped }) => (
          <li key={id}>
            <Link to={addressOf({ name: 'group', id })}>{id}</Link>{' '}
            <span className="note">
              {count(members, 'job')},{' '}
              {Object.entries(counts)
                .map(([word, number]) => `${number} ${word}`)
                .join(', ')}
              {awaited ? `, waits for ${awaited}` : ''}
              {stopped ? `, stopped by ${stopped}` : ''}{' '}
              {endedAt === undefined ? <Since at={submittedAt} /> : duration(endedAt - submittedAt)}
            </span>
          </li>
        ))}
      {found.length > MOST_GROUPS && !isWhole && (
        <li>
          <button type="button" className="quiet" onClick={() => setWhole(true)}>
            all {found.length} groups
          </button>
        </li>
      )}
    </ul>
  );
}

interface TotalsParts {
  readonly phases: BoardAnswer['phases'];
  readonly chosen: readonly string[];
  readonly change: (part: Partial<BoardFilters>) => void;
}

/** Number of jobs in each phase. A click filters by the phase. */
function Totals({ phases, chosen, change }: TotalsParts) {
  const missing = chosen.filter((phase) => !phases.some((each) => each.phase === phase));
  const shown = [...phases, ...missing.map((phase) => ({ phase, jobs: 0, chips: 0 }))];
  const toggle = (phase: string): void =>
    change({ phases: chosen.includes(phase) ? chosen.filter((each) => each !== phase) : [...chosen, phase] });
  return (
    <div className="totals" role="group" aria-label="Phases">
      {shown.map(({ phase, jobs, chips }) => (
        <button
          key={phase}
          type="button"
          className="chip"
          aria-pressed={chosen.includes(phase)}
          onClick={() => toggle(phase)}
        >
          <Phase phase={phase} /> <b>{jobs.toLocaleString('en')}</b>
          {chips !== undefined && chips > 0 && <span className="note">{count(chips, 'chip')}</span>}
        </button>
      ))}
      {chosen.length > 0 && (
        <button type="button" className="quiet" onClick={() => change({ phases: [] })}>
          all phases
        </button>
      )}
    </div>
  );
}

const PARTS: readonly (readonly [title: string, isOf: (row: Row) => boolean])[] = [
  ['Running', ({ phase, endedAt }) => endedAt === undefined && !['queued', 'released'].includes(phase)],
  ['Waiting', ({ phase, endedAt }) => endedAt === undefined && ['queued', 'released'].includes(phase)],
  ['Ended', ({ endedAt }) => endedAt !== undefined],
];

function entriesOf(rows: readonly Row[], text: string): readonly Entry[] {
  const found = rows.filter((row) => isFound(row, text));
  return PARTS.flatMap(([title, isOf]) => {
    const part = found.filter(isOf);
    return part.length === 0 ? [] : [`${title} (${part.length.toLocaleString('en')})`, ...part];
  });
}

const ROW_PX = 30;
const NARROW_ROW_PX = 62;
const NARROW = '(max-width: 700px)';

function Rows({ entries }: { readonly entries: readonly Entry[] }) {
  const place = useRef<HTMLDivElement>(null);
  const height = matchMedia(NARROW).matches ? NARROW_ROW_PX : ROW_PX;
  const rows = useVirtualizer({
    count: entries.length,
    getScrollElement: () => place.current,
    estimateSize: (index) => (typeof entries[index] === 'string' ? ROW_PX : height),
    getItemKey: (index) => keyOf(entries[index]),
    overscan: 12,
  });
  const move = (event: KeyboardEvent): void => {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step === undefined || isTyping(event.target)) return;
    const focused = (event.target as HTMLElement).closest('[data-index]')?.getAttribute('data-index');
    let next = focused === null || focused === undefined ? 0 : Number(focused) + step;
    while (typeof entries[next] === 'string') next += step;
    if (entries[next] === undefined) return;
    event.preventDefault();
    rows.scrollToIndex(next);
    const focus = (): boolean => {
      const link = place.current?.querySelector<HTMLElement>(`[data-index="${next}"] a`);
      link?.focus();
      return link instanceof HTMLElement;
    };
    // A row that is not drawn yet exists after the next frame.
    if (!focus()) requestAnimationFrame(focus);
  };
  return (
    <div
      ref={place}
      className="rows"
      role="table"
      aria-label="Jobs"
      aria-rowcount={entries.length}
      tabIndex={0}
      onKeyDown={move}
    >
      <div className="space" style={{ height: rows.getTotalSize() }} role="rowgroup">
        {rows.getVirtualItems().map(({ index, key, start, size }) => {
          const entry = entries[index];
          const at = { transform: `translateY(${start}px)`, height: size };
          if (entry === undefined) return null;
          if (typeof entry === 'string')
            return (
              <div key={key} className="heading" style={at} role="row" aria-rowindex={index + 1} data-index={index}>
                <div role="cell">
                  <h2>{entry}</h2>
                </div>
              </div>
            );
          return (
            <div key={key} className="row" style={at} role="row" aria-rowindex={index + 1} data-index={index}>
              <JobCells row={entry} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

const keyOf = (entry: Entry | undefined): string =>
  typeof entry === 'string' ? entry.replace(/ .*/, '') : `job ${entry?.id}`;

function JobCells({ row }: { readonly row: Row }) {
  const { id, user, project, slice, chips, phase, phaseSince, submittedAt, endedAt, place, why, attempts, isVerified } =
    row;
  const reason = place?.why ?? why ?? '';
  return (
    <>
      <span role="cell" className="id">
        <Link to={addressOf({ name: 'job', id })}>{id}</Link>
      </span>
      <span role="cell" className="state">
        <Phase phase={phase} />
        {place !== undefined && (
          <span className="place" title={`place ${place.position} of ${place.of}`}>
            {place.position}
            <span className="hidden"> of {place.of} in line</span>
          </span>
        )}
      </span>
      <span role="cell" className="time number">
        {endedAt === undefined ? <Since at={phaseSince} /> : duration(endedAt - submittedAt)}
      </span>
      <span role="cell" className="slice">
        {slice}
        <span className="note">{chips === undefined ? '' : ` ${chips}`}</span>
      </span>
      <span role="cell" className="who" title={isVerified === false ? 'nobody has verified this name' : undefined}>
        {user}
      </span>
      <span role="cell" className="project">
        {project === '-' ? '' : project}
      </span>
      <span role="cell" className="why" title={reason}>
        {attempts > 1 && <span className="note">attempt {attempts} </span>}
        <Sentence text={reason} />
      </span>
    </>
  );
}
