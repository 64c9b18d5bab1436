import { useState } from 'react';
import { addressOf } from './address.js';
import { type Answer, call } from './api.js';
import { Problem, useAnswer } from './parts/answer.js';
import { Link } from './parts/link.js';
import { Question } from './parts/question.js';
import { Phase, Sentence, Since } from './parts/shown.js';
import { type Column, Table } from './parts/table.js';

type Machine = Answer<'GET /v1/pools/:pool/machines'>['machines'][number];

/** Interval between looks. For each, a worker connects to every machine over SSH. */
const LOOK_MS = 60_000;

/** A pool's own machines: the use of each, or the reason why it is not used. Drain and undrain ask for confirmation. */
// Loaded when it is first opened.
export function Machines({ pool }: { readonly pool: string }) {
  const asking = useAnswer('GET /v1/pools/:pool/machines', { of: pool }, { everyMs: LOOK_MS });
  const { data: who } = useAnswer('GET /v1/whoami', {}, { everyMs: 60_000 });
  const [asked, ask] = useState<Asked>();
  const [told, setTold] = useState('');
  const { data } = asking;
  // A page of `jobctl ui` changes no pools.
  const mayChange = who !== undefined && who.issuer !== 'jobctl ui';
  if (data === undefined)
    return (
      <>
        <Problem {...asking} />
        {asking.error === null && <p className="note">A worker is asked ..</p>}
      </>
    );
  const states = new Map<string, number>();
  for (const { state } of data.machines) states.set(state, (states.get(state) ?? 0) + 1);
  return (
    <section aria-label="Machines">
      <Problem {...asking} />
      {data.machines.some(({ isRehearsed }) => isRehearsed === true) && (
        <p className="warn">REHEARSAL: VMs of a local stack, in place of machines that no pool file names.</p>
      )}
      <p role="status" className="note">
        {[...states].map(([state, number]) => `${number} ${STATE_WORDS[state] ?? state}`).join(', ')}
        {told !== '' && ` · ${told}`}
      </p>
      <Table
        caption={`Machines of pool ${pool}`}
        columns={mayChange ? [...COLUMNS, changeColumn(ask)] : COLUMNS}
        rows={data.machines}
        keyOf={({ name }) => name}
        nothing="The pool owns no machines: [[machines]] of its pool file names them."
      />
      {asked !== undefined && (
        <Change
          key={`${asked.verb} ${asked.machine.name}`}
          {...{ pool, asked }}
          tell={setTold}
          done={() => ask(undefined)}
        />
      )}
    </section>
  );
}

type Verb = 'drain' | 'undrain' | 'check';
interface Asked {
  readonly verb: Verb;
  readonly machine: Machine;
}

const TITLES: Readonly<Record<Verb, string>> = { drain: 'Drain', undrain: 'Undrain', check: 'Check' };
/** The verb that ends each state in which a machine is not used. In other states the verb is drain. */
const VERBS: Readonly<Record<string, Verb>> = { drained: 'undrain', aside: 'check', silent: 'check' };

interface ChangeParts {
  readonly pool: string;
  readonly asked: Asked;
  readonly tell: (words: string) => void;
  readonly done: () => void;
}

function Change({ pool, asked: { verb, machine }, tell, done }: ChangeParts) {
  const { name, job, problem } = machine;
  const act = async (form: FormData): Promise<string> => {
    const reason = form.get('reason');
    const given = typeof reason === 'string' && reason.trim() !== '' ? { reason: reason.trim() } : {};
    const body = { verb, names: [name], ...given };
    const { machines } = await call('POST /v1/pools/:pool/machines', { of: pool, body });
    return machines.map((each) => `${each.name} is ${STATE_WORDS[each.state] ?? each.state}`).join(', ');
  };
  return (
    <Question title={`${TITLES[verb]} ${name}?`} answer={TITLES[verb]} {...{ act, tell, done }}>
      {verb === 'drain' && (
        <>
          <p>
            {job === undefined ? 'No job gets it' : `${job} goes on there, and no other job gets it`} until it is used
            again.
          </p>
          <label className="field">
            Reason, for those who look at it <input name="reason" maxLength={500} autoComplete="off" />
          </label>
        </>
      )}
      {verb === 'undrain' && <p>It is given to the next job that fits.</p>}
      {verb === 'check' && <p>It is inspected now, which takes up to a minute. If it is well, it is used again.</p>}
      {verb !== 'drain' && problem !== undefined && (
        <p className="reason">
          <Sentence text={problem} />
        </p>
      )}
    </Question>
  );
}

const STATE_WORDS: Readonly<Record<string, string>> = {
  ...{ free: 'free', held: 'held by a job', drained: 'drained', aside: 'put aside' },
  ...{ silent: 'not answering', foreign: 'held by somebody else' },
};
/** States by the colours of phases. */
const TONES: Readonly<Record<string, string>> = {
  ...{ free: 'succeeded', held: 'running', drained: 'paused', aside: 'failed', silent: 'failed', foreign: 'paused' },
};

const COLUMNS: readonly Column<Machine>[] = [
  { title: 'Machine', cell: ({ name }) => <code>{name}</code>, by: ({ name }) => name },
  {
    title: 'State',
    cell: ({ state }) => <Phase phase={TONES[state] ?? 'unknown'} label={STATE_WORDS[state] ?? state} />,
    by: ({ state }) => state,
  },
  {
    title: 'Since',
    cell: ({ since }) => (since === undefined ? '' : <Since at={since} />),
    by: ({ since = 0 }) => -since,
    isNumber: true,
    isMinor: true,
  },
  {
    title: 'Job',
    cell: ({ job }) => (job === undefined ? '' : <Link to={addressOf({ name: 'job', id: job })}>{job}</Link>),
    by: ({ job = '' }) => job,
  },
  {
    title: 'Has',
    cell: ({ accelerators }) =>
      Object.entries(accelerators)
        .map(([type, number]) => `${number} ${type}`)
        .join(', '),
    isMinor: true,
  },
  { title: 'Address', cell: ({ address }) => address, by: ({ address }) => address, isMinor: true },
  {
    title: 'Why',
    cell: ({ problem, warning }) => (
      <>
        {problem !== undefined && <Sentence text={problem} />}
        {warning !== undefined && <span className="warn"> warning: {warning}</span>}
      </>
    ),
  },
];

const changeColumn = (ask: (asked: Asked) => void): Column<Machine> => ({
  title: 'Change',
  cell: (machine) => {
    const verb = VERBS[machine.state] ?? 'drain';
    return (
      <button type="button" className="quiet" onClick={() => ask({ verb, machine })}>
        {verb}
        <span className="hidden"> {machine.name}</span>
      </button>
    );
  },
});
