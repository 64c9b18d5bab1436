import { deletions, wasLost } from './cloud.js';
import { attemptsOf, type CommandProcess, endedByItself, placeOf, placesOf, processesOf } from './commands.js';
import type { AskedJob, Evidence, SeenJob } from './evidence.js';
import { isCancelledByOthers } from './groups.js';
import type { Finding } from './verdict.js';
import { isVmName } from './vms.js';

/** Deeds after which a new attempt of their job is right. */
export const ASKED_FOR: ReadonlySet<string> = new Set(['verb', 'reset', 'terminate', 'slice-workflow']);

/** Finds hosts on which one attempt started twice, or an attempt started after a later one. */
export function begunTwice({ told }: Evidence): readonly Finding[] {
  const startOf = new Map<string, CommandProcess>();
  const newestAt = new Map<string, number>();
  return processesOf(told).flatMap((each): Finding[] => {
    const { job, attempt, begunAt, node } = each;
    const place = `${job} ${each.slice} ${each.host}`;
    const before = startOf.get(`${place} ${attempt}`);
    const newest = newestAt.get(place) ?? 0;
    startOf.set(`${place} ${attempt}`, each);
    newestAt.set(place, Math.max(newest, attempt));
    const finding = (what: string): Finding[] => [
      { count: 'commands begun twice in an attempt', subject: job, text: `${placeOf(each)}: begun ${what}` },
    ];
    if (before !== undefined)
      return finding(`again ${((begunAt - before.begunAt) / 1000).toFixed(1)} s after it had begun (${node})`);
    return newest > attempt ? finding(`after attempt ${newest} had begun there`) : [];
  });
}

/** Finds attempts that another one followed although they had begun on all hosts, had not ended and had lost nothing. */
export function falseRecoveries(evidence: Evidence): readonly Finding[] {
  const processes = processesOf(evidence.told);
  return evidence.jobs.flatMap((job) => {
    const attempts = attemptsOf(processes, job.id);
    return attempts.slice(1).flatMap((next, index): Finding[] => {
      const attempt = attempts[index];
      if (attempt === undefined) return [];
      const to = Math.min(...next.processes.map(({ begunAt }) => begunAt));
      if (isExplained(evidence, job, attempt.processes, to)) return [];
      const nodes = [...new Set(attempt.processes.map(({ node }) => node))].join(', ');
      const text = `attempt ${attempt.number} was running on ${nodes}, nothing of it was lost, and attempt ${next.number} began`;
      return [{ count: 'false recoveries', subject: job.id, text }];
    });
  });
}

function isExplained(evidence: Evidence, job: AskedJob, of: readonly CommandProcess[], to: number): boolean {
  const places = new Set(of.map(({ slice, host }) => `${slice} ${host}`));
  // It may never have run on all hosts: then a host that could not be started on was rightly replaced.
  if (places.size < job.slices * job.hosts) return true;
  const from = Math.min(...of.map(({ begunAt }) => begunAt));
  // Then the later attempt began first, which `begunTwice` reports.
  if (from > to) return true;
  if (of.some((each) => endedByItself(each) && (each.end?.at ?? 0) <= to)) return true;
  if (of.some(({ term }) => term?.notice.includes('"cause":"quota"'))) return true;
  const nodes = new Set(of.map(({ node }) => node));
  if ([...nodes].some((node) => wasLost(evidence.cloud, node, from, to))) return true;
  if (of.some((each) => wasKilled(each, evidence, to))) return true;
  const where = placesOf(of);
  return evidence.deeds.some(({ at, kind, job: ofJob, resource }) => {
    if (at > to) return false;
    const isThere = resource !== undefined && isPartOf(resource, where);
    // The guest may be told before the API says it. A machine serves other slices before and after.
    if (LOSES_SINCE.has(kind) && isThere && at >= from) return true;
    if (kind === 'killed-processes' && isThere) return true;
    return ofJob === job.id && ASKED_FOR.has(kind);
  });
}

const LOSES_SINCE: ReadonlySet<string> = new Set(['preempt', 'power-cut', 'forgot']);

/** Whether a deed's resource is one of these places, or a VM of one of these slices. */
export const isPartOf = (resource: string, where: ReadonlySet<string>): boolean =>
  where.has(resource) || [...where].some((slice) => isVmName(resource, slice));

/** Whether the command vanished because its host died: without SIGTERM, which jobctl sends first, and before any deletion. */
function wasKilled({ goneAt, term, end, node }: CommandProcess, { cloud }: Evidence, to: number): boolean {
  if (goneAt === undefined || term !== undefined || end !== undefined || goneAt > to) return false;
  return !deletions(cloud, node).some(({ wall }) => wall < goneAt);
}

export function falseSuccesses(evidence: Evidence): readonly Finding[] {
  const processes = processesOf(evidence.told);
  return evidence.jobs.flatMap((job): Finding[] => {
    const seen = evidence.results.find(({ id }) => id === job.id);
    if (seen?.phase !== 'succeeded') return [];
    const why = notDone(job, processes);
    return why === undefined
      ? []
      : [{ count: 'false successes', subject: job.id, text: `it is called succeeded: ${why}` }];
  });
}

/** Why the last attempt that began is no success; undefined if it is one. */
function notDone(job: AskedJob, processes: readonly CommandProcess[]): string | undefined {
  const last = attemptsOf(processes, job.id).at(-1);
  if (last === undefined) return 'its command never began';
  for (let slice = 0; slice < job.slices; slice++)
    for (let host = 0; host < job.hosts; host++) {
      const place = placeOf({ attempt: last.number, slice, host });
      const there = last.processes.filter((each) => each.slice === slice && each.host === host);
      if (there.length === 0) return `${place}: the command never began`;
      const ended = there.find(({ end }) => end?.code === 0);
      if (ended === undefined) return `${place}: the command never ended with 0`;
      if (!endedByItself(ended)) return `${place}: its exit 0 was the answer to SIGTERM`;
    }
  return undefined;
}

export function wrongOutcomes(evidence: Evidence): readonly Finding[] {
  const processes = processesOf(evidence.told);
  return evidence.jobs.flatMap((job): Finding[] => {
    const seen = evidence.results.find(({ id }) => id === job.id);
    const why = seen?.isClosed
      ? (wrong(evidence, job, seen, processes) ?? elsewhere(evidence, job, processes))
      : undefined;
    return why === undefined ? [] : [{ count: 'wrong outcomes', subject: job.id, text: why }];
  });
}

function wrong(
  evidence: Evidence,
  job: AskedJob,
  { phase, exitCode, why = '' }: SeenJob,
  processes: readonly CommandProcess[],
): string | undefined {
  const wasDone = (kind: string): boolean => evidence.deeds.some((deed) => deed.kind === kind && deed.job === job.id);
  switch (phase) {
    case 'succeeded':
      return exitCode === 0 ? undefined : `it is called succeeded with exit code ${exitCode}`;
    case 'cancelled':
      return wasDone('cancel') || isCancelledByOthers(evidence, job)
        ? undefined
        : `it is called cancelled, and nobody cancelled it: ${why}`;
    case 'terminated':
      return wasDone('terminate') ? undefined : 'it was terminated, and not by chaos';
    case 'failed':
      return wrongFailure(job, exitCode, why, processes);
    default:
      return `it is closed as '${phase}'`;
  }
}

function elsewhere(
  { cloud }: Evidence,
  { id, runsIn }: AskedJob,
  processes: readonly CommandProcess[],
): string | undefined {
  if (runsIn === undefined) return undefined;
  const own = processes.filter(({ job }) => job === id);
  const isThere = (node: string): boolean =>
    cloud.some(({ kind, subject }) => kind === 'node-state' && subject.endsWith(`/locations/${runsIn}/nodes/${node}`));
  if (own.length === 0) return `it never ran, and ${runsIn} was free`;
  const other = own.find(({ node }) => !isThere(node));
  return other && `${placeOf(other)} ran on ${other.node}, which is not in ${runsIn}`;
}

/** Why a failed outcome is wrong, or undefined. Only its own command may fail a job: chaos cannot use up its budgets. */
function wrongFailure(
  job: AskedJob,
  exitCode: number | undefined,
  why: string,
  processes: readonly CommandProcess[],
): string | undefined {
  const failedAttempts = attemptsOf(processes, job.id).filter(({ processes: of }) =>
    of.some((each) => endedByItself(each) && each.end?.code !== 0),
  );
  const last = failedAttempts.at(-1);
  if (last === undefined) return `it is called failed, and its command never failed: ${why}`;
  if (!last.processes.some((each) => endedByItself(each) && each.end?.code === exitCode))
    return `it is called failed with exit code ${exitCode ?? 'none'}, which no host's command ended with: ${why}`;
  if (failedAttempts.length <= job.taskRetries)
    return `it is called failed after ${failedAttempts.length} failures, and ${job.taskRetries} retries were left or in hand: ${why}`;
  return undefined;
}

export function stuckJobs({ jobs, results }: Evidence): readonly Finding[] {
  return jobs.flatMap(({ id }): Finding[] => {
    const seen = results.find((each) => each.id === id);
    if (seen?.isClosed) return [];
    const text =
      seen === undefined
        ? 'it is in no list'
        : `it is ${seen.phase} though nothing holds it up: ${seen.why ?? 'no reason given'}`;
    return [{ count: 'jobs stuck', subject: id, text }];
  });
}
