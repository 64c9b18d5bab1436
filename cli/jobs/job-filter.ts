import { InvalidArgumentError, Option } from 'commander';
import type { Sort } from '../../client/job-board.js';
import type { JobFilter } from '../../client/job-query.js';
import type { ShownPhase } from '../../client/job-rows.js';
import { asker } from '../place/asker.js';
import type { CliContext } from '../place/context.js';
import { durationOption, type Flag, outputOption } from '../terminal/options.js';
import { formatDuration } from '../terminal/render/quantities.js';
import type { EpochMs } from '../../domain/units.js';
import { CliError, ExitCode } from '../terminal/cli-error.js';
import { lastState } from './watch/screen.js';
import { MOST_HOSTS } from '../../domain/slice.js';

/** Flags that select jobs, for `list` and for verbs that take several jobs. */
export interface FilterFlags {
  readonly mine?: true;
  readonly all?: true;
  readonly project?: string;
  readonly user?: string;
  readonly phase?: readonly ShownPhase[];
  /** Milliseconds. */
  readonly since?: number;
  readonly name?: string;
  readonly group?: string;
}

/** All phases, written out because importing the domain's list would load its module; test/cli compares the two. */
export const PHASES = [
  'queued',
  'provisioning',
  'setting-up',
  'running',
  'paused',
  'released',
  'evicting',
  'holding',
  'finishing',
  'succeeded',
  'failed',
  'cancelled',
] as const;
const SHOWN_PHASES: readonly ShownPhase[] = [...PHASES, 'terminated'];
/** Slurm's and Kubernetes' word for queued, and the other spelling of cancelled. */
const SAME_PHASE: Readonly<Record<string, ShownPhase>> = { pending: 'queued', canceled: 'cancelled' };

export const SORTS: readonly Sort[] = ['board', 'submitted', 'ended', 'name', 'user', 'project', 'chips'];

/** @param all meaning of `--all` for the verb */
export const filterFlags = (all: string): readonly Flag[] => [
  'Which jobs:',
  ['--name <pattern>', "jobs whose id matches: train, 'lr-*', 'exp-?'", namePattern],
  new Option('--mine', 'your jobs only').conflicts('user'),
  ['--user <user>', 'jobs of this user only'],
  ['--project <project>', 'jobs of this quota project only'],
  new Option('--phase <phases>', 'jobs in these phases only; separate several by commas, or repeat the flag')
    .choices(SHOWN_PHASES)
    .argParser(phaseList),
  ['--since <duration>', 'jobs that were submitted or ended within this time, such as 2d', durationOption],
  ['--all', all],
  'Options:',
];

export const JOB = ['<job>', "the job's id"] as const;
/** Ids of jobs. Without ids, `manyFlags` select the jobs. */
export const JOBS = ['[job...]', 'ids of jobs'] as const;
export const manyFlags = (all: string): readonly Flag[] => [...filterFlags(all), outputOption()];

export const BY: Flag = ['--by <user>', 'the user who asks (default: your login name)'];

/** Flags for a verb that changes jobs. It asks first if a filter found the jobs, or if jobs are other people's. */
export const changingFlags = (): readonly Flag[] => [...manyFlags('all open jobs'), ['--yes', 'do not ask'], BY];

function phaseList(value: string, before: readonly ShownPhase[] = []): readonly ShownPhase[] {
  const words = value.split(',').map((word) => word.trim());
  const phases = words.map((word) => SAME_PHASE[word] ?? SHOWN_PHASES.find((phase) => phase === word));
  const wrong = words[phases.indexOf(undefined)];
  if (wrong !== undefined) {
    const named = words.length === 1 ? '' : `'${wrong}' is not a phase. `;
    throw new InvalidArgumentError(`${named}Allowed choices are ${SHOWN_PHASES.join(', ')}.`);
  }
  return [...before, ...phases.filter((phase) => phase !== undefined)];
}

function namePattern(value: string): string {
  if (/^[a-z0-9?*-]+$/.test(value)) return value;
  throw new InvalidArgumentError(
    "Ids of jobs are small letters, digits and dashes; * stands for any text, ? for one character (quote them: 'lr-*').",
  );
}

interface MeantJobs {
  readonly filter: JobFilter;
  /** For ended jobs, such as `in the last day`; absent: any time. */
  readonly endedWithin?: string;
}

const DAY_MS = 86_400_000;

/** The filter of `list`: open jobs and those that ended within a day, unless `--since` or `--all` says otherwise. */
export function boardFilter(flags: FilterFlags, now: number, context: Pick<CliContext, 'user'>): MeantJobs {
  const filter = ownFilter(flags, now, context);
  if (flags.since !== undefined) return { filter, endedWithin: `in the last ${formatDuration(flags.since)}` };
  if (flags.all === true) return { filter };
  return { filter: { ...filter, endedSince: now - DAY_MS }, endedWithin: 'in the last day' };
}

/** The filter that the flags give, without defaults. */
export function ownFilter(
  { mine, project, user, phase, since, name, group }: FilterFlags,
  now: number,
  context: Pick<CliContext, 'user'>,
): JobFilter {
  const who = mine === true ? asker(undefined, context).by : user;
  return {
    ...(project === undefined ? {} : { project }),
    ...(who === undefined ? {} : { user: who }),
    ...(phase === undefined ? {} : { phase }),
    ...(since === undefined ? {} : { since: now - since }),
    ...(name === undefined ? {} : { name }),
    ...(group === undefined ? {} : { group }),
  };
}

/** Returns whether any flag selects jobs. */
export const isFiltered = ({ mine, all, project, user, phase, since, name, group }: FilterFlags): boolean =>
  [mine, all, project, user, phase, since, name, group].some((flag) => flag !== undefined);

const TIME = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/**
 * Parses a time: how long ago (`10m`, `1h30m`, seconds without a unit), or ISO 8601 (`2026-11-23`, `2026-11-23T10:00:00Z`;
 * local time without a zone, a day alone from its midnight in UTC).
 * @throws InvalidArgumentError
 */
export function sinceOption(text: string): EpochMs {
  const at = TIME.test(text) ? Date.parse(text) : Number.NaN;
  if (at > Date.now()) throw new InvalidArgumentError('It lies in the future.');
  if (!Number.isNaN(at)) return at;
  try {
    return Date.now() - durationOption(text);
  } catch {
    throw new InvalidArgumentError(
      'How long ago, such as 90s, 10m or 1h30m, or a time such as 2026-11-23T10:00:00Z or 2026-11-23.',
    );
  }
}

/** Returns a matcher for lines. RE2 syntax, so that no line makes it slow. @throws CliError naming the problem and its place */
export async function lineMatcher(pattern: string): Promise<(line: Buffer) => boolean> {
  const { RE2JS } = await import('re2js');
  try {
    const compiled = RE2JS.compile(pattern);
    return (line) => compiled.matcher(lastState(line).toString('utf8')).find();
  } catch (error) {
    throw new CliError(
      ExitCode.Usage,
      `--grep: '${pattern}' is not a regular expression: ${problemOf(error, pattern)}`,
      'RE2 syntax: most of grep -E and Python, without look-around and backreferences; \\ before a character takes it literally',
    );
  }
}

/** ``missing closing ) at character 4, `(b` ``, from RE2's ``error parsing regexp: missing closing ): `a(b` ``. */
function problemOf(error: unknown, pattern: string): string {
  const message = error instanceof Error ? error.message.replace(/^error parsing regexp: /, '') : String(error);
  const [, what, fragment] = /^(.*?): `([\s\S]*)`$/.exec(message) ?? [];
  if (what === undefined || fragment === undefined) return message;
  const at = fragment === pattern ? lastOpen(pattern) : pattern.lastIndexOf(fragment);
  return at === -1 ? message : `${what}, at character ${at + 1}: \`${pattern.slice(at)}\``;
}

/** Position of the last open parenthesis. For an unclosed parenthesis, RE2 names the whole pattern. */
function lastOpen(pattern: string): number {
  const open: number[] = [];
  for (let at = 0, isInClass = false; at < pattern.length; at++) {
    const char = pattern[at];
    if (char === '\\') at++;
    else if (isInClass) isInClass = char !== ']';
    else if (char === '[') isInClass = true;
    else if (char === '(') open.push(at);
    else if (char === ')' && open.pop() === undefined) return at;
  }
  return open.at(-1) ?? 0;
}

/** Host numbers without duplicates, in the order given. */
export type HostChoice = 'all' | readonly number[];

/** Whether several hosts were asked for. If so, their files are laid out by host, even if the job has only one. */
export const asksSeveral = (hosts: HostChoice): boolean => hosts === 'all' || hosts.length > 1;

/** Parses `2`, `0,2`, `0-3,7` or `all`. @throws InvalidArgumentError */
export function parseHostChoice(text: string): HostChoice {
  if (text === 'all') return 'all';
  return [...new Set(text.split(',').flatMap(rangeOf))];
}

function rangeOf(part: string): number[] {
  const [, first, last] = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part.trim()) ?? [];
  const from = Number(first);
  const to = Number(last ?? first);
  if (first === undefined || to < from || to > MOST_HOSTS)
    throw new InvalidArgumentError('A number of a host from 0, a list such as 0,2-3, or all.');
  return Array.from({ length: to - from + 1 }, (_, at) => from + at);
}

/** The two ports that `port-forward` connects. */
export interface ForwardedPorts {
  readonly local: number;
  readonly remote: number;
}

/** Parses `8888` (the same port on both sides) or `LOCAL:REMOTE`. @throws InvalidArgumentError */
export function parseForwardedPorts(text: string): ForwardedPorts {
  const [, local, remote] = /^(\d{1,5})(?::(\d{1,5}))?$/.exec(text) ?? [];
  const ports = { local: Number(local), remote: Number(remote ?? local) };
  const isGood = Object.values(ports).every((port) => port >= 1 && port <= 65_535);
  if (local === undefined || !isGood)
    throw new InvalidArgumentError('A port from 1 to 65535, or two of them, LOCAL:REMOTE.');
  return ports;
}
