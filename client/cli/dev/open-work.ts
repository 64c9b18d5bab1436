import { readLogin } from '../../../cloud/temporal/login-files.js';
import { TASK_QUEUE } from '../../../domain/task-queue.js';
import { CliError } from '../cli-error.js';
import { ExitCode } from '../exit-codes.js';
import type { connectTemporal } from '../../connect.js';
import { loginFilesOf, temporalAddressOf } from './context.js';
import type { SliceMemo } from '../../../contract/slice.js';
import type { StackHome } from './home.js';
import { isGuarded, type StackRecord } from './stack-record.js';
import { DEV_NAMESPACE } from './temporal-server/start-dev.js';
import { asTyped } from '../typed-command.js';

/** What would go on with nobody to look after it: slices that cost money, or commands on machines of one's own. */
export interface OpenWork {
  /** Ids. */
  readonly jobs: readonly string[];
  /** Resource names; of closed jobs too, whose slices are still being deleted. */
  readonly slices: readonly string[];
}

const OPEN = `ExecutionStatus = 'Running' AND TaskQueue = '${TASK_QUEUE}' AND WorkflowType IN ('job', 'slice')`;
const SLICE_ID = /^slice\//;

/** What of a stack is real: all of it, or of a rehearsal the machines of one's own. */
export type Real = 'cloud' | 'own machines';

/** What is open in the stack's Temporal, of what is real; undefined where it does not answer. */
export async function openWork(home: StackHome, record: StackRecord, real: Real): Promise<OpenWork | undefined> {
  const temporal = await connect(home, record).catch(() => undefined);
  if (temporal === undefined) return undefined;
  try {
    const jobs: string[] = [];
    const slices: string[] = [];
    for await (const { workflowId, memo } of temporal.client.workflow.list({ query: OPEN })) {
      const { ref, lease } = (memo ?? {}) as Partial<SliceMemo>;
      const isSlice = SLICE_ID.test(workflowId);
      if (real === 'cloud' && !isSlice) jobs.push(workflowId);
      if (isSlice && (real === 'cloud' || ref?.kind === 'machines')) slices.push(workflowId.replace(SLICE_ID, ''));
      // Of jobs alone it is not known here what machines they have.
      if (real === 'own machines' && ref?.kind === 'machines' && lease !== undefined) jobs.push(lease.job);
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
  const { connectTemporal } = await import('../../connect.js');
  if (!isGuarded(record)) return connectTemporal(options);
  return connectTemporal({ ...options, connection: readLogin(loginFilesOf(home, record)), ownSettings: 'none' });
}

export interface Leaving {
  readonly real: Real;
  readonly isPurge: boolean;
  /** Somebody said so already. */
  readonly isSure: boolean;
  readonly onProgress: (line: string) => void;
  /** Absent: nobody is there to be asked. */
  readonly confirm?: ((question: string) => Promise<boolean>) | undefined;
}

/**
 * Before a stack goes down that has real machines.
 * @throws CliError where something is open and nobody is sure; for a purge always: without its database nothing ends it
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
