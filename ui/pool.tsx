import { lazy, Suspense, useState } from 'react';
import { addressOf } from './address.js';
import { type Answer, call } from './api.js';
import { Problem, useAnswer } from './parts/answer.js';
import { Boundary } from './parts/boundary.js';
import { useNow } from './parts/clock.js';
import { Link, useAddress } from './parts/link.js';
import { AskingButton, Question } from './parts/question.js';
import { At, Phase, Sentence, Since } from './parts/shown.js';
import { type Column, Table } from './parts/table.js';
import { clock, duration, unitsText } from './words.js';

type Use = Answer<'GET /v1/pools/:pool/use'>;
type Project = Use['projects'][number];
type Holder = Use['jobs'][number];
type Share = Use['users'][number];
type Reserved = NonNullable<Use['reservations']>[number];
type Seen = { readonly [Key in keyof CapacityRow]: CapacityRow[Key] };
type CapacityRow = Answer<'GET /v1/pools/:pool/capacity'>['rows'][number];
type Waiting = Answer<'GET /v1/board'>['rows'][number];

const Machines = lazy(async () => ({ default: (await import('./machines.js')).Machines }));
const PoolDay = lazy(async () => ({ default: (await import('./pool-day.js')).PoolDay }));
const QuotaFile = lazy(async () => ({ default: (await import('./quota-file.js')).QuotaFile }));

const LOOK_MS = 5_000;
const MOST_WAITING = 200;
const TABS = ['use', 'quota', 'machines'] as const;
type Tab = (typeof TABS)[number];
const TITLES: Readonly<Record<Tab, string>> = { use: 'Use', quota: 'Quota file', machines: 'Machines' };

/** A pool as it was last published: the holders of its chips, the jobs that wait for them, and its quota file. */
// Loaded with the first pool.
export function Pool({ pool }: { readonly pool: string }) {
  const asking = useAnswer('GET /v1/pools/:pool/use', { of: pool }, { everyMs: LOOK_MS });
  const use = asking.data;
  const said = new URLSearchParams(useAddress().search).get('tab');
  const tab = TABS.find((each) => each === said) ?? 'use';
  return (
    <section className="pool" aria-labelledby="pool-title">
      <header>
        <h1 id="pool-title">Pool {pool}</h1>
        {use !== undefined && use.admission !== 'open' && <Phase phase="evicting" label={use.admission} />}
        {use !== undefined && (
          <span className="note">
            as of <Since at={use.at} suffix=" ago" />
          </span>
        )}
        {use !== undefined && <PoolVerbs pool={pool} admission={use.admission} />}
      </header>
      <Problem {...asking} />
      {use !== undefined && <Admission use={use} />}
      {use?.problem !== undefined && (
        <p className="problem">
          Its files have a problem, and the last good ones are in force: <Sentence text={use.problem} />
        </p>
      )}
      <nav className="tabs" aria-label="Parts of the pool">
        {TABS.map((each) => (
          <Link key={each} to={`${addressOf({ name: 'pool', id: pool })}?tab=${each}`} isCurrent={each === tab}>
            {TITLES[each]}
          </Link>
        ))}
      </nav>
      <Boundary key={tab} name="This part">
        <Suspense fallback={<p className="note">Loading ..</p>}>
          {tab === 'use' && <PoolUse pool={pool} use={use} />}
          {tab === 'quota' && <QuotaFile pool={pool} use={use} />}
          {tab === 'machines' && <Machines pool={pool} />}
        </Suspense>
      </Boundary>
    </section>
  );
}

function PoolUse({ pool, use }: { readonly pool: string; readonly use: Use | undefined }) {
  const query = { pool, phase: 'queued', limit: MOST_WAITING };
  const waiting = useAnswer('GET /v1/board', { query }, { everyMs: LOOK_MS });
  const capacity = useAnswer('GET /v1/pools/:pool/capacity', { of: pool }, { everyMs: 30_000 });
  return (
    <>
      {use !== undefined && <Quota use={use} />}
      <Boundary name="The last day">
        <Suspense fallback={<p className="note">Loading ..</p>}>
          <PoolDay {...{ pool, use }} />
        </Suspense>
      </Boundary>
      {use !== undefined && (
        <>
          <h2>Jobs with chips ({use.jobs.length})</h2>
          <Table
            caption="Jobs with chips"
            columns={HOLDERS}
            rows={use.jobs}
            keyOf={({ job, tier, since }) => `${job} ${tier} ${since}`}
            nothing="No job holds chips."
          />
        </>
      )}
      {waiting.data !== undefined && (
        <>
          <h2>Waiting, by place ({waiting.data.total})</h2>
          <Table
            caption="Waiting"
            columns={WAITING}
            rows={waiting.data.rows}
            keyOf={({ id }) => id}
            nothing="No job waits."
          />
        </>
      )}
      {use?.reservations !== undefined && use.reservations.length > 0 && (
        <>
          <h2>Collected for jobs that waited long ({use.reservations.length})</h2>
          <Table
            caption="Reservations"
            columns={RESERVED}
            rows={use.reservations}
            keyOf={({ job, tier }) => `${job} ${tier}`}
            nothing=""
          />
        </>
      )}
      {use !== undefined && (
        <>
          <h2>Users</h2>
          <Table
            caption="Users"
            columns={USERS}
            rows={use.users}
            keyOf={({ user, project, isVerified }) => `${user} ${project} ${isVerified}`}
            nothing="Nobody has chips or waits."
          />
        </>
      )}
      {capacity.data !== undefined && capacity.data.rows.length > 0 && (
        <>
          <h2>Where chips were lately</h2>
          <Table
            caption="Capacity"
            columns={CAPACITY}
            rows={capacity.data.rows}
            keyOf={({ zone, accelerator, pricing }) => `${zone} ${accelerator} ${pricing}`}
            nothing=""
          />
        </>
      )}
    </>
  );
}

interface PoolVerbsParts {
  readonly pool: string;
  readonly admission: Use['admission'];
}

/** Freezes or thaws a pool. Offered to callers with the right to; a page of `jobctl ui` changes no pools. */
function PoolVerbs({ pool, admission }: PoolVerbsParts) {
  const { data: who } = useAnswer('GET /v1/whoami', {}, { everyMs: 60_000 });
  const { data } = useAnswer('GET /v1/access/explain', { query: { pool, verb: 'admission' } }, { everyMs: 30_000 });
  const [isAsked, setAsked] = useState(false);
  const [told, setTold] = useState('');
  const isOpen = admission === 'open';
  const set = async (form: FormData): Promise<string> => {
    const reason = form.get('reason');
    const given = typeof reason === 'string' && reason.trim() !== '' ? { reason: reason.trim() } : {};
    const body = { admission: isOpen ? ('frozen' as const) : ('open' as const), ...given };
    return (await call('POST /v1/pools/:pool/admission', { of: pool, body })).message;
  };
  if (data?.rows[0]?.isAllowed !== true || who === undefined || who.issuer === 'jobctl ui') return null;
  return (
    <div className="verbs">
      <span role="status" className="note">
        {told}
      </span>
      <AskingButton name={isOpen ? 'Freeze' : 'Thaw'} refusal={undefined} ask={() => setAsked(true)} />
      {isAsked && (
        <Question
          title={isOpen ? `Freeze pool ${pool}?` : `Thaw pool ${pool}?`}
          answer={isOpen ? 'Freeze' : 'Thaw'}
          act={set}
          tell={setTold}
          done={() => setAsked(false)}
        >
          <p>
            {isOpen
              ? 'Jobs that have chips go on. Nothing new is granted until the pool is thawed.'
              : 'Jobs are granted chips again, in the order of the line.'}
          </p>
          <label className="field">
            Reason, which everybody sees <input name="reason" maxLength={500} required={isOpen} autoComplete="off" />
          </label>
        </Question>
      )}
    </div>
  );
}

function Admission({ use: { admission, admissionReason, admissionSet } }: { readonly use: Use }) {
  const now = useNow(30_000);
  if (admission === 'open') return null;
  return (
    <p className="problem">
      {admission === 'frozen' ? 'Nothing new is granted' : 'Nothing new is granted, and every lease is asked back'}
      {admissionSet !== undefined && `, since ${clock(admissionSet.at, now)}, by ${admissionSet.by}`}
      {admissionReason !== undefined && `: ${admissionReason}`}
    </p>
  );
}

/** A bar for each project and type: nominal quota, its used part, and borrowed chips. */
function Quota({ use: { projects, tiers } }: { readonly use: Use }) {
  if (tiers.length === 0) return <p className="note">The pool has no quota file: it has no limit.</p>;
  const most = projects.reduce((sum, { nominal, used }) => Math.max(sum, nominal, used), 1);
  return (
    <>
      <ul className="tiers">
        {tiers.map(({ tier, type, total, inUse, draining, free, pricing, reservation }) => (
          <li key={`${tier} ${type}`}>
            {tiers.some((other) => other.tier !== tier) && `tier ${tier + 1}: `}
            <b>
              {inUse} of {total}
            </b>{' '}
            {type} in use, {Math.max(0, free)} free{draining > 0 && `, ${draining} draining`}
            {reservation === undefined
              ? pricing !== undefined && ` (${pricing})`
              : ` (from the Google reservation ${reservation})`}
          </li>
        ))}
      </ul>
      <Table
        caption="Projects"
        columns={projectColumns(most)}
        rows={projects}
        keyOf={({ project, type }) => `${project} ${type}`}
        nothing=""
      />
    </>
  );
}

const projectColumns = (most: number): readonly Column<Project>[] => [
  { title: 'Project', cell: ({ project }) => project, by: ({ project }) => project },
  { title: 'Type', cell: ({ type }) => type, by: ({ type }) => type },
  { title: 'Nominal', cell: ({ nominal }) => nominal, by: ({ nominal }) => nominal, isNumber: true },
  { title: 'Used', cell: ({ used }) => used, by: ({ used }) => used, isNumber: true },
  { title: 'Borrowed', cell: ({ borrowed }) => borrowed || '', by: ({ borrowed }) => borrowed, isNumber: true },
  { title: 'Lent', cell: ({ lent }) => lent || '', by: ({ lent }) => lent, isNumber: true, isMinor: true },
  { title: 'Waiting', cell: ({ waiting }) => waiting || '', by: ({ waiting }) => waiting, isNumber: true },
  {
    title: 'Share',
    isMinor: true,
    cell: ({ nominal, used, borrowed }) => (
      <span className="bar" aria-hidden="true" style={{ width: 160 }}>
        <i className="within" style={{ width: `${(100 * (used - borrowed)) / most}%` }} />
        <i className="borrowed" style={{ width: `${(100 * borrowed) / most}%` }} />
        <i className="nominal" style={{ left: `${(100 * nominal) / most}%` }} />
      </span>
    ),
  },
];

const jobLink = (id: string) => <Link to={addressOf({ name: 'job', id })}>{id}</Link>;

const HOLDERS: readonly Column<Holder>[] = [
  { title: 'Job', cell: ({ job }) => jobLink(job), by: ({ job }) => job },
  { title: 'User', cell: ({ user }) => user, by: ({ user }) => user },
  { title: 'Project', cell: ({ project }) => project, by: ({ project }) => project, isMinor: true },
  { title: 'Chips', cell: ({ chips }) => chips ?? '', by: ({ chips = 0 }) => chips, isNumber: true },
  { title: 'Units', cell: ({ units }) => unitsText(units), isMinor: true },
  {
    title: 'Priority',
    cell: ({ priority }) => priority,
    by: ({ priority }) => priority,
    isNumber: true,
    isMinor: true,
  },
  { title: 'For', cell: ({ since }) => <Since at={since} />, by: ({ since }) => -since, isNumber: true },
  {
    title: 'Lease',
    cell: ({ state, isBorrowing }) => (
      <Phase phase={state === 'draining' ? 'evicting' : 'running'} label={isBorrowing ? `${state}, borrowed` : state} />
    ),
    by: ({ state, isBorrowing }) => `${state}${isBorrowing}`,
  },
];

const WAITING: readonly Column<Waiting>[] = [
  {
    title: 'Place',
    cell: ({ place }) => place?.position ?? '',
    by: ({ place }) => place?.position ?? Infinity,
    isNumber: true,
  },
  { title: 'Job', cell: ({ id }) => jobLink(id), by: ({ id }) => id },
  { title: 'User', cell: ({ user }) => user, by: ({ user }) => user },
  { title: 'Slice', cell: ({ slice }) => slice, by: ({ slice }) => slice, isMinor: true },
  {
    title: 'For',
    cell: ({ phaseSince }) => <Since at={phaseSince} />,
    by: ({ phaseSince }) => -phaseSince,
    isNumber: true,
  },
  { title: 'Why', cell: ({ place, why = '' }) => <Sentence text={place?.why ?? why} /> },
];

const RESERVED: readonly Column<Reserved>[] = [
  { title: 'Job', cell: ({ job }) => jobLink(job), by: ({ job }) => job },
  { title: 'Project', cell: ({ project }) => project, by: ({ project }) => project },
  { title: 'Asks for', cell: ({ units }) => unitsText(units) },
  { title: 'Tier', cell: ({ tier }) => tier + 1, by: ({ tier }) => tier, isNumber: true, isMinor: true },
  { title: 'For', cell: ({ since }) => <Since at={since} />, by: ({ since }) => -since, isNumber: true },
  { title: 'Until', cell: ({ until }) => <At at={until} />, by: ({ until }) => until, isNumber: true },
];

const USERS: readonly Column<Share>[] = [
  {
    title: 'User',
    cell: ({ user, isVerified }) => `${user}${isVerified ? '' : ' (unverified)'}`,
    by: ({ user }) => user,
  },
  { title: 'Project', cell: ({ project }) => project, by: ({ project }) => project },
  { title: 'Jobs', cell: ({ jobs }) => jobs, by: ({ jobs }) => jobs, isNumber: true },
  { title: 'Chips', cell: ({ chips }) => chips, by: ({ chips }) => chips, isNumber: true },
  { title: 'Borrowed', cell: ({ borrowed }) => borrowed || '', by: ({ borrowed }) => borrowed, isNumber: true },
  {
    title: 'Waiting',
    cell: ({ waitingJobs, waitingChips }) => (waitingJobs === 0 ? '' : `${waitingJobs} (${waitingChips} chips)`),
    by: ({ waitingChips }) => waitingChips,
    isNumber: true,
  },
];

const CAPACITY: readonly Column<Seen>[] = [
  { title: 'Zone', cell: ({ zone }) => zone, by: ({ zone }) => zone },
  { title: 'Type', cell: ({ accelerator }) => accelerator, by: ({ accelerator }) => accelerator },
  { title: 'Pricing', cell: ({ pricing }) => pricing, by: ({ pricing }) => pricing, isMinor: true },
  { title: 'Asked', cell: ({ asked }) => asked, by: ({ asked }) => asked, isNumber: true },
  { title: 'Got', cell: ({ got }) => got, by: ({ got }) => got, isNumber: true },
  {
    title: 'Wait',
    cell: ({ medianWaitMs }) => (medianWaitMs === undefined ? '' : duration(medianWaitMs)),
    by: ({ medianWaitMs = 0 }) => medianWaitMs,
    isNumber: true,
  },
  {
    title: 'Seen',
    cell: ({ seenAt }) => <Since at={seenAt} suffix=" ago" />,
    by: ({ seenAt }) => -seenAt,
    isNumber: true,
    isMinor: true,
  },
];
