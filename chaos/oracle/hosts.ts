import { type CommandProcess, placeOf, processesOf } from './commands.js';
import type { Evidence, Told } from './evidence.js';
import type { Finding } from './verdict.js';

/**
 * Two commands on one host at one time, each pair once: one found the lock of its host taken, or a command of a machine spoke after
 * another one had begun there. Both by the hosts' own clock, which is this computer's.
 */
export function twoAtOnce(evidence: Evidence): readonly Finding[] {
  const processes = processesOf(evidence.told);
  const pairs = new Map<string, Finding>();
  const note = (one: string, other: string, finding: Finding): void => {
    const pair = [one, other].toSorted().join(' ');
    if (!pairs.has(pair)) pairs.set(pair, finding);
  };
  for (const { process, job, text } of evidence.told.filter(({ kind }) => kind === 'TWO')) {
    const second = processes.find((each) => each.process === process);
    const words = `${second === undefined ? process : shown(second)} found the command ${text || '(no name)'} on its host`;
    note(process, text, { count: 'two commands at once on a host', subject: job, text: words });
  }
  for (const [first, second] of spokenOver(processes, evidence)) {
    const text = `${shown(second)} began on ${second.hostName} while ${first.job}, ${shown(first)} still spoke there`;
    note(first.process, second.process, { count: 'two commands at once on a host', subject: second.job, text });
  }
  return [...pairs.values()];
}

const shown = (each: CommandProcess): string => `${each.job}, ${placeOf(each)}`;

/** Commands of one machine, the first of which spoke after the second had begun. */
function spokenOver(
  processes: readonly CommandProcess[],
  { told, machines = [] }: Evidence,
): readonly (readonly [CommandProcess, CommandProcess])[] {
  const lastWords = lastWordsOf(told);
  return machines.flatMap(({ name }) => {
    const there = processes.filter(({ hostName }) => hostName === name);
    return there.flatMap((first, index) =>
      there
        .slice(index + 1)
        .filter(({ begunAt }) => begunAt < (lastWords.get(first.process) ?? 0))
        .map((second) => [first, second] as const),
    );
  });
}

/** When each process itself said its last; that it is gone is said by another. */
function lastWordsOf(told: readonly Told[]): ReadonlyMap<string, number> {
  const last = new Map<string, number>();
  for (const { process, kind, at } of told)
    if (kind !== 'GONE') last.set(process, Math.max(at, last.get(process) ?? 0));
  return last;
}

/** Machines outlive their jobs: what holds one, or still runs there, when all jobs are closed. */
export function leftOnMachines(evidence: Evidence): readonly Finding[] {
  const { machines = [], results } = evidence;
  const isOpen = new Set(results.filter(({ isClosed }) => !isClosed).map(({ id }) => id));
  // A job that is stuck holds what it has: that is counted there.
  const running = processesOf(evidence.told).filter(
    ({ job, end, goneAt }) => end === undefined && goneAt === undefined && !isOpen.has(job),
  );
  return machines.flatMap(({ name, claim }): readonly Finding[] => {
    const count = 'claims or commands left on machines';
    const left = running
      .filter(({ hostName }) => hostName === name)
      .map((each) => ({ count, subject: each.job, text: `${shown(each)} still runs on ${name}` }) as const);
    const isHeld = claim !== undefined && ![...isOpen].some((id) => claim.includes(`-${id}-`));
    if (!isHeld) return left;
    return [{ count, subject: name, text: `${name} is claimed: ${claim.replaceAll('\n', ' ').trim()}` }, ...left];
  });
}
