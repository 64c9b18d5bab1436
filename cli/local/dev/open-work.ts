import { machineKind } from '../../../domain/machines.js';
import { readLogin } from '../../../cloud/temporal/login-files.js';
import { TASK_QUEUE } from '../../../domain/own-workflows.js';
import { CliError, ExitCode } from '../../terminal/cli-error.js';
import type { connectTemporal } from '../../../client/connect.js';
import { loginFilesOf, temporalAddressOf } from '../../place/stack/context.js';
import type { SliceMemo } from '../../../contract/slice.js';
import type { StackHome } from '../../terminal/home.js';
import { isGuarded, type StackRecord } from '../../place/stack/stack-record.js';
import { DEV_NAMESPACE } from '../../place/stack/context.js';
import { asTyped } from '../../terminal/print.js';

/** Work that would continue unattended: slices that cost money, or commands on the user's own machines. */
export interface OpenWork {
  /** Job ids. */
  readonly jobs: readonly string[];
  /** Resource names, including slices of closed jobs that are still being deleted. */
  readonly slices: readonly string[];
}

const OPEN = `ExecutionStatus = 'Running' AND TaskQueue = '${TASK_QUEUE}' AND WorkflowType IN ('job', 'slice')`;
const SLICE_ID = /^slice\//;

/** The real part of a stack: the whole cloud, or only the user's own machines of a rehearsal. */
export type Real = 'cloud' | 'own machines';

/** Lists open jobs and slices on real machines in the stack's Temporal; undefined if Temporal does not answer. */
export async function openWork(home: StackHome, record: StackRecord, real: Real): Promise<OpenWork | undefined> {
  const temporal = await connect(home, record).catch(() => undefined);
  if (temporal === undefined) return undefined;
  try {
    const jobs: string[] = [];
    const slices: string[] = [];
    for await (const { workflowId, memo } of temporal.client.workflow.list({ query: OPEN })) {
      const { ref, lease } = (memo ?? {}) as Partial<SliceMemo>;
      const isSlice = SLICE_ID.test(workflowId);
      const isReal = ref !== undefined && !machineKind(ref.kind).isRehearsed;
      if (real === 'cloud' && !isSlice) jobs.push(workflowId);
      if (isSlice && (real === 'cloud' || isReal)) slices.push(workflowId.replace(SLICE_ID, ''));
      // The machines of a job are known only from its slices.
      if (real === 'own machines' && isReal && lease !== undefined) jobs.push(lease.job);
    }
    return { jobs: [...new Set(jobs)], slices };
  } catch {
    return undefined;
  } finally {
    await temporal.close();
  }
}

async function connect(home: StackHome, record: StackRecord): ReturnType<typeof connectTemporal> {
  const options = { address: temporalAddressOf(record), namespace: DEV_NAMESPACE };
  const { connectTemporal } = await import('../../../client/connect.js');
  if (!isGuarded(record)) return connectTemporal(options);
  return connectTemporal({ ...options, connection: readLogin(loginFilesOf(home, record)), ownSettings: 'none' });
}

export interface Leaving {
  readonly real: Real;
  readonly isPurge: boolean;
  /** The user has already agreed. */
  readonly isSure: boolean;
  readonly onProgress: (line: string) => void;
  /** Absent: there is no user to ask. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
}

/**
 * Guards the shutdown of a stack with real machines.
 * @throws CliError if work is open and the user has not agreed; for a purge always, because without its database nothing ends it
 */
export async function refuseToLeave(work: OpenWork | undefined, leaving: Leaving): Promise<void> {
  if (work !== undefined && work.jobs.length + work.slices.length === 0) return;
  const { real, isPurge, isSure, onProgress, confirm } = leaving;
  const consequence = CONSEQUENCE[real];
  const state = work === undefined ? UNKNOWN : `${listed('job', work.jobs)} and ${listed('slice', work.slices)} open`;
  const may = isPurge ? work === undefined && isSure : isSure;
  if (may) return onProgress(`WARNING: ${state}. ${consequence}`);
  if (!isPurge && (await confirm?.(`${state}. ${consequence}\nGo down all the same? [y/N] `))) return;
  throw new CliError(
    ExitCode.Refused,
    `nothing was changed: ${state}`,
    consequence,
    'end them first: `jobctl cancel JOB`, and wait until `jobctl audit leaks` finds nothing',
    isPurge ? PURGE_REASON : 'or go down all the same: jobctl dev down --yes',
  );
}

const CONSEQUENCE: Readonly<Record<Real, string>> = {
  cloud: asTyped(
    'Slices cost until they are deleted, and while the stack is down nobody watches or deletes them; the next `jobctl dev up` goes on',
  ),
  'own machines': asTyped(
    'Their commands run on machines of your own, which are not a rehearsal: they go on there and hold them, and while the stack is down nobody watches or ends them; the next `jobctl dev up` goes on',
  ),
};
const UNKNOWN = 'it is not known what is open, since the Temporal server does not answer';
const PURGE_REASON = 'a purge forgets what they hold: jobctl could not even name it afterwards';

const SHOWN = 5;

function listed(noun: string, names: readonly string[]): string {
  const plural = names.length === 1 ? noun : `${noun}s`;
  if (names.length === 0) return `no ${plural}`;
  const more = names.length > SHOWN ? ', ..' : '';
  return `${names.length} ${plural} (${names.slice(0, SHOWN).join(', ')}${more})`;
}
