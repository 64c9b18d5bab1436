import { ASKED_FOR, isPartOf } from './attempts.js';
import { deletions, lastPart } from './cloud.js';
import { attemptsOf, type CommandProcess, placesOf, processesOf } from './commands.js';
import { isLossOfPods } from './cluster.js';
import { isEndOfVm } from './vms.js';
import type { AskedJob, CloudEvent, Deed, DeedKind, Evidence } from './evidence.js';
import type { Finding } from './verdict.js';

const SERVES_NO_MORE = new Set(['PREEMPTED', 'TERMINATED', 'STOPPED', 'HIDDEN', 'gone']);

/** An attempt whose work was done on all hosts, before any of them was told to end, and that another attempt followed. */
interface RunAgain {
  readonly job: string;
  readonly attempt: number;
  readonly next: number;
  /** When the last of its commands ended. */
  readonly endedAt: number;
  /** When the first of its slices was taken after that; undefined: none was. */
  readonly takenAt?: number;
}

/**
 * Finds ended work that ran again although jobctl could have known its end. If a VM is lost before anybody has read an end,
 * nobody knows that end (docs/adr/0040): it counts in `unreadEnds` and is no finding.
 */
export function endedWorkRunAgain(evidence: Evidence): readonly Finding[] {
  return runsAgain(evidence)
    .filter((each) => !isUnread(each, evidence))
    .map(({ job, attempt, next, endedAt, takenAt }) => {
      const since = takenAt === undefined ? 'nothing of it was lost' : `${takenAt - endedAt} ms later it was lost`;
      const text = `attempt ${attempt} had ended with 0 on all hosts, ${since}, and attempt ${next} began`;
      return { count: 'ended work run again', subject: job, text };
    });
}

/** Number of ends that were lost with their VM before anybody had read them. */
export const unreadEnds = (evidence: Evidence): number =>
  runsAgain(evidence).filter((each) => isUnread(each, evidence)).length;

/** Time from the last END of a succeeded job to its outcome. */
export interface OutcomeDelay {
  readonly job: string;
  readonly ms: number;
}

export function outcomeDelays({ told, jobs, results }: Evidence): readonly OutcomeDelay[] {
  const processes = processesOf(told);
  return jobs.flatMap(({ id }): readonly OutcomeDelay[] => {
    const seen = results.find((each) => each.id === id);
    const last = attemptsOf(processes, id).at(-1)?.processes ?? [];
    const ends = last.flatMap(({ end }) => end?.at ?? []);
    if (seen?.phase !== 'succeeded' || seen.endedAt === undefined || ends.length === 0) return [];
    return [{ job: id, ms: seen.endedAt - Math.max(...ends) }];
  });
}

function isUnread({ endedAt, takenAt }: RunAgain, { readWithinMs }: Evidence): boolean {
  return takenAt !== undefined && (readWithinMs === undefined || takenAt - endedAt <= readWithinMs);
}

function runsAgain(evidence: Evidence): readonly RunAgain[] {
  const processes = processesOf(evidence.told);
  return evidence.jobs.flatMap((job) => {
    const attempts = attemptsOf(processes, job.id);
    return attempts.slice(1).flatMap((next, index): readonly RunAgain[] => {
      const attempt = attempts[index];
      const endedAt = attempt && doneAt(job, attempt.processes);
      const to = Math.min(...next.processes.map(({ begunAt }) => begunAt));
      if (attempt === undefined || endedAt === undefined || endedAt > to) return [];
      const nodes = new Set(attempt.processes.map(({ node }) => node));
      const takes = [...nodes].flatMap((node) => takenAt(evidence.cloud, node) ?? []);
      // The attempt had lost a slice before its last command ended.
      if (takes.some((at) => at <= endedAt)) return [];
      // The guest had the provider's notice: a program may look for it, save, and end with 0 though no signal came (ADR 0040).
      const where = placesOf(attempt.processes);
      const isThere = ({ resource }: Deed): boolean => resource !== undefined && isPartOf(resource, where);
      if (evidence.deeds.some((deed) => deed.kind === 'preempt' && isThere(deed) && deed.at <= endedAt)) return [];
      const mayRunAgain = evidence.deeds.some(
        (deed) =>
          deed.at <= to &&
          ((deed.job === job.id && ASKED_FOR.has(deed.kind)) ||
            (isThere(deed) && (LOSES_EXITS.has(deed.kind) || isCutBefore(deed, endedAt, evidence)))),
      );
      if (mayRunAgain) return [];
      const taken = takes.filter((at) => at <= to).toSorted((a, b) => a - b)[0];
      const again = { job: job.id, attempt: attempt.number, next: next.number, endedAt };
      return [taken === undefined ? again : { ...again, takenAt: taken }];
    });
  });
}

/**
 * The rehearsal's full disk takes back all writes that were made while it was full, also into existing files, so an exit record
 * may be lost with it (rehearsal/vm/full-disk.sh). A real disk keeps what fits into blocks that a file has.
 */
const LOSES_EXITS: ReadonlySet<DeedKind> = new Set(['killed-processes', 'full-disk']);

/** Whether a power cut may have lost the exit. A machine keeps its disk, so only an exit that was not written yet is lost. */
const isCutBefore = ({ kind, at }: Deed, endedAt: number, { readWithinMs = Infinity }: Evidence): boolean =>
  kind === 'power-cut' && at <= endedAt + readWithinMs;

/** When the work was done: every host's command ended with 0 by itself, without SIGTERM. Undefined: it was not done. */
function doneAt({ slices, hosts }: AskedJob, processes: readonly CommandProcess[]): number | undefined {
  const ends = processes.flatMap(({ end, term }) =>
    end?.code === 0 && !end.isEarly && term === undefined ? [end.at] : [],
  );
  const places = new Set(processes.map(({ slice, host }) => `${slice} ${host}`));
  const isWhole = places.size === slices * hosts && ends.length === processes.length;
  return isWhole ? Math.max(...ends) : undefined;
}

/** When the journal says that the slice's VMs were lost. Undefined if they were not, or if a deletion was asked for before. */
function takenAt(cloud: readonly CloudEvent[], node: string): number | undefined {
  const [deletion] = deletions(cloud, node);
  return cloud.find(
    (event) =>
      (deletion === undefined || event.seq < deletion.seq) &&
      (isLossOfPods(event, node) || isEndOfVm(event, node) || (lastPart(event.subject) === node && isLossOfVms(event))),
  )?.wall;
}

const isLossOfVms = ({ kind, details }: CloudEvent): boolean =>
  (kind === 'vm-power' && details['power'] === 'off') ||
  kind === 'vm-kill' ||
  kind === 'vm-failure' ||
  (kind === 'node-state' && SERVES_NO_MORE.has(details.to ?? ''));
