import { lazy, Suspense, useState } from 'react';
import { addressOf } from './address.js';
import { type Answer, call } from './api.js';
import { chosenOf, MOST_COMPARED, toggled } from './comparison.js';
import { Problem, useAnswer } from './parts/answer.js';
import { changeSearch, Link, useAddress } from './parts/link.js';
import { AskingButton, Question } from './parts/question.js';
import { Facts, Phase, Sentence, Since } from './parts/shown.js';
import { type Choice, type Column, Table } from './parts/table.js';
import { count, duration } from './words.js';

const Compare = lazy(async () => ({ default: (await import('./compare.js')).Compare }));

type Member = Answer<'GET /v1/groups/:id/members'>['members'][number];
type Row = Answer<'GET /v1/jobs'>['rows'][number];
interface Shown extends Member {
  readonly row: Row | undefined;
}

const LOOK_MS = 5_000;
/** Number of members whose rows are read, the newest first: the server's limit per answer. */
const MOST_ROWS = 1_000;
/** Longest value that a cell shows. */
const MOST_OF_VALUE = 60;

/** A group, with a row of parameters for each member. Columns can be sorted and hidden, and members compared. */
// Loaded with the first group.
export function Group({ id }: { readonly id: string }) {
  const asking = useAnswer('GET /v1/groups/:id', { of: id }, { everyMs: LOOK_MS });
  const group = asking.data;
  const isOver = group?.endedAt !== undefined;
  const every = { everyMs: isOver ? 0 : LOOK_MS, isWanted: group !== undefined };
  const members = useAnswer('GET /v1/groups/:id/members', { of: id }, every);
  const rows = useAnswer('GET /v1/jobs', { query: { group: id, limit: MOST_ROWS } }, every);
  const [hidden, setHidden] = useState<readonly string[]>([]);
  const chosen = chosenOf(new URLSearchParams(useAddress().search).get('members'));
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
  const axes = members.data?.axes ?? [];
  const columns = columnsOf(axes);
  const toggle = (title: string): void =>
    setHidden((before) => (before.includes(title) ? before.filter((each) => each !== title) : [...before, title]));
  const compared = chosen.flatMap((index) => {
    const { row, values } = shown.find((member) => member.index === index) ?? {};
    return row && values ? [{ index, id: row.id, values, isOver: row.endedAt !== undefined }] : [];
  });
  return (
    <section className="group" aria-labelledby="group-title">
      <header>
        <h1 id="group-title">{id}</h1>
        {isOver ? <Phase phase="succeeded" label="ended" /> : <Phase phase="open" />}
        <GroupVerbs id={id} isOver={isOver} failed={members.data?.failed ?? 0} member={rows.data?.rows[0]?.id} />
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
      <Chosen chosen={chosen} shown={shown} />
      {compared.length > 0 && (
        <Suspense fallback={<p className="note">Loading ..</p>}>
          <Compare members={compared} axes={axes} />
        </Suspense>
      )}
      <Table
        caption={`Members of ${id}`}
        columns={columns.filter(({ title }) => !hidden.includes(title))}
        rows={shown}
        keyOf={({ index }) => String(index)}
        nothing={members.data === undefined ? 'A worker is asked ..' : 'It has no members.'}
        choice={choiceOf(chosen)}
      />
    </section>
  );
}

const choose = (chosen: readonly number[]): void => changeSearch({ members: chosen.join(',') });

const choiceOf = (chosen: readonly number[]): Choice<Shown> => ({
  title: 'Compare',
  isChosen: ({ index }) => chosen.includes(index),
  toggle: ({ index }) => choose(toggled(chosen, index)),
  label: ({ index }) => `Compare member ${index}`,
});

/** The number of compared members, and buttons that choose several at once. */
function Chosen({ chosen, shown }: { readonly chosen: readonly number[]; readonly shown: readonly Shown[] }) {
  const begun = shown.filter(({ row }) => row !== undefined).map(({ index }) => index);
  if (begun.length === 0) return null;
  const waiting = chosen.filter((index) => !begun.includes(index)).length;
  return (
    <p className="note chosen" role="status">
      {chosen.length === 0 ? 'Choose members to compare their metrics: boxes, or the key x.' : null}
      {chosen.length > 0 && `${count(chosen.length, 'member')} of at most ${MOST_COMPARED} chosen`}
      {waiting > 0 && `, ${waiting} without a job yet`}{' '}
      {chosen.length === 0 ? (
        <button type="button" className="quiet" onClick={() => choose(begun.slice(0, MOST_COMPARED))}>
          compare {begun.length > MOST_COMPARED ? `the first ${MOST_COMPARED}` : 'all'}
        </button>
      ) : (
        <button type="button" className="quiet" onClick={() => choose([])}>
          choose none
        </button>
      )}
    </p>
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

interface GroupVerbsParts {
  readonly id: string;
  readonly isOver: boolean;
  /** Number of members that a retry would run again. */
  readonly failed: number;
  /**
   * Any job of the group: it has the group's owner, project and pool, so the rights on it are shown. Undefined: no member has
   * begun, so only the server can tell.
   */
  readonly member: string | undefined;
}

/** Buttons of a group. A button that the access table refuses is grey, and says who may use it. */
function GroupVerbs({ id, isOver, failed, member }: GroupVerbsParts) {
  const [asked, ask] = useState<'cancel' | 'retry'>();
  const [told, setTold] = useState('');
  const job = member ?? '';
  const rights = useAnswer(
    'GET /v1/access/explain',
    { query: { job } },
    { everyMs: 30_000, isWanted: job !== '' && (!isOver || failed > 0) },
  );
  const refusalOf = (verb: string): string | undefined => {
    const right = rights.data?.rows.find((row) => row.verb === verb);
    return right?.isAllowed === false ? right.why : undefined;
  };
  return (
    <div className="verbs">
      <span role="status" className="note">
        {told}
      </span>
      {failed > 0 && <AskingButton name="Retry failed" refusal={refusalOf('restart')} ask={() => ask('retry')} />}
      {!isOver && <AskingButton name="Cancel" isFinal refusal={refusalOf('cancel')} ask={() => ask('cancel')} />}
      {asked === 'retry' && (
        <Question
          title={`Retry failed members of ${id}?`}
          answer={`Run ${count(failed, 'member')} again`}
          act={async () => (await call('POST /v1/groups/:id/retry', { of: id, body: {} })).message}
          tell={setTold}
          done={() => ask(undefined)}
        >
          <p>
            {count(failed, 'member')} failed, or did not begin. Each runs again as a new job with the same parameters.
            Their old jobs and logs stay.
          </p>
        </Question>
      )}
      {asked === 'cancel' && (
        <Question
          title={`Cancel ${id}?`}
          answer="Cancel all"
          isFinal
          act={async () => {
            const { state } = await call('POST /v1/groups/:id/cancel', { of: id, body: {} });
            return state === 'done' ? 'It has ended already.' : 'It is being cancelled.';
          }}
          tell={setTold}
          done={() => ask(undefined)}
        >
          <p>All members end for good, and their slices are deleted. This cannot be undone.</p>
        </Question>
      )}
    </div>
  );
}
