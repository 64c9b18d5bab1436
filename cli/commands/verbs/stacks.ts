import { pySpyFrom } from '../../../cloud/hosts/stacks/py-spy.js';
import type { JobView } from '../../../contract/job.js';
import { JobPhase } from '../../../domain/job-state.js';
import { runIdOf } from '../../../domain/run-environment.js';
import { framesOfGroup, groupStacks, rangesText, withoutWaiting } from '../../../domain/stacks/groups.js';
import type { HostStacks } from '../../../domain/stacks/stack.js';
import type { JobRow } from '../../../client/job-rows.js';
import { storedStacks } from '../../../client/stored-stacks.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import { openReader, withClient } from '../../place/connect.js';
import { resolveContext, storeOf } from '../../place/context.js';
import { cacheFolder } from '../../terminal/home.js';
import { onEachHost } from '../../jobs/hosts/fleet.js';
import type { HostChoice } from '../../jobs/hosts/host-options.js';
import { type Reach, type ReachFlags, reachHosts } from '../../jobs/hosts/reach.js';
import type { OutputFlag } from '../../terminal/options.js';
import { printErr, printOut, printPainted, asTyped } from '../../terminal/print.js';
import { lookOf } from '../../terminal/render/look.js';
import { stacksScreen, type StacksShown } from '../../terminal/render/stacks.js';
import { watchEnd } from '../../jobs/watch/interruptions.js';

export interface StacksFlags extends ReachFlags, OutputFlag, StacksShown {
  readonly host: HostChoice;
  readonly attempt?: number;
  readonly install: boolean;
}

/** Time for a host to answer, and time for it to install py-spy and answer with it. */
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
