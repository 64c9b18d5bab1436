import { type CommandProcess, placeOf, processesOf } from './commands.js';
import type { Evidence, Told } from './evidence.js';
import type { Finding } from './verdict.js';

/**
 * Finds pairs of commands that were on one host at the same time, each pair once. Either a command found its host's lock taken,
 * or a command reported something after another one had begun on its machine. Times are this computer's clock, which hosts share.
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

/** Pairs of commands on one machine, the first of which reported something after the second had begun. */
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

/** Time of each process's own last report. GONE does not count, because the listener reports it. */
function lastWordsOf(told: readonly Told[]): ReadonlyMap<string, number> {
  const last = new Map<string, number>();
  for (const { process, kind, at } of told)
    if (kind !== 'GONE') last.set(process, Math.max(at, last.get(process) ?? 0));
  return last;
}

/** Finds claims, and running commands, that are left on machines when their jobs are closed. Machines outlive jobs. */
export function leftOnMachines(evidence: Evidence): readonly Finding[] {
  const { machines = [], results } = evidence;
  const isOpen = new Set(results.filter(({ isClosed }) => !isClosed).map(({ id }) => id));
  // A stuck job keeps its machines. It is counted as stuck.
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
