import { useQuery } from '@tanstack/react-query';
import { objectNames, objectText, Refused } from './api.js';
import { plainText } from './log/ansi.js';
import { useNow } from './parts/clock.js';
import { newestSetUp, type SetUp, setUpIn, type SetUpStep } from './records.js';
import { count, duration } from './words.js';

/** Interval between reads of a running set-up. A worker stores it every three seconds. */
const LOOK_MS = 3_000;
/** Limit of hosts whose step is shown: those that have been in one step for longest. */
const MOST_STEPS = 8;

interface SetUpParts {
  readonly job: string;
  /** Its hosts are being set up now. */
  readonly isUnderWay: boolean;
}

/**
 * The number of hosts on which each module is ready, and the current step of the others. Nothing is shown to callers who may
 * not read the job's logs.
 */
// Loaded with the first job that is set up.
export function SetUpProgress({ job, isUnderWay }: SetUpParts) {
  const now = useNow();
  const { data } = useQuery({
    queryKey: ['set-up', job],
    queryFn: ({ signal }) => readSetUp(job, signal),
    refetchInterval: isUnderWay ? LOOK_MS : false,
  });
  if (!data || data.modules.length === 0) return null;
  const { attempt, hosts, modules, steps, startedAt, endedAt } = data;
  const waiting = isUnderWay && endedAt === undefined ? steps : [];
  return (
    <section className="set-up" aria-label={`Set-up of attempt ${attempt}`}>
      <h2>
        Set-up of attempt {attempt}{' '}
        <span className="note">
          {count(hosts, 'host')}, {duration((endedAt ?? now) - startedAt)}
          {endedAt === undefined && !isUnderWay && ', cut short'}
        </span>
      </h2>
      <ul>
        {modules.map(({ name, ready }) => (
          <li key={name}>
            <span>{plainText(name)}</span>
            <progress max={hosts} value={ready} aria-label={`${name}: hosts that are ready`} />
            <span className="note">
              {ready} of {hosts}
            </span>
          </li>
        ))}
      </ul>
      {waiting.slice(0, MOST_STEPS).map((step) => (
        <p key={step.host} className={step.hasFailed ? 'warn' : 'note'}>
          {stepWords(step)}, for {duration(now - step.startedAt)}
        </p>
      ))}
      {waiting.length > MOST_STEPS && <p className="note">and {count(waiting.length - MOST_STEPS, 'more host')}</p>}
    </section>
  );
}

/** The module that stands for the wait until a host answers. */
const CONNECT = 'connect';

function stepWords({ host, module, step, tries, hasFailed }: SetUpStep): string {
  if (module === CONNECT) return `Host ${host} does not answer yet`;
  const tried = tries > 1 ? `, try ${tries}` : '';
  return `Host ${host}: ${plainText(module)} ${plainText(step)}${tried}${hasFailed ? ', failed and is tried again' : ''}`;
}

/** Null: the job has no record of a set-up, or the caller may not read it. */
async function readSetUp(job: string, signal: AbortSignal): Promise<SetUp | null> {
  try {
    const newest = newestSetUp(await objectNames(`jobs/${job}/setup/a`, signal));
    return (newest && setUpIn(newest.attempt, await objectText(newest.name, signal))) ?? null;
  } catch (error) {
    if (error instanceof Refused && ['not-found', 'forbidden'].includes(error.code)) return null;
    throw error;
  }
}
