import { useQuery } from '@tanstack/react-query';
import type { JobView } from '../contract/job.js';
import { type Answer, objectText, Refused } from './api.js';
import { Problem } from './parts/answer.js';
import { Facts, Since } from './parts/shown.js';
import { type Column, Table } from './parts/table.js';
import { type Account, accountIn, costWords, goodputWords, type Part, PARTS, percent } from './records.js';
import { count } from './words.js';

interface AccountParts {
  readonly row: Answer<'GET /v1/jobs/:id'>;
  readonly view: JobView | undefined;
}

/** The chip-time of a job by use, and its cost (docs/counted.md). */
// Loaded when it is first opened.
export function JobAccount({ row, view }: AccountParts) {
  const isOver = row.endedAt !== undefined;
  const asking = useQuery({
    queryKey: ['account', row.id],
    queryFn: ({ signal }) => storedAccount(row.id, signal),
    enabled: isOver,
    refetchInterval: false,
  });
  // Only the stored account has the lost work, which is counted when a job has ended.
  const account: Account | undefined = asking.data ?? view?.usage;
  const isReading = isOver ? asking.isPending : view === undefined;
  if (account === undefined)
    return (
      <>
        <Problem {...asking} />
        {asking.error === null && (
          <p className="note">
            {isReading ? 'Loading ..' : 'Nothing is counted of it: no worker has accepted it yet.'}
          </p>
        )}
      </>
    );
  const { unit, parts, lost, prices = [], leaving = 0 } = account;
  const whole = PARTS.reduce((sum, [part]) => sum + parts[part], 0);
  const shares = PARTS.map(([part, words, isCharged]): Share => {
    const seconds = part === 'lost' && lost === 'unknown' && parts.lost === 0 ? undefined : parts[part];
    return { part, words, isCharged, seconds, whole, unit };
  });
  return (
    <section aria-label="Cost and goodput" className="account">
      <Facts
        facts={[
          ['goodput', goodputWords(account)],
          ['cost', row.label === undefined ? costWords(account) : `${row.label}: nothing was paid`],
          ['charged', `${(account.charged / 3_600).toFixed(3)} ${unit}-hours`],
          ...(account.at === undefined
            ? []
            : ([['counted', <Since key="at" at={account.at} suffix=" ago, at its last event" />]] as const)),
        ]}
      />
      {whole > 0 && (
        <div className="parts" aria-hidden="true">
          {shares.map(({ part, seconds = 0, words }) =>
            seconds === 0 ? null : (
              <i key={part} className={`part-${part}`} style={{ flexGrow: seconds }} title={words} />
            ),
          )}
        </div>
      )}
      <Table caption="Parts of its chip-time" columns={COLUMNS} rows={shares} keyOf={({ part }) => part} nothing="" />
      {lost === 'unknown' && (
        <p className="note">
          Work lost is not known: it is read once the job has ended, from a step counter that the command prints.
        </p>
      )}
      {leaving > 0 && (
        <p className="note">{count(leaving, 'slice')} not seen gone: draining is not counted to its end.</p>
      )}
      {prices.length > 0 && <p className="note">Prices: {prices.join('; ')}</p>}
    </section>
  );
}

interface Share {
  readonly part: Part;
  readonly words: string;
  readonly isCharged: boolean;
  /** Undefined: not known. */
  readonly seconds: number | undefined;
  readonly whole: number;
  readonly unit: Account['unit'];
}

const COLUMNS: readonly Column<Share>[] = [
  {
    title: 'Part',
    cell: ({ part, words }) => (
      <span className="legend">
        <i className={`part-${part}`} aria-hidden="true" />
        {words}
      </span>
    ),
  },
  {
    title: 'Hours',
    cell: ({ seconds, unit }) => (seconds === undefined ? 'unknown' : `${(seconds / 3_600).toFixed(3)} ${unit}-hours`),
    by: ({ seconds = -1 }) => seconds,
    isNumber: true,
  },
  {
    title: 'Share',
    cell: ({ seconds, whole }) => (seconds === undefined || whole === 0 ? '-' : percent(seconds / whole)),
    by: ({ seconds = -1 }) => seconds,
    isNumber: true,
  },
  { title: 'Charged', cell: ({ isCharged }) => (isCharged ? 'yes' : 'not charged'), isMinor: true },
];

/** Undefined: the store has none, because the job ended under an earlier build. */
async function storedAccount(job: string, signal: AbortSignal): Promise<Account | null> {
  try {
    return accountIn(await objectText(`jobs/${job}/usage.json`, signal)) ?? null;
  } catch (error) {
    if (error instanceof Refused && error.code === 'not-found') return null;
    throw error;
  }
}
