import { cancellationSignal } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { messageOf, WrongInput } from '../../domain/errors.js';
import {
  type HostConnection,
  HostKeyUnverified,
  HostUnfit,
  type RunRequest,
  type RunStatus,
} from '../../cloud/hosts/port.js';
import type { HookInput } from '../../contract/job-activities.js';
import type { HookReport } from '../../domain/hooks.js';
import { processesText } from '../../domain/left-processes.js';
import { besideCommand, commandContainer } from '../../domain/modules/command.js';
import { runEnvironment } from '../../domain/run-environment.js';
import { logPrefix } from '../../domain/store-layout.js';
import { connectingKey } from '../connecting-key.js';
import { ofJob, secretVariables } from '../secret-values.js';
import type { ActivityDependencies } from '../dependencies.js';
import { followsOf } from './followed-jobs.js';
import { beating, pause } from './activity-end.js';
import { type AttemptHost, commandHostsOf, hostsOf, runPlace } from './attempt-hosts.js';
import { logLimitOf, LogStream } from './log-stream.js';

/**
 * Runs a hook of a job that has its outcome, at most once on each of its hosts however often this is repeated: the on-host runner
 * holds the lock, as it does for the command. The host ends the hook when its time is over. Never throws for an error of a hook
 * or a host.
 */
export async function runHook(dependencies: ActivityDependencies, input: HookInput): Promise<HookReport> {
  const beat = beating();
  const over = new AbortController();
  const seconds = input.spec.hooks?.[input.hook]?.seconds ?? 0;
  const timer = setTimeout(() => over.abort(new Error(TOO_LATE)), seconds * 1000 + ON_THE_WAY_MS);
  cancellationSignal().addEventListener('abort', () => over.abort(new Error('the activity was cancelled')), {
    once: true,
  });
  try {
    const reports = await Promise.all(hookHosts(input).map((host) => runOn(dependencies, input, host, over.signal)));
    return worst(input.hook, reports);
  } finally {
    clearTimeout(timer);
    clearInterval(beat);
  }
}

const TOO_LATE = 'it did not answer in time';
/** Time for connections, and for the hook's output at its end. */
const ON_THE_WAY_MS = 30_000;
const AGAIN_MS = 1_000;

/** `all`: the hosts that run the command. `first`: the first of these. Else those of these indexes in each slice. */
function hookHosts(input: HookInput): readonly AttemptHost[] {
  const chosen = input.spec.hooks?.[input.hook]?.hosts ?? 'first';
  if (typeof chosen !== 'string') return hostsOf(input).filter(({ target }) => chosen.includes(target.index));
  const hosts = commandHostsOf(input);
  return chosen === 'first' ? hosts.slice(0, 1) : hosts;
}

async function runOn(
  dependencies: ActivityDependencies,
  input: HookInput,
  host: AttemptHost,
  signal: AbortSignal,
): Promise<Omit<HookReport, 'hook'>> {
  const where = `host ${host.number}`;
  try {
    const status = await untilEnded(dependencies, input, host, signal);
    switch (status.kind) {
      case 'exited':
        if (status.endedBy === 'limit') return { status: 'timed-out', message: `${where}: its timeout is over` };
        if (status.code !== 0) return { status: 'failed', message: `${where}: it exited with code ${status.code}` };
        if (status.left === undefined) return { status: 'done' };
        return { status: 'done', message: `it left running, and was ended: ${processesText(status.left, where)}` };
      case 'absent':
      case 'blocked':
        return { status: 'not-run', message: `${where}: it did not begin` };
      default:
        return { status: 'failed', message: `${where}: it is gone without an exit code` };
    }
  } catch (error) {
    const status = error instanceof NotBegun ? 'not-run' : 'unknown';
    return { status, message: `${where}: ${messageOf(error)}` };
  }
}

/** Returns whether an error of a call to a host will be the same at each repetition. */
export const isLasting = (error: unknown): boolean =>
  error instanceof WrongInput ||
  error instanceof HostUnfit ||
  error instanceof HostKeyUnverified ||
  (error instanceof ApplicationFailure && error.nonRetryable === true);

/** The host will never begin it. */
class NotBegun extends Error {}

/** A host that does not answer is tried again until the hook's time is over. */
async function untilEnded(
  dependencies: ActivityDependencies,
  input: HookInput,
  host: AttemptHost,
  signal: AbortSignal,
): Promise<RunStatus> {
  const { hosts } = dependencies;
  const installation = ofJob(dependencies.installation, input.settings);
  const runId = `${input.job.id}.${input.hook}`;
  const key = await connectingKey(installation, input);
  const secrets = await secretVariables(installation, input.spec);
  const request = hookRequest(input, runId, host, secrets);
  const prefix = logPrefix(input.job.id, input.attempt, `hook-${input.hook}`);
  const shipping = {
    ...{ ...dependencies, ...logLimitOf(input, hookHosts(input).length) },
    isFollowed: followsOf(dependencies.store, input.job.id),
  };
  const stream = await LogStream.open(shipping, prefix, host.number, signal);
  let isBegun = false;
  for (;;) {
    let connection: HostConnection | undefined;
    try {
      connection = await hosts.connect(host.target, key, signal);
      await connection.startRun(request);
      isBegun = true;
      await connection.followOutput(runId, stream.position, (chunk) => stream.append(chunk), signal);
      const status = await connection.runStatus(runId);
      await stream.flush();
      if (status.kind !== 'running' && status.kind !== 'starting') return status;
    } catch (error) {
      if (isLasting(error) && !isBegun) throw new NotBegun(messageOf(error));
      if (signal.aborted) throw new Error(`${TOO_LATE}: ${messageOf(error)}`, { cause: error });
    } finally {
      connection?.close();
    }
    await pause(AGAIN_MS, signal);
  }
}

function hookRequest(
  input: HookInput,
  runId: string,
  { target }: AttemptHost,
  secrets: Readonly<Record<string, string>>,
): RunRequest {
  const { spec, hook, outcome } = input;
  const { run = '', seconds = 0 } = spec.hooks?.[hook] ?? {};
  const container = commandContainer(spec);
  return {
    runId,
    // The id is the hook's own: a hook has no attempts.
    epoch: 1,
    script: besideCommand(spec, run),
    env: {
      ...runEnvironment(spec, runPlace(input), target.slice, target.index),
      ...secrets,
      JOBCTL_HOOK: hook,
      JOBCTL_RESULT: outcome.result,
      JOBCTL_EXIT_CODE: outcome.exitCode === undefined ? '' : String(outcome.exitCode),
      JOBCTL_HOOK_CAUSE: outcome.cause?.by ?? '',
      JOBCTL_HOOK_REASON: outcome.cause?.message ?? '',
    },
    limitMs: seconds * 1000,
    ...(container && { container }),
  };
}

const BY_WEIGHT = ['unknown', 'not-run', 'timed-out', 'failed', 'done'] as const;

function worst(hook: HookReport['hook'], reports: readonly Omit<HookReport, 'hook'>[]): HookReport {
  const weight = ({ status, message }: (typeof reports)[number]): number =>
    BY_WEIGHT.indexOf(status) + (message === undefined ? 0.5 : 0);
  const [first] = reports.toSorted((a, b) => weight(a) - weight(b));
  return {
    hook,
    ...(first ?? { status: 'not-run', message: 'none of the hosts that are left is one of its workers' }),
  };
}
