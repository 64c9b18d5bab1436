import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { addressOf } from './address.js';
import { type Answer, call } from './api.js';
import { Problem, useAnswer } from './parts/answer.js';
import { Link } from './parts/link.js';
import { Facts, Phase, Sentence, Since } from './parts/shown.js';
import { type Column, Table } from './parts/table.js';
import { duration } from './words.js';

type Member = Answer<'GET /v1/groups/:id/members'>['members'][number];
type Row = Answer<'GET /v1/jobs'>['rows'][number];
interface Shown extends Member {
  readonly row: Row | undefined;
}

const LOOK_MS = 5_000;
/** Members whose rows are read, the newest of them: as many as one answer has. */
const MOST_ROWS = 1_000;
/** Longest value that a cell shows. */
const MOST_OF_VALUE = 60;

/** A group: its members by their parameters. A column can be sorted by, and hidden. */
// Loaded with the first group.
export function Group({ id }: { readonly id: string }) {
  const asking = useAnswer('GET /v1/groups/:id', { of: id }, { everyMs: LOOK_MS });
  const group = asking.data;
  const isOver = group?.endedAt !== undefined;
  const every = { everyMs: isOver ? 0 : LOOK_MS, isWanted: group !== undefined };
  const members = useAnswer('GET /v1/groups/:id/members', { of: id }, every);
  const rows = useAnswer('GET /v1/jobs', { query: { group: id, limit: MOST_ROWS } }, every);
  const [hidden, setHidden] = useState<readonly string[]>([]);
  if (group === undefined)
    return (
      <section>
        <h1>{id}</h1>
        <Problem {...asking} />
        {asking.error === null && <p className="note">Loading ..</p>}
      </section>
    );
  const byId = new Map(rows.data?.rows.map((row) => [row.id, row]));
  const shown = members.data?.members.map((member): Shown => ({ ...member, row: byId.get(member.id) })) ?? [];
  const columns = columnsOf(members.data?.axes ?? []);
  const toggle = (title: string): void =>
    setHidden((before) => (before.includes(title) ? before.filter((each) => each !== title) : [...before, title]));
  return (
    <section className="group" aria-labelledby="group-title">
      <header>
        <h1 id="group-title">{id}</h1>
        {isOver ? <Phase phase="succeeded" label="ended" /> : <Phase phase="open" />}
        {!isOver && <CancelGroup id={id} />}
      </header>
      <Problem {...asking} />
      <Facts
        facts={[
          ['user', group.user],
          ['project', group.project],
          ['pool', group.pool],
          ['members', String(group.members)],
          ['submitted', <Since key="since" at={group.submittedAt} suffix=" ago" />],
          ...Object.entries(group.counts ?? {}).map(([word, number]) => [word, String(number)] as const),
          ...(group.awaited ? ([['waits for', group.awaited]] as const) : []),
          ...(group.stopped ? ([['stopped by', group.stopped]] as const) : []),
        ]}
      />
      <div className="totals" role="group" aria-label="Columns">
        {columns.map(({ title }) => (
          <button
            key={title}
            type="button"
            className="chip"
            aria-pressed={!hidden.includes(title)}
            onClick={() => toggle(title)}
          >
            {title}
          </button>
        ))}
      </div>
      <Problem {...members} />
      {members.data?.isFromLists === true && <p className="warn">No worker answers: this is what lists know.</p>}
      <Table
        caption={`Members of ${id}`}
        columns={columns.filter(({ title }) => !hidden.includes(title))}
        rows={shown}
        keyOf={({ index }) => String(index)}
        nothing={members.data === undefined ? 'A worker is asked ..' : 'It has no members.'}
      />
    </section>
  );
}

function columnsOf(axes: readonly string[]): readonly Column<Shown>[] {
  return [
    { title: '#', cell: ({ index }) => index, by: ({ index }) => index, isNumber: true },
    ...axes.map((axis): Column<Shown> => ({
      title: axis,
      cell: ({ values }) => String(values[axis] ?? '').slice(0, MOST_OF_VALUE),
      by: ({ values }) => values[axis] ?? '',
      isNumber: true,
    })),
    {
      title: 'state',
      cell: ({ state, row }) => <Phase phase={row?.endedAt === undefined ? (row?.phase ?? state) : state} />,
      by: ({ state, row }) => (row?.endedAt === undefined ? (row?.phase ?? state) : state),
    },
    {
      title: 'job',
      cell: ({ id, row }) => (row === undefined ? id : <Link to={addressOf({ name: 'job', id })}>{id}</Link>),
      by: ({ id }) => id,
    },
    {
      title: 'time',
      cell: ({ row }) =>
        row === undefined ? (
          ''
        ) : row.endedAt === undefined ? (
          <Since at={row.phaseSince} />
        ) : (
          duration(row.endedAt - row.submittedAt)
        ),
      by: ({ row }) => (row === undefined ? 0 : (row.endedAt ?? Date.now()) - row.submittedAt),
      isNumber: true,
      isMinor: true,
    },
    {
      title: 'attempts',
      cell: ({ row }) => row?.attempts ?? '',
      by: ({ row }) => row?.attempts ?? 0,
      isNumber: true,
      isMinor: true,
    },
    { title: 'why', cell: ({ row }) => <Sentence text={row?.why ?? ''} />, isMinor: true },
  ];
}

/** Two steps in place, as a dialog of one question is. */
function CancelGroup({ id }: { readonly id: string }) {
  const [isAsked, setAsked] = useState(false);
  const queries = useQueryClient();
  const cancelling = useMutation({
    mutationFn: () => call('POST /v1/groups/:id/cancel', { of: id, body: {} }),
    onSettled: () => {
      setAsked(false);
      void queries.invalidateQueries();
    },
  });
  const { error } = cancelling;
  return (
    <div className="verbs">
      {error !== null && (
        <span role="alert" className="warn">
          {error.message}
        </span>
      )}
      {isAsked && <span>All members end for good:</span>}
      {isAsked ? (
        <>
          <button type="button" onClick={() => setAsked(false)} autoFocus>
            No, go back
          </button>
          <button type="button" className="final" disabled={cancelling.isPending} onClick={() => cancelling.mutate()}>
            Cancel all
          </button>
        </>
      ) : (
        <button type="button" className="final" onClick={() => setAsked(true)}>
          Cancel
        </button>
      )}
    </div>
  );
}
