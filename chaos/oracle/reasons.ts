import { lastPart, wasLost } from './cloud.js';
import { sliceOfObject } from './cluster.js';
import type { Evidence, SeenJob } from './evidence.js';
import { isAboutMachines, untrueOfMachines } from './machine-reasons.js';
import type { Finding } from './verdict.js';

/** Tolerance for the clocks of two processes, and for reports that are written a moment late. */
const SLACK_MS = 2_000;

interface Said {
  readonly at: number;
  readonly phase: string;
  readonly text: string;
}
/** Returns why a text is not true, or undefined. */
type Test = (said: Said, job: string, evidence: Evidence) => string | undefined;

/** Finds reasons in jobs' logs that neither the cloud nor chaos has given. */
export function untrueReasons(evidence: Evidence): readonly Finding[] {
  return evidence.results.flatMap(({ id, ...seen }) =>
    saidOf(seen).flatMap((said) =>
      TESTS.flatMap((test): readonly Finding[] => {
        const why = test(said, id, evidence);
        if (why === undefined) return [];
        return [{ count: 'untrue reasons', subject: id, text: `'${said.phase}: ${said.text}': ${why}` }];
      }),
    ),
  );
}

/** Parses a job's log: lines of the form `TIME PHASE: TEXT`, as `jobctl logs JOB --job` prints them. */
function saidOf({ jobLog = '' }: Pick<SeenJob, 'jobLog'>): readonly Said[] {
  return jobLog.split('\n').flatMap((line): readonly Said[] => {
    const groups = /^(?<time>\S+Z) (?<phase>[a-z-]+): (?<text>.*)$/u.exec(line)?.groups;
    const [at, phase, text] = [Date.parse(groups?.['time'] ?? ''), groups?.['phase'], groups?.['text']];
    return Number.isNaN(at) || phase === undefined || text === undefined ? [] : [{ at, phase, text }];
  });
}

const preempted: Test = ({ at, phase, text }, job, { cloud, deeds }) => {
  if (phase !== 'evicting' || !/^slice \d+ was preempted by the provider/u.test(text)) return undefined;
  const until = at + SLACK_MS;
  const isOwn = (name: string): boolean => name.includes(`-${job}-`);
  const names = new Set(cloud.map((event) => sliceOfObject(event) ?? lastPart(event.subject)).filter(isOwn));
  const isTrue =
    [...names].some((name) => wasLost(cloud, name, 0, until)) ||
    deeds.some(({ kind, resource = '', at: done }) => kind === 'preempt' && isOwn(resource) && done <= until);
  return isTrue ? undefined : 'no slice of it was';
};

const REFUSED =
  /refused slice \d+ in \S+: (?:the queued resource is FAILED: |the create failed: |the create of VM \S+ failed: )?(?<words>.*?)(?:; \S+ is asked again (?:at|in) .*|; trying again \(\d+ of \d+\))?$/u;

/** jobctl's words for Google's `Permission denied on 'locations/Z' (or it may not exist).` */
const NO_ZONE = /^zone (?<zone>\S+) does not exist, or this project may not use it/u;

/** A refusal must be quoted from the cloud, or be about a resource of that name which belongs to somebody else. */
const refused: Test = ({ at, text }, job, evidence) => {
  const { cloud, deeds } = evidence;
  const words = REFUSED.exec(text)?.groups?.['words'];
  if (words === undefined) return undefined;
  if (isAboutMachines(words)) return untrueOfMachines(words, at + SLACK_MS, evidence);
  if (/(?:of this name|^the VM \S+) belongs to /u.test(words)) {
    const isTaken = deeds.some(({ kind, resource = '' }) => kind === 'foreign' && resource.includes(`-${job}-g`));
    return isTaken ? undefined : 'no such name was taken';
  }
  // jobctl words its advice about a login itself.
  if (words.startsWith('the Google login has expired')) {
    const isTrue = cloud.some(({ wall, details }) => details.code === 'UNAUTHENTICATED' && wall <= at + SLACK_MS);
    return isTrue ? undefined : 'the cloud accepted every login';
  }
  const zone = NO_ZONE.exec(words)?.groups?.['zone'];
  if (zone !== undefined) {
    const isTrue = cloud.some(({ wall, details }) => {
      return wall <= at + SLACK_MS && String(details['message']).includes(`Permission denied on 'locations/${zone}'`);
    });
    return isTrue ? undefined : 'the cloud never denied that zone';
  }
  // The client library drops the text of a 401: those words are jobctl's.
  if (words.startsWith('Unauthorized: ') && cloud.some(({ details }) => Number(details.code) === 401)) return undefined;
  const inJournal = JSON.stringify(words).slice(1, -1);
  const isTrue =
    cloud.some(({ details }) => JSON.stringify(details).includes(inJournal)) ||
    deeds.some((deed) => deed.text.includes(words));
  return isTrue ? undefined : 'the cloud never said so';
};

const stopped: Test = ({ at, phase }, job, { deeds }) => {
  if (phase !== 'paused') return undefined;
  const isTrue = deeds.some((deed) => deed.kind === 'verb' && deed.job === job && deed.at <= at + SLACK_MS);
  return isTrue ? undefined : 'nobody stopped it';
};

const TESTS: readonly Test[] = [preempted, refused, stopped];
