import { lazy, type ReactNode, Suspense, useState } from 'react';
import type { JobView } from '../contract/job.js';
import { addressOf } from './address.js';
import { type Answer, objectNames, objectText, Refused } from './api.js';
import { Problem, useAnswer } from './parts/answer.js';
import { Boundary } from './parts/boundary.js';
import { useNow } from './parts/clock.js';
import { Link, useAddress } from './parts/link.js';
import { Facts, Phase, Sentence, Since } from './parts/shown.js';
import { type Column, Table } from './parts/table.js';
import { useQuery } from '@tanstack/react-query';
import { editsOf } from './records.js';
import { Verbs } from './verbs.js';
import { clock, count, duration, exactClock, onClock, toneOf } from './words.js';

const Log = lazy(async () => ({ default: (await import('./log/log-view.js')).Log }));
const Metrics = lazy(async () => ({ default: (await import('./metrics.js')).Metrics }));

const Outputs = lazy(async () => ({ default: (await import('./outputs.js')).Outputs }));
const JobAccount = lazy(async () => ({ default: (await import('./account.js')).JobAccount }));
const SetUpProgress = lazy(async () => ({ default: (await import('./set-up.js')).SetUpProgress }));

type Row = Answer<'GET /v1/jobs/:id'>;
const TABS = ['log', 'outputs', 'account', 'events', 'hosts', 'file'] as const;
type Tab = (typeof TABS)[number];

/** Interval between descriptions. Each needs an answer of a worker, so it is longer than that of rows. */
const VIEW_MS = 5_000;

// Loaded when the first job is opened.
export function Job({ id }: { readonly id: string }) {
  const asking = useAnswer('GET /v1/jobs/:id', { of: id });
  const row = asking.data;
  const isOver = row?.endedAt !== undefined;
  const viewing = useAnswer(
    'GET /v1/jobs/:id/description',
    { of: id },
    { everyMs: isOver ? 0 : VIEW_MS, isWanted: row !== undefined },
  );
  const view = viewing.data as JobView | undefined;
  const { search } = useAddress();
  const said = new URLSearchParams(search).get('tab');
  const tab = TABS.find((each) => each === said) ?? 'log';
  if (row === undefined)
    return (
      <section>
        <h1>{id}</h1>
        <Problem {...asking} />
        {asking.error === null && <p className="note">Loading ..</p>}
      </section>
    );
  return (
    <section className="job" aria-labelledby="job-title">
      <header>
        <h1 id="job-title">{id}</h1>
        <Phase phase={row.phase} />
        {row.endedAt === undefined && <Since at={row.phaseSince} />}
        {row.label !== undefined && <span className="warn">{row.label}</span>}
        <Verbs row={row} />
      </header>
      <Problem {...asking} />
      <Why row={row} />
      <JobFacts row={row} view={view} />
      {view !== undefined && <Timeline view={view} endedAt={row.endedAt} />}
      {row.phase === 'setting-up' && (
        <Suspense fallback={null}>
          <SetUpProgress job={id} isUnderWay />
        </Suspense>
      )}
      <nav className="tabs" aria-label="Parts of the job">
        {TABS.map((each) => (
          <Link key={each} to={`${addressOf({ name: 'job', id })}?tab=${each}`} isCurrent={each === tab}>
            {TITLES[each]}
          </Link>
        ))}
      </nav>
      <Boundary key={tab} name="This part">
        <Suspense fallback={<p className="note">Loading ..</p>}>
          {tab === 'log' && (
            <>
              <Log
                job={id}
                attempts={row.attempts}
                hosts={view?.slices.reduce((sum, { hosts }) => sum + hosts.length, 0)}
              />
              <Metrics job={id} isOver={isOver} />
            </>
          )}
          {tab === 'outputs' && <Outputs job={id} isOver={isOver} />}
          {tab === 'account' && <JobAccount row={row} view={view} />}
          {tab === 'events' && <Part asking={viewing}>{view && <Events view={view} />}</Part>}
          {tab === 'hosts' && <Part asking={viewing}>{view && <Hosts view={view} />}</Part>}
          {tab === 'hosts' && row.phase !== 'setting-up' && <SetUpProgress job={id} isUnderWay={false} />}
          {tab === 'file' && <File id={id} isOver={isOver} />}
        </Suspense>
      </Boundary>
    </section>
  );
}

const TITLES: Readonly<Record<Tab, string>> = {
  log: 'Log',
  outputs: 'Outputs',
  account: 'Cost and goodput',
  events: 'Events',
  hosts: 'Slices and hosts',
  file: 'Job file',
};

interface PartParts {
  readonly asking: { readonly error: Error | null; readonly data: unknown; readonly dataUpdatedAt: number };
  readonly children: ReactNode;
}

function Part({ asking, children }: PartParts) {
  return (
    <>
      <Problem {...asking} />
      {asking.data === undefined && asking.error === null && <p className="note">A worker is asked ..</p>}
      {children}
    </>
  );
}

/** The reason for which the job waits, in the words of `jobctl why`; otherwise the reason of its phase, or of its end. */
function Why({ row }: { readonly row: Row }) {
  const { data } = useAnswer(
    'GET /v1/jobs/:id/why',
    { of: row.id },
    { isWanted: row.phase === 'queued', everyMs: VIEW_MS },
  );
  const words = row.phase === 'queued' ? data?.words : undefined;
  const { outcome } = row;
  if (words === undefined)
    return row.why === undefined ? null : (
      <p className="reason">
        <Sentence text={row.why} />
        {outcome?.cause !== undefined && outcome.result !== 'succeeded' && (
          <span className="note"> on account of the {outcome.cause.by}</span>
        )}
      </p>
    );
  return (
    <div className="reason">
      <p>
        <Sentence text={words.head} />
      </p>
      <ol>
        {words.reasons.map((reason) => (
          <li key={reason}>
            <Sentence text={reason} />
          </li>
        ))}
      </ol>
      {words.outlook !== '' && (
        <p>
          <Sentence text={words.outlook} />
        </p>
      )}
    </div>
  );
}

function JobFacts({ row, view }: { readonly row: Row; readonly view: JobView | undefined }) {
  const now = useNow();
  const { user, project, pool, slice, chips, attempts, submittedAt, endedAt, outcome, isVerified } = row;
  const preemptions = outcome?.preemptions ?? view?.preemptions ?? 0;
  const facts: readonly (readonly [string, ReactNode])[] = [
    ['user', `${user}${isVerified === false ? ' (unverified)' : ''}`],
    ['project', project],
    [
      'pool',
      <Link key="pool" to={addressOf({ name: 'pool', id: pool })}>
        {pool}
      </Link>,
    ],
    ['slice', `${slice}${chips === undefined ? '' : ` (${count(chips, 'chip')})`}`],
    ...(view === undefined ? [] : ([['priority', String(view.spec.priority)]] as const)),
    ['attempt', attempts === 0 ? 'none yet' : String(attempts)],
    ...(preemptions === 0 ? [] : ([['preempted', count(preemptions, 'time')]] as const)),
    ['submitted', clock(submittedAt, now)],
    endedAt === undefined
      ? ['for', duration(now - submittedAt)]
      : ['ended', `${clock(endedAt, now)}, after ${duration(endedAt - submittedAt)}`],
    ...(outcome?.exitCode === undefined ? [] : ([['exit code', String(outcome.exitCode)]] as const)),
  ];
  return <Facts facts={facts} />;
}

interface Stretch {
  readonly phase: string;
  readonly from: number;
  readonly to: number;
}

/** Phases in order, each as wide as its duration. */
function Timeline({ view, endedAt }: { readonly view: JobView; readonly endedAt: number | undefined }) {
  const now = useNow();
  const end = endedAt ?? now;
  const stretches = stretchesOf(view, end);
  if (stretches.length < 2) return null;
  const whole = Math.max(1, end - view.submittedAt);
  return (
    <ol className="timeline" aria-label="Timeline">
      {stretches.map(({ phase, from, to }) => (
        <li
          key={from}
          className={toneOf(phase)}
          style={{ flexGrow: Math.max((to - from) / whole, 0.004) }}
          title={`${phase} from ${exactClock(from, now)} for ${duration(to - from)}`}
        >
          <span>
            {phase.replace('-', ' ')} {duration(to - from)}
          </span>
        </li>
      ))}
    </ol>
  );
}

function stretchesOf({ events, submittedAt, phase }: JobView, end: number): readonly Stretch[] {
  const begins: { phase: string; from: number }[] = [{ phase: 'queued', from: submittedAt }];
  for (const event of events) {
    if (event.phase === undefined || event.phase === begins.at(-1)?.phase || event.at < submittedAt) continue;
    begins.push({ phase: event.phase, from: event.at });
  }
  const isEnded = ['succeeded', 'failed', 'cancelled'].includes(phase);
  return begins
    .map(({ phase: each, from }, at) => ({ phase: each, from, to: begins[at + 1]?.from ?? end }))
    .filter(({ phase: each }, at, all) => !(isEnded && at === all.length - 1 && each === phase));
}

function Events({ view }: { readonly view: JobView }) {
  const now = useNow(30_000);
  return (
    <ol className="events" reversed aria-label="Events, the latest first">
      {view.events.toReversed().map(({ at, text, phase }, index) => (
        <li key={view.events.length - index}>
          <time dateTime={new Date(at).toISOString()}>{exactClock(at, now)}</time>
          {phase === undefined ? <span /> : <Phase phase={phase} />}
          <span>{onClock(phase === undefined ? text : text.replace(`${phase}: `, ''), now)}</span>
        </li>
      ))}
    </ol>
  );
}

type HostRow = JobView['slices'][number]['hosts'][number] & { readonly slice: string; readonly number: number };

function Hosts({ view }: { readonly view: JobView }) {
  let number = 0;
  const hosts = view.slices.flatMap(({ hosts: all, ref }) =>
    all.map((host): HostRow => ({ ...host, slice: ref.name, number: number++ })),
  );
  const columns: readonly Column<HostRow>[] = [
    { title: 'Host', cell: ({ number: at }) => at, by: ({ number: at }) => at, isNumber: true },
    { title: 'Slice', cell: ({ slice }) => slice, by: ({ slice }) => slice },
    { title: 'Place', cell: (host) => placeWords(host) },
  ];
  return (
    <>
      <ul className="slices">
        {[...view.slices, ...(view.rivals ?? [])].map((slice) => (
          <li key={slice.ref.name}>
            <b>{slice.ref.name}</b> {'zone' in slice.ref ? `in ${slice.ref.zone}` : ''}{' '}
            <span className="note">{slice.state}</span> {slice.detail !== undefined && <Sentence text={slice.detail} />}
          </li>
        ))}
      </ul>
      <Table
        caption="Hosts"
        columns={columns}
        rows={hosts}
        keyOf={({ number: at }) => String(at)}
        nothing="It has no hosts now."
      />
    </>
  );
}

/** Describes where a host is by all of its fields that are texts. */
const placeWords = ({ slice: _, number: __, ...host }: HostRow): string =>
  Object.values(host)
    .filter((value) => typeof value === 'string')
    .join('  ');

const NOT_STORED = {
  open: 'Its file is not stored yet.',
  over: 'Its file is not stored: what was stored of the job was deleted, or no worker had taken it before it ended.',
} as const;

/** The job file as it was submitted, or as an attempt ran it after an edit. */
function File({ id, isOver }: { readonly id: string; readonly isOver: boolean }) {
  const [name, choose] = useState(`jobs/${id}/spec.yaml`);
  const { data: edited = [] } = useQuery({
    queryKey: ['edits', id],
    queryFn: async ({ signal }) => editsOf(await objectNames(`jobs/${id}/attempts/`, signal)),
    retry: false,
  });
  const { data, error } = useQuery({
    queryKey: ['file', name],
    queryFn: ({ signal }) => objectText(name, signal),
    refetchInterval: ({ state }) => (state.error === null ? false : VIEW_MS),
  });
  if (error !== null)
    return (
      <p role="alert" className="problem">
        {error instanceof Refused && error.code === 'not-found' ? NOT_STORED[isOver ? 'over' : 'open'] : error.message}
      </p>
    );
  return (
    <>
      {edited.length > 0 && (
        <p>
          <label>
            As it was{' '}
            <select value={name} onChange={(event) => choose(event.target.value)}>
              <option value={`jobs/${id}/spec.yaml`}>submitted</option>
              {edited.map(({ attempt, name: of }) => (
                <option key={of} value={of}>
                  edited for attempt {attempt}
                </option>
              ))}
            </select>
          </label>
        </p>
      )}
      <pre className="file" tabIndex={0} aria-label="The job file">
        {data ?? 'Loading ..'}
      </pre>
    </>
  );
}
