import { pySpyFrom } from '../../../cloud/hosts/stacks/py-spy.js';
import type { JobView } from '../../../contract/job.js';
import { JobPhase } from '../../../domain/job-state.js';
import { runIdOf } from '../../../domain/run-environment.js';
import {
  framesOfGroup,
  groupStacks,
  rangesText,
  withoutWaiting,
  placesText,
  sharedCallers,
  type StackGroup,
  type HostStacks,
  type Frame,
  frameText,
  isPython,
  stateText,
  parseStacks,
} from '../../../domain/stacks/stack.js';
import type { JobRow } from '../../../client/job-rows.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, withClient } from '../../place/connect.js';
import { resolveContext, storeOf } from '../../place/context.js';
import { cacheFolder } from '../../terminal/home.js';
import { onEachHost, type Reach, type ReachFlags, reachHosts } from '../../jobs/hosts/reach.js';
import type { HostChoice } from '../../jobs/job-filter.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut, printPainted, asTyped } from '../../terminal/print.js';
import { lookOf, type Look } from '../../terminal/render/look.js';
import { watchEnd } from '../../terminal/interruptions.js';
import { count } from '../../../domain/units.js';
import type { StoreReader } from '../../../cloud/store/port.js';
import { MOST_HOSTS } from '../../../domain/slice.js';
import { STACKS_STREAM } from '../../../domain/store-layout.js';
import { JobLogReader, storedAttempts } from '../../../client/job-logs.js';

export interface StacksFlags extends ReachFlags, OutputFlag, StacksShown {
  readonly host: HostChoice;
  readonly attempt?: number;
  readonly install: boolean;
}

/** Timeout for a host's answer. The other timeout includes the installation of py-spy. */
const ANSWER_MS = 15_000;
const INSTALL_MS = 60_000;

interface Taken {
  readonly job: string;
  readonly attempt: number;
  /** True if the stacks were read from the store. */
  readonly isStored: boolean;
  readonly hosts: readonly HostStacks[];
  /** Hosts without stacks, with the reason. */
  readonly silent: readonly { readonly host: number; readonly error: string }[];
}

/** Shows the stacks of the processes of a job's command. @returns 1 if nothing is known of a host */
export async function stacks(job: string, flags: StacksFlags): Promise<number> {
  const row = await withClient(resolveContext(flags), (client) => client.row(job));
  const isStored = flags.attempt !== undefined || row.endedAt !== undefined;
  const signal = watchEnd();
  try {
    const taken = isStored ? await readStored(row, flags) : await takeNow(row.id, flags, signal);
    show(taken, flags);
    return taken.silent.length > 0 ? ExitCode.Failed : ExitCode.Done;
  } catch (error) {
    if (signal.aborted) return ExitCode.Interrupted;
    throw error;
  }
}

async function takeNow(job: string, flags: StacksFlags, signal: AbortSignal): Promise<Taken> {
  const reach = await reachHosts(job, flags.host, flags);
  const { view } = reach;
  refuseWithoutCommand(view);
  const chosen = view.spec.command?.hosts ?? 'all';
  const runs = reach.hosts.filter(({ target }) => chosen === 'all' || chosen.includes(target.index));
  const hosts = flags.host === 'all' ? runs : reach.hosts;
  const pySpy = flags.install ? pySpyFrom(cacheFolder()) : undefined;
  const times = { answerMs: ANSWER_MS, installMs: INSTALL_MS };
  const options = { ...times, runId: runIdOf(view.id, view.attempt), pySpy, signal };
  const results = await onEachHost({ ...reach, hosts } as Reach, signal, async (connection, { number }) => {
    try {
      return { stacks: await connection.runStacks({ ...options, host: number }) };
    } catch (error) {
      signal.throwIfAborted();
      return { error: (error as Error).message };
    }
  });
  const answers = results.map(({ host: { number }, ...result }) => ({
    host: number,
    ...(result.kind === 'unreachable' ? { error: result.message } : result.value),
  }));
  return {
    ...{ job, attempt: view.attempt, isStored: false },
    hosts: answers.flatMap((answer) => ('stacks' in answer ? [answer.stacks] : [])),
    silent: answers.flatMap((answer) => ('error' in answer ? [{ host: answer.host, error: answer.error }] : [])),
  };
}

/** @throws CliError if the job runs no command now */
function refuseWithoutCommand({ id, phase, spec }: JobView): void {
  if (spec.command === undefined)
    throw new CliError(ExitCode.Refused, `${id} has no command: there is nothing of it to look at`);
  if (phase === JobPhase.Running) return;
  const next =
    phase === JobPhase.SettingUp
      ? `what its set-up prints: jobctl logs ${id} -f --module NAME`
      : `what it does: jobctl status ${id}`;
  throw new CliError(ExitCode.Refused, `${id} is ${phase}: its command does not run now`, asTyped(next));
}

async function readStored({ id, phase }: JobRow, { attempt, host, ...flags }: StacksFlags): Promise<Taken> {
  const place = storeOf(resolveContext(flags), `the stored stacks of ${id} cannot be read`);
  const stored = await storedStacks(await openReader(place), id, attempt);
  if (stored === undefined) {
    const of = attempt === undefined ? '' : ` of attempt ${attempt}`;
    throw new CliError(
      ExitCode.NotFound,
      `${id} is ${phase}, and no stacks${of} are stored`,
      'they are stored when `timeouts.no_output` of its job file ends a command that has fallen silent',
    );
  }
  const missing = host === 'all' ? [] : host.filter((number) => !stored.hosts.some((each) => each.host === number));
  if (missing.length > 0) {
    const has = rangesText(stored.hosts.map((each) => each.host));
    throw new CliError(
      ExitCode.NotFound,
      `no stacks of host ${missing.join(', ')} are stored of attempt ${stored.attempt} of ${id}: there are those of ${has}`,
    );
  }
  const hosts = stored.hosts.filter((each) => host === 'all' || host.includes(each.host));
  return { job: id, attempt: stored.attempt, isStored: true, hosts, silent: [] };
}

function show(taken: Taken, flags: StacksFlags): void {
  const { job, attempt, isStored, hosts, silent } = taken;
  if (flags.output === 'json') {
    const seen = flags.all ? hosts : withoutWaiting(hosts);
    const groups = groupStacks(seen).map((group) => ({
      processes: group.members.map(({ host, process: { pid, localRank } }) => ({
        ...{ host, pid },
        ...(localRank !== undefined && { localRank }),
      })),
      frames: framesOfGroup(group),
    }));
    const all = [...hosts, ...silent].toSorted((a, b) => a.host - b.host);
    printOut(`${JSON.stringify({ job, attempt, isStored, groups, hosts: all }, null, 2)}\n`);
    return;
  }
  if (isStored) printErr(`as stored when attempt ${attempt} of ${job} was ended for its silence:\n`);
  const text = stacksScreen(hosts, flags, lookOf(process.stdout, process.env));
  printPainted(text);
  if (text === '' && silent.length === 0) printErr(`no process of the command of ${job} was found\n`);
  for (const { host, problem } of hosts) if (problem !== undefined) printErr(`host ${host}: ${problem}\n`);
  for (const { host, error } of silent) printErr(`host ${host}: ${error}\n`);
}

interface StacksShown {
  /** Includes threads other than the main ones. */
  readonly threads?: true;
  /** Includes processes that are not Python. */
  readonly all?: true;
}

/**
 * Renders stacks for people: one line with the place of each group, then its calls. The types ensure that texts of hosts are one
 * line of visible text each.
 */
export function stacksScreen(hosts: readonly HostStacks[], shown: StacksShown, look: Pick<Look, 'paint'>): string {
  const seen = shown.all ? hosts : withoutWaiting(hosts);
  const groups = groupStacks(seen);
  const [largest] = groups;
  if (largest === undefined) return '';
  const blocks = groups.map((group) => {
    const title = `${processCount(group.members.length)}: ${placesText(group, seen)}`;
    const lines = [look.paint(colourOf(group, groups), title), ...bodyLines(group, largest)];
    return [...lines, ...(shown.threads ? threadLines(group) : [])];
  });
  const table = groups.length === 1 ? [] : [summary(groups, seen, look)];
  return [...table, ...blocks].map((lines) => lines.map((line) => `${line}\n`).join('')).join('\n');
}

const processCount = (number: number): string => `${number} ${number === 1 ? 'process' : 'processes'}`;

/** The colour of a group. In a gang that waits for some of its members, the small groups are the ones to look at. */
function colourOf(group: StackGroup, groups: readonly StackGroup[]): 'bold' | 'yellow' {
  const isRare = group !== groups[0] && group.members.length < (groups[0]?.members.length ?? 0);
  return isRare ? 'yellow' : 'bold';
}

/** One line per group with its place: the call in which it differs from the largest group. */
function summary(groups: readonly StackGroup[], seen: readonly HostStacks[], look: Pick<Look, 'paint'>): string[] {
  const processes = groups.reduce((sum, { members }) => sum + members.length, 0);
  const [first, second] = groups as readonly [StackGroup, StackGroup, ...StackGroup[]];
  const lines = groups.map((group) => {
    const line = `  ${group.members.length} ${whereText(group, group === first ? second : first)}: ${placesText(group, seen)}`;
    return colourOf(group, groups) === 'yellow' ? look.paint('yellow', line) : line;
  });
  return [`${processCount(processes)} at ${groups.length} places:`, ...lines];
}

/** `in wait (train.py:4), called by all_reduce (train.py:6)`: the innermost call, and the one in which the groups differ. */
function whereText(group: StackGroup, other: StackGroup): string {
  const frames = framesOfGroup(group);
  const [innermost] = frames;
  if (innermost === undefined) return stateLine(group);
  const differs = frames.at(-1 - sharedCallers(group, other)) ?? innermost;
  return `in ${frameText(innermost)}${differs === innermost ? '' : `, called by ${frameText(differs)}`}`;
}

function stateLine({ members: [{ process }] }: StackGroup): string {
  const { localRank: _, ...rest } = process;
  return `${process.name} (${stateText(rest)})`;
}

function bodyLines(group: StackGroup, largest: StackGroup): string[] {
  const frames = framesOfGroup(group);
  const [{ process }] = group.members;
  const { problem } = process;
  if (frames.length === 0) {
    const what = problem ?? (isPython(process) ? 'no Python call' : undefined);
    return [`  ${stateLine(group)}${what === undefined ? '' : `: ${what}`}`];
  }
  const shared = group === largest ? 0 : sharedCallers(group, largest);
  const own = frames.slice(0, frames.length - shared).map((frame) => `  ${longText(frame)}`);
  return shared === 0 ? own : [...own, `  and ${count(shared, 'caller')} as in the largest group`];
}

/** Lines for the other threads of one of the group's processes. They do not count for grouping. */
function threadLines({ members: [{ host, process }] }: StackGroup): string[] {
  const threads = process.threads?.slice(1) ?? [];
  return threads.flatMap(({ name, frames }) => [
    `  thread ${name}, of process ${process.pid} of host ${host}:`,
    ...frames.map((frame) => `    ${longText(frame)}`),
  ]);
}

/** Shortens the path to the form of an import: `torch/distributed/distributed_c10d.py`. */
function longText(frame: Frame): string {
  const [, installed] = PACKAGE.exec(frame.file) ?? LIBRARY.exec(frame.file) ?? [];
  return installed === undefined ? frameText(frame) : `${frame.function} (${installed}:${frame.line})`;
}

const PACKAGE = /\/(?:site|dist)-packages\/(.+)$/;
const LIBRARY = /\/lib\/python3[.\d]*\/(.+)$/;

/** Most bytes that are read of one host, and of all hosts: hosts may write to the store too. */
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_ALL_BYTES = 256 * 1024 * 1024;

interface StoredStacks {
  readonly attempt: number;
  /** Sorted by host number. */
  readonly hosts: readonly HostStacks[];
}

/** Stacks that were stored before a command was ended for its silence. @param asked an attempt; absent: the last that has some */
async function storedStacks(
  store: StoreReader,
  job: string,
  asked: number | undefined,
): Promise<StoredStacks | undefined> {
  const attempt = asked ?? (await storedAttempts(store, job, STACKS_STREAM)).at(-1);
  if (attempt === undefined) return undefined;
  const texts = new Map<number, Buffer[]>();
  let all = 0;
  const reader = new JobLogReader(store, job, { attempt, stream: STACKS_STREAM, mostHosts: MOST_HOSTS });
  for await (const { host, bytes } of reader.unread()) {
    const chunks = texts.get(host) ?? [];
    const had = chunks.reduce((sum, { length }) => sum + length, 0);
    all += bytes.length;
    if (all > MOST_ALL_BYTES) break;
    texts.set(host, [...chunks, bytes.subarray(0, Math.max(0, MOST_BYTES - had))]);
  }
  if (texts.size === 0) return undefined;
  const hosts = [...texts].toSorted(([a], [b]) => a - b);
  return { attempt, hosts: hosts.map(([host, chunks]) => parseStacks(Buffer.concat(chunks).toString(), host)) };
}
